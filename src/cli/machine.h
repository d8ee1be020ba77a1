// SPDX-License-Identifier: Apache-2.0
//
// What `doctor` tells about this machine. Nothing here initialises CUDA.
#pragma once

#include <string>

#include "cli/preload.h"

namespace keepgraph::cli {

struct Finding {
    bool good = false;
    std::string text;
};

/// Runs /bin/true under the shim: the loader only warns about a preload that it cannot use.
Finding shim_loads(const Shim& shim);
/// Which libcuda.so.1 the loader finds, and its version, without cuInit.
Finding driver_here();
Finding cupti_here();

}  // namespace keepgraph::cli
