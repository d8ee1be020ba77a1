// SPDX-License-Identifier: Apache-2.0
//
// The graphs that the benchmarks work on, made through whatever libcuda is found.
#pragma once

#include <cstddef>

#include "driver/cuda_types.h"

namespace keepgraph::bench {

bool open_device();
/// `nodes` kernels in a row, built by hand, each with an input, an output and a number. Ends the program when it
/// cannot.
CUgraph chain_of_kernels(std::size_t nodes);
CUgraphExec instantiate(CUgraph graph);

}  // namespace keepgraph::bench
