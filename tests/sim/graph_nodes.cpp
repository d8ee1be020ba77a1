// SPDX-License-Identifier: Apache-2.0
// Nodes of a template: adding them, reading and writing their parameters.
#include <cstring>

#include "address_space.h"
#include "context.h"
#include "function.h"
#include "node_params.h"

using namespace keepgraph::sim;

namespace {

/// What every Add function does: graph and dependencies are checked before the parameters are. make fills the work; it
/// is called without the lock.
template <class Make>
CUresult add(CUgraphNode* out, CUgraph handle, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count,
             Make make) {
    if (out == nullptr || (count != 0 && after == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    {
        const Locked lock;
        if (find<Graph>(handle) == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
    }
    Work work = EmptyWork{};
    if (const CUresult code = make(&work); code != CUDA_SUCCESS)
        return code;
    const Locked lock;
    auto* graph = find<Graph>(handle);
    Node* node = nullptr;
    const CUresult code =
        graph != nullptr ? add_node(graph, after, edges, count, std::move(work), &node) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *out = handle_of<CUgraphNode>(node);
    return code;
}

template <class Params>
auto locked_work(const Params* params) {
    return [params](Work* work) {
        const Locked lock;
        return to_work(params, work);
    };
}

/// The work of a node of the wanted type; 1 for none, and for a node of another type.
template <class Wanted, class Use>
CUresult with_work(CUgraphNode handle, const void* params, Use use) {
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    auto* node = find<Node>(handle);
    auto* work = node != nullptr ? std::get_if<Wanted>(&node->work) : nullptr;
    if (work == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    use(*work);
    return CUDA_SUCCESS;
}

template <class Params>
void show(KernelWork& work, Params* params) {
    std::memset(static_cast<void*>(params), 0, sizeof *params);
    params->func = work.func;
    params->gridDimX = work.grid[0];
    params->gridDimY = work.grid[1];
    params->gridDimZ = work.grid[2];
    params->blockDimX = work.block[0];
    params->blockDimY = work.block[1];
    params->blockDimZ = work.block[2];
    params->sharedMemBytes = work.shared;
    params->kernelParams = work.by_extra || work.pointers.empty() ? nullptr : work.pointers.data();
    params->extra = work.by_extra ? work.extra : nullptr;
}

CUresult set_work(CUgraphNode handle, Work work) {
    const Locked lock;
    auto* node = find<Node>(handle);
    if (node == nullptr || node->work.index() != work.index())
        return CUDA_ERROR_INVALID_VALUE;
    node->work = std::move(work);
    return CUDA_SUCCESS;
}

template <class Params>
CUresult set_kernel(CUgraphNode node, const Params* params) {
    Work work = EmptyWork{};
    const CUresult code = locked_work(params)(&work);
    return code == CUDA_SUCCESS ? set_work(node, std::move(work)) : code;
}

}  // namespace

SIM_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    SIM_ENTER(cuGraphAddKernelNode);
    return add(out, graph, after, nullptr, count, locked_work(params));
}

SIM_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphAddKernelNode_v2);
    return add(out, graph, after, nullptr, count, locked_work(params));
}

SIM_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                         const CUDA_MEMCPY3D* params, CUcontext ctx) {
    SIM_ENTER(cuGraphAddMemcpyNode);
    return add(out, graph, after, nullptr, count, [&](Work* work) { return to_work(params, ctx, work); });
}

SIM_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                         const CUDA_MEMSET_NODE_PARAMS* params, CUcontext ctx) {
    SIM_ENTER(cuGraphAddMemsetNode);
    return add(out, graph, after, nullptr, count, [&](Work* work) { return to_work(params, ctx, work); });
}

SIM_EXPORT CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                       const CUDA_HOST_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphAddHostNode);
    return add(out, graph, after, nullptr, count, locked_work(params));
}

SIM_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                             CUgraph child) {
    SIM_ENTER(cuGraphAddChildGraphNode);
    return add(out, graph, after, nullptr, count, [&](Work* work) {
        const Locked lock;
        return to_work_child(child, work);
    });
}

SIM_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count) {
    SIM_ENTER(cuGraphAddEmptyNode);
    return add(out, graph, after, nullptr, count, [](Work*) { return CUDA_SUCCESS; });
}

SIM_EXPORT CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                              CUevent event) {
    SIM_ENTER(cuGraphAddEventRecordNode);
    return add(out, graph, after, nullptr, count, [&](Work* work) {
        const Locked lock;
        return to_work_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, work);
    });
}

SIM_EXPORT CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                            CUevent event) {
    SIM_ENTER(cuGraphAddEventWaitNode);
    return add(out, graph, after, nullptr, count, [&](Work* work) {
        const Locked lock;
        return to_work_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, work);
    });
}

SIM_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                           CUDA_MEM_ALLOC_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphAddMemAllocNode);
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = {};
    all.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    all.alloc.poolProps = params->poolProps;
    all.alloc.bytesize = params->bytesize;
    const CUresult code = add(out, graph, after, nullptr, count, [&](Work* work) { return to_work(&all, work); });
    if (code == CUDA_SUCCESS)
        params->dptr = all.alloc.dptr;
    return code;
}

SIM_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                          CUdeviceptr dptr) {
    SIM_ENTER(cuGraphAddMemFreeNode);
    CUgraphNodeParams all = {};
    all.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    all.free.dptr = dptr;
    return add(out, graph, after, nullptr, count, [&](Work* work) { return to_work(&all, work); });
}

