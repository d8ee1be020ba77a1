// SPDX-License-Identifier: Apache-2.0
// Devices and contexts.
#pragma once

#include "objects.h"

namespace keepgraph::sim {

struct Stream;

struct Context : Object<Kind::context> {
    uint64_t id = 0;
    int device = 0;
    unsigned flags = 0;
    bool primary = false;
    unsigned retained = 0;  // of a primary context
    Stream* legacy = nullptr;
    CUresult lost = CUDA_SUCCESS;  // sticky error of a kernel that touched what it may not
};

int device_count();          // KEEPGRAPH_SIM_DEVICES
Context* current_context();  // of this thread, or null
Context* primary_context(int device);
uint64_t next_id();  // process-wide, never used twice

constexpr size_t device_memory = size_t{64} << 30;

}  // namespace keepgraph::sim

/// Most functions of the driver want a current context: 201 without one.
#define SIM_CONTEXT(name)                                                  \
    ::keepgraph::sim::Context* name = ::keepgraph::sim::current_context(); \
    if (name == nullptr)                                                   \
    return CUDA_ERROR_INVALID_CONTEXT
