// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "driver/cuda_types.h"
#include "memory/allocation.h"

namespace keepgraph::liveness {

/// One address that a graph will use at replay.
struct Reference {
    unsigned node = 0;  ///< position in cuGraphGetNodes
    std::string slot;   ///< "memcpy src", "memset dst", "kernel NAME, parameter N +M" (byte M of parameter N)
    std::uintptr_t address = 0;
    config::Grade grade = config::Grade::likely;
    memory::Allocation allocation;
};

/// Reads the addresses out of the kernel, memcpy and memset nodes of `graph`. Memory that the driver does not know
/// (pageable host memory) gives no reference. May throw std::bad_alloc; the caller holds a driver::RelaxedCapture.
std::vector<Reference> scan(CUgraph graph);

/// Forgets cached parameter layouts. Any thread.
void forget_functions();

}  // namespace keepgraph::liveness
