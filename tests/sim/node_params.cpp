// SPDX-License-Identifier: Apache-2.0
#include "node_params.h"

#include "address_space.h"
#include "context.h"

namespace keepgraph::sim {

CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v2* params, Work* work) {
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned grid[] = {params->gridDimX, params->gridDimY, params->gridDimZ};
    const unsigned block[] = {params->blockDimX, params->blockDimY, params->blockDimZ};
    KernelWork kernel;
    const CUresult code = kernel_work(&kernel, params->func, params->kern, params->ctx, grid, block,
                                      params->sharedMemBytes, params->kernelParams, params->extra);
    if (code == CUDA_SUCCESS)
        *work = std::move(kernel);
    return code;
}

CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v1* params, Work* work) {
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 newer = {};
    static_assert(sizeof *params <= sizeof newer);
    newer.func = params->func;
    newer.gridDimX = params->gridDimX;
    newer.gridDimY = params->gridDimY;
    newer.gridDimZ = params->gridDimZ;
    newer.blockDimX = params->blockDimX;
    newer.blockDimY = params->blockDimY;
    newer.blockDimZ = params->blockDimZ;
    newer.sharedMemBytes = params->sharedMemBytes;
    newer.kernelParams = params->kernelParams;
    newer.extra = params->extra;
    return to_work(&newer, work);
}

CUresult to_work(const CUDA_MEMCPY3D* params, CUcontext ctx, Work* work) {
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (ctx == nullptr)
        ctx = handle_of<CUcontext>(current_context());
    if (const CUresult code = check_copy(*params); code != CUDA_SUCCESS)
        return code;
    *work = CopyWork{*params, ctx};
    return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext ctx, Work* work) {
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (ctx == nullptr)
        ctx = handle_of<CUcontext>(current_context());
    const CUDA_MEMSET_NODE_PARAMS_v2 newer = {
        params->dst, params->pitch, params->value, params->elementSize, params->width, params->height, ctx};
    if (const CUresult code = check_memset(newer); code != CUDA_SUCCESS)
        return code;
    *work = MemsetWork{newer};
    return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_HOST_NODE_PARAMS* params, Work* work) {
    if (params == nullptr || params->fn == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *work = HostWork{*params};
    return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Work* work) {
    if (params == nullptr || params->count == 0 || params->paramArray == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *work = BatchWork{params->ctx, params->flags, {params->paramArray, params->paramArray + params->count}};
    return CUDA_SUCCESS;
}

CUresult to_work_event(CUgraphNodeType type, CUevent event, Work* work) {
    if (find<Event>(event) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
        *work = EventWaitWork{event};
    } else {
        *work = EventRecordWork{event};
    }
    return CUDA_SUCCESS;
}

CUresult to_work_child(CUgraph child, Work* work) {
    const auto* graph = find<Graph>(child);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Graph* copy = nullptr;
    if (const CUresult code = clone_graph(*graph, &copy); code != CUDA_SUCCESS)
        return code;
    *work = ChildWork{copy};
    return CUDA_SUCCESS;
}

CUresult to_work(CUgraphNodeParams* params, Work* work) {
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    switch (params->type) {
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return to_work(&params->memcpy.copyParams, params->memcpy.copyCtx, work);
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const CUDA_MEMSET_NODE_PARAMS_v2& p = params->memset;
            const CUDA_MEMSET_NODE_PARAMS older = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
            return to_work(&older, p.ctx, work);
        }
        default:
            break;
    }
    const Locked lock;
    switch (params->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
            const CUDA_KERNEL_NODE_PARAMS_v3& p = params->kernel;
            const CUDA_KERNEL_NODE_PARAMS_v2 older = {p.func,         p.gridDimX,  p.gridDimY,  p.gridDimZ,
                                                      p.blockDimX,    p.blockDimY, p.blockDimZ, p.sharedMemBytes,
                                                      p.kernelParams, p.extra,     p.kern,      p.ctx};
            return to_work(&older, work);
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            const CUDA_HOST_NODE_PARAMS older = {params->host.fn, params->host.userData};
            return to_work(&older, work);
        }
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return to_work_child(params->graph.graph, work);
        case CU_GRAPH_NODE_TYPE_EMPTY:
            *work = EmptyWork{};
            return CUDA_SUCCESS;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return to_work_event(params->type, params->eventWait.event, work);
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return to_work_event(params->type, params->eventRecord.event, work);
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
            CUDA_MEM_ALLOC_NODE_PARAMS_v2& p = params->alloc;
            AllocWork alloc;
            alloc.context = current_context();
            alloc.params.poolProps = p.poolProps;
            alloc.params.bytesize = p.bytesize;
            if (p.bytesize == 0 || p.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
            p.dptr = alloc.params.dptr = take_addresses(p.bytesize);
            if (p.dptr == 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
            *work = alloc;
            return CUDA_SUCCESS;
        }
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            if (params->free.dptr == 0)
                return CUDA_ERROR_INVALID_VALUE;
            *work = FreeWork{params->free.dptr};
            return CUDA_SUCCESS;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
            const CUDA_BATCH_MEM_OP_NODE_PARAMS older = {params->memOp.ctx, params->memOp.count,
                                                         params->memOp.paramArray, params->memOp.flags};
            return to_work(&older, work);
        }
        default:
            return params->type < 0 || params->type > CU_GRAPH_NODE_TYPE_CONDITIONAL ? CUDA_ERROR_INVALID_VALUE
                                                                                     : CUDA_ERROR_NOT_SUPPORTED;
    }
}

}  // namespace keepgraph::sim
