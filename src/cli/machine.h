// SPDX-License-Identifier: Apache-2.0
//
// What `doctor` tells about this machine. Nothing here initialises CUDA.
#pragma once

#include <string>

#include "cli/preload.h"

namespace keepgraph::cli {

/// The outcome of one look at this machine.
struct Check {
    bool good = false;
    std::string text;
};

/// Runs /bin/true under the shim: the loader only warns about a preload that it cannot use.
Check shim_loads(const Shim& shim);
/// Which libcuda.so.1 the loader finds, and its version, without cuInit.
Check driver_here();
Check cupti_here();

}  // namespace keepgraph::cli
