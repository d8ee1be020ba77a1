// SPDX-License-Identifier: Apache-2.0
// One piece of work, whether a stream runs it, a node holds it or an executable graph repeats it.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "code.h"

namespace keepgraph::sim {

struct Context;
struct Graph;

/// Kernel parameters belong to the work: the driver copies them at launch. `pointers` is what getters show.
struct KernelWork {
    std::shared_ptr<const Code> code;  // survives the module, as the code of a node does
    CUfunction func = nullptr;
    CUkernel kern = nullptr;
    CUcontext ctx = nullptr;
    unsigned grid[3] = {}, block[3] = {};
    unsigned shared = 0;
    bool by_extra = false;
    std::vector<unsigned char> values;
    std::vector<void*> pointers;
    size_t extra_size = 0;
    void* extra[5] = {};

    KernelWork() = default;
    KernelWork(const KernelWork& other) { *this = other; }
    KernelWork& operator=(const KernelWork& other);
    void point();  // sets pointers and extra to the own values
};

struct CopyWork {
    CUDA_MEMCPY3D params = {};
    CUcontext ctx = nullptr;
};

struct MemsetWork {
    CUDA_MEMSET_NODE_PARAMS_v2 params = {};
};

struct HostWork {
    CUDA_HOST_NODE_PARAMS params = {};
};

struct ChildWork {
    Graph* graph = nullptr;  // owned by the node
};

struct EmptyWork {};

struct EventWaitWork {
    CUevent event = nullptr;
};

struct EventRecordWork {
    CUevent event = nullptr;
};

struct AllocWork {
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    Context* context = nullptr;
};

struct FreeWork {
    CUdeviceptr dptr = 0;
};

struct BatchWork {
    CUcontext ctx = nullptr;
    unsigned flags = 0;
    std::vector<CUstreamBatchMemOpParams> operations;
};

using Work = std::variant<KernelWork, CopyWork, MemsetWork, HostWork, ChildWork, EmptyWork, EventWaitWork,
                          EventRecordWork, AllocWork, FreeWork, BatchWork>;

CUgraphNodeType type_of(const Work& work);

/// Runs on the calling thread, without the lock. Child graphs are not run here: an executable graph knows their order.
CUresult run(const Work& work);

// ---- the same work from the driver's many parameter forms; an error is the driver's answer to bad parameters
CUresult kernel_work(KernelWork* out, CUfunction func, CUkernel kern, CUcontext ctx, const unsigned grid[3],
                     const unsigned block[3], unsigned shared, void** kernel_params, void** extra);
CUresult check_copy(const CUDA_MEMCPY3D& params);
CUresult check_memset(const CUDA_MEMSET_NODE_PARAMS_v2& params);

}  // namespace keepgraph::sim
