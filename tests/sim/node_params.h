// SPDX-License-Identifier: Apache-2.0
// The driver's many parameter structs, to and from work. Under the lock unless said otherwise.
#pragma once

#include "graph.h"

namespace keepgraph::sim {

// ---- a struct of the program becomes work
CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v1* params, Work* work);
CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v2* params, Work* work);
CUresult to_work(const CUDA_MEMCPY3D* params, CUcontext ctx, Work* work);            // takes the lock itself
CUresult to_work(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext ctx, Work* work);  // takes the lock itself
CUresult to_work(const CUDA_HOST_NODE_PARAMS* params, Work* work);
CUresult to_work(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Work* work);
CUresult to_work_event(CUgraphNodeType type, CUevent event, Work* work);
CUresult to_work_child(CUgraph child, Work* work);  // clones it
/// The union of cuGraphAddNode; takes the lock itself. alloc writes the address back.
CUresult to_work(CUgraphNodeParams* params, Work* work);

}  // namespace keepgraph::sim
