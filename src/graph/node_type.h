// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/cuda_types.h"

namespace keepgraph::graph {

/// "kernel", "memcpy", ... as torch.cuda.CUDAGraph names them; "unknown (N)" for a type that is newer than this code.
std::string node_type_name(CUgraphNodeType type);

}  // namespace keepgraph::graph