SIM_EXPORT CUresult cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                             const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphAddBatchMemOpNode);
    return add(out, graph, after, nullptr, count, locked_work(params));
}

SIM_EXPORT CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                   CUgraphNodeParams* params) {
    SIM_ENTER(cuGraphAddNode);
    return add(out, graph, after, nullptr, count, [&](Work* work) { return to_work(params, work); });
}

SIM_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                      const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
    SIM_ENTER(cuGraphAddNode_v2);
    return add(out, graph, after, edges, count, [&](Work* work) { return to_work(params, work); });
}

SIM_EXPORT CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
    SIM_ENTER(cuGraphNodeGetType);
    const Locked lock;
    const auto* node = find<Node>(handle);
    if (node == nullptr || type == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *type = type_of(node->work);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
    SIM_ENTER(cuGraphKernelNodeGetParams);
    return with_work<KernelWork>(node, params, [&](KernelWork& work) { show(work, params); });
}

SIM_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphKernelNodeGetParams_v2);
    return with_work<KernelWork>(node, params, [&](KernelWork& work) {
        show(work, params);
        params->kern = work.kern;
        params->ctx = work.ctx;
    });
}

SIM_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    SIM_ENTER(cuGraphKernelNodeSetParams);
    return set_kernel(node, params);
}

SIM_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphKernelNodeSetParams_v2);
    return set_kernel(node, params);
}

SIM_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
    SIM_ENTER(cuGraphMemcpyNodeGetParams);
    return with_work<CopyWork>(node, params, [&](CopyWork& work) { *params = work.params; });
}

SIM_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
    SIM_ENTER(cuGraphMemcpyNodeSetParams);
    CUcontext ctx = nullptr;
    const CUresult found = with_work<CopyWork>(node, params, [&](CopyWork& work) { ctx = work.ctx; });
    if (found != CUDA_SUCCESS)
        return found;
    Work work = EmptyWork{};
    const CUresult code = to_work(params, ctx, &work);
    return code == CUDA_SUCCESS ? set_work(node, std::move(work)) : code;
}

SIM_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphMemsetNodeGetParams);
    return with_work<MemsetWork>(node, params, [&](MemsetWork& work) {
        const CUDA_MEMSET_NODE_PARAMS_v2& p = work.params;
        *params = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
    });
}

SIM_EXPORT CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphMemsetNodeSetParams);
    CUcontext ctx = nullptr;
    const CUresult found = with_work<MemsetWork>(node, params, [&](MemsetWork& work) { ctx = work.params.ctx; });
    if (found != CUDA_SUCCESS)
        return found;
    Work work = EmptyWork{};
    const CUresult code = to_work(params, ctx, &work);
    return code == CUDA_SUCCESS ? set_work(node, std::move(work)) : code;
}

SIM_EXPORT CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphHostNodeGetParams);
    return with_work<HostWork>(node, params, [&](HostWork& work) { *params = work.params; });
}

SIM_EXPORT CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphHostNodeSetParams);
    Work work = EmptyWork{};
    const CUresult code = to_work(params, &work);
    return code == CUDA_SUCCESS ? set_work(node, std::move(work)) : code;
}

SIM_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
    SIM_ENTER(cuGraphChildGraphNodeGetGraph);
    return with_work<ChildWork>(node, graph, [&](ChildWork& work) { *graph = handle_of<CUgraph>(work.graph); });
}

SIM_EXPORT CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
    SIM_ENTER(cuGraphEventRecordNodeGetEvent);
    return with_work<EventRecordWork>(node, event, [&](EventRecordWork& work) { *event = work.event; });
}

SIM_EXPORT CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
    SIM_ENTER(cuGraphEventWaitNodeGetEvent);
    return with_work<EventWaitWork>(node, event, [&](EventWaitWork& work) { *event = work.event; });
}

SIM_EXPORT CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
    SIM_ENTER(cuGraphEventRecordNodeSetEvent);
    return with_work<EventRecordWork>(node, event, [&](EventRecordWork& work) { work.event = event; });
}

SIM_EXPORT CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
    SIM_ENTER(cuGraphEventWaitNodeSetEvent);
    return with_work<EventWaitWork>(node, event, [&](EventWaitWork& work) { work.event = event; });
}

SIM_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphMemAllocNodeGetParams);
    return with_work<AllocWork>(node, params, [&](AllocWork& work) { *params = work.params; });
}

SIM_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* dptr) {
    SIM_ENTER(cuGraphMemFreeNodeGetParams);
    return with_work<FreeWork>(node, dptr, [&](FreeWork& work) { *dptr = work.dptr; });
}

SIM_EXPORT CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphBatchMemOpNodeGetParams);
    return with_work<BatchWork>(node, params, [&](BatchWork& work) {
        *params = {work.ctx, static_cast<unsigned>(work.operations.size()), work.operations.data(), work.flags};
    });
}

SIM_EXPORT CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphBatchMemOpNodeSetParams);
    Work work = EmptyWork{};
    const CUresult code = to_work(params, &work);
    return code == CUDA_SUCCESS ? set_work(node, std::move(work)) : code;
}

SIM_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
    SIM_ENTER(cuGraphNodeSetParams);
    Work work = EmptyWork{};
    const CUresult code = to_work(params, &work);
    return code == CUDA_SUCCESS ? set_work(node, std::move(work)) : code;
}
