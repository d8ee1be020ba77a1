// SPDX-License-Identifier: Apache-2.0
//
// Nodes made and changed by hand: the runtime's parameter structs turned into the driver's.
#include "runtime.h"

using simrt::address;
using simrt::keep;

namespace {

bool from_host(cudaMemcpyKind kind) {
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
}
bool to_host(cudaMemcpyKind kind) {
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
}

CUcontext context_of(const simrt::Driver* driver) {
    CUcontext context = nullptr;
    driver->cuCtxGetCurrent(&context);
    return context;
}

CUDA_KERNEL_NODE_PARAMS kernel_parameters(const cudaKernelNodeParams& from) {
    CUDA_KERNEL_NODE_PARAMS to = {};
    to.gridDimX = from.gridDim.x;
    to.gridDimY = from.gridDim.y;
    to.gridDimZ = from.gridDim.z;
    to.blockDimX = from.blockDim.x;
    to.blockDimY = from.blockDim.y;
    to.blockDimZ = from.blockDim.z;
    to.sharedMemBytes = from.sharedMemBytes;
    to.kernelParams = from.kernelParams;
    to.extra = from.extra;
    to.kern = static_cast<CUkernel>(from.func);
    return to;
}

void set_source(CUDA_MEMCPY3D& copy, const void* from, cudaMemcpyKind kind) {
    copy.srcMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                         : from_host(kind)         ? CU_MEMORYTYPE_HOST
                                                   : CU_MEMORYTYPE_DEVICE;
    if (copy.srcMemoryType == CU_MEMORYTYPE_HOST) {
        copy.srcHost = from;
    } else {
        copy.srcDevice = address(from);
    }
}

void set_destination(CUDA_MEMCPY3D& copy, void* to, cudaMemcpyKind kind) {
    copy.dstMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                         : to_host(kind)           ? CU_MEMORYTYPE_HOST
                                                   : CU_MEMORYTYPE_DEVICE;
    if (copy.dstMemoryType == CU_MEMORYTYPE_HOST) {
        copy.dstHost = to;
    } else {
        copy.dstDevice = address(to);
    }
}

CUDA_MEMCPY3D linear_copy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy = {};
    set_source(copy, from, kind);
    set_destination(copy, to, kind);
    copy.srcPitch = copy.dstPitch = count;
    copy.srcHeight = copy.dstHeight = 1;
    copy.WidthInBytes = count;
    copy.Height = 1;
    copy.Depth = 1;
    return copy;
}

// Arrays are left out: no program on the double has one.
CUDA_MEMCPY3D pitched_copy(const cudaMemcpy3DParms& from) {
    CUDA_MEMCPY3D copy = {};
    set_source(copy, from.srcPtr.ptr, from.kind);
    set_destination(copy, from.dstPtr.ptr, from.kind);
    copy.srcXInBytes = from.srcPos.x;
    copy.srcY = from.srcPos.y;
    copy.srcZ = from.srcPos.z;
    copy.dstXInBytes = from.dstPos.x;
    copy.dstY = from.dstPos.y;
    copy.dstZ = from.dstPos.z;
    copy.srcPitch = from.srcPtr.pitch;
    copy.srcHeight = from.srcPtr.ysize;
    copy.dstPitch = from.dstPtr.pitch;
    copy.dstHeight = from.dstPtr.ysize;
    copy.WidthInBytes = from.extent.width;
    copy.Height = from.extent.height;
    copy.Depth = from.extent.depth;
    return copy;
}

CUDA_MEMSET_NODE_PARAMS memset_parameters(const cudaMemsetParams& from) {
    CUDA_MEMSET_NODE_PARAMS to = {};
    to.dst = address(from.dst);
    to.pitch = from.pitch;
    to.value = from.value;
    to.elementSize = from.elementSize;
    to.width = from.width;
    to.height = from.height;
    return to;
}

}  // namespace

#define ADD_PARAMETERS cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count

SIMRT_API cudaError_t cudaGraphAddKernelNode(ADD_PARAMETERS, const cudaKernelNodeParams* parameters) {
    if (parameters == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    if (!simrt::is_kernel(parameters->func)) {
        return keep(cudaErrorInvalidDeviceFunction);
    }
    const CUDA_KERNEL_NODE_PARAMS converted = kernel_parameters(*parameters);
    SIMRT_FORWARD(driver->cuGraphAddKernelNode_v2, node, graph, dependencies, count, &converted);
}

SIMRT_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
    const simrt::Ready ready;
    if (ready.failed()) {
        return keep(ready.error);
    }
    CUDA_KERNEL_NODE_PARAMS found = {};
    const cudaError_t error = simrt::call(ready.driver->cuGraphKernelNodeGetParams_v2, node, &found);
    if (error != cudaSuccess) {
        return keep(error);
    }
    // A kernel that another library loaded is no function to this cudart: the real one fails here too.
    if (found.kern == nullptr || !simrt::is_kernel(found.kern)) {
        return keep(cudaErrorInvalidDeviceFunction);
    }
    *parameters = {};
    parameters->func = found.kern;
    parameters->gridDim = dim3{found.gridDimX, found.gridDimY, found.gridDimZ};
    parameters->blockDim = dim3{found.blockDimX, found.blockDimY, found.blockDimZ};
    parameters->sharedMemBytes = found.sharedMemBytes;
    parameters->kernelParams = found.kernelParams;
    parameters->extra = found.extra;
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                       const cudaKernelNodeParams* parameters) {
    if (parameters == nullptr || !simrt::is_kernel(parameters->func)) {
        return keep(parameters == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction);
    }
    const CUDA_KERNEL_NODE_PARAMS converted = kernel_parameters(*parameters);
    SIMRT_FORWARD(driver->cuGraphExecKernelNodeSetParams_v2, exec, node, &converted);
}

SIMRT_API cudaError_t cudaGraphAddMemcpyNode(ADD_PARAMETERS, const cudaMemcpy3DParms* parameters) {
    if (parameters == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    const CUDA_MEMCPY3D copy = pitched_copy(*parameters);
    SIMRT_FORWARD(driver->cuGraphAddMemcpyNode, node, graph, dependencies, count, &copy, context_of(driver));
}

SIMRT_API cudaError_t cudaGraphAddMemcpyNode1D(ADD_PARAMETERS, void* to, const void* from, size_t bytes,
                                               cudaMemcpyKind kind) {
    const CUDA_MEMCPY3D copy = linear_copy(to, from, bytes, kind);
    SIMRT_FORWARD(driver->cuGraphAddMemcpyNode, node, graph, dependencies, count, &copy, context_of(driver));
}

SIMRT_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                         const void* from, size_t bytes, cudaMemcpyKind kind) {
    const CUDA_MEMCPY3D copy = linear_copy(to, from, bytes, kind);
    SIMRT_FORWARD(driver->cuGraphExecMemcpyNodeSetParams, exec, node, &copy, context_of(driver));
}

SIMRT_API cudaError_t cudaGraphAddMemsetNode(ADD_PARAMETERS, const cudaMemsetParams* parameters) {
    if (parameters == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    const CUDA_MEMSET_NODE_PARAMS converted = memset_parameters(*parameters);
    SIMRT_FORWARD(driver->cuGraphAddMemsetNode, node, graph, dependencies, count, &converted, context_of(driver));
}

SIMRT_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                       const cudaMemsetParams* parameters) {
    if (parameters == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    const CUDA_MEMSET_NODE_PARAMS converted = memset_parameters(*parameters);
    SIMRT_FORWARD(driver->cuGraphExecMemsetNodeSetParams, exec, node, &converted, context_of(driver));
}

SIMRT_API cudaError_t cudaGraphAddHostNode(ADD_PARAMETERS, const cudaHostNodeParams* parameters) {
    if (parameters == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    CUDA_HOST_NODE_PARAMS converted = {};
    converted.fn = parameters->fn;
    converted.userData = parameters->userData;
    SIMRT_FORWARD(driver->cuGraphAddHostNode, node, graph, dependencies, count, &converted);
}

SIMRT_API cudaError_t cudaGraphAddEmptyNode(ADD_PARAMETERS) {
    SIMRT_FORWARD(driver->cuGraphAddEmptyNode, node, graph, dependencies, count);
}

SIMRT_API cudaError_t cudaGraphAddChildGraphNode(ADD_PARAMETERS, cudaGraph_t child) {
    SIMRT_FORWARD(driver->cuGraphAddChildGraphNode, node, graph, dependencies, count, child);
}

SIMRT_API cudaError_t cudaGraphAddEventRecordNode(ADD_PARAMETERS, cudaEvent_t event) {
    SIMRT_FORWARD(driver->cuGraphAddEventRecordNode, node, graph, dependencies, count, event);
}

SIMRT_API cudaError_t cudaGraphAddEventWaitNode(ADD_PARAMETERS, cudaEvent_t event) {
    SIMRT_FORWARD(driver->cuGraphAddEventWaitNode, node, graph, dependencies, count, event);
}

SIMRT_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    SIMRT_FORWARD(driver->cuGraphNodeGetType, node, reinterpret_cast<CUgraphNodeType*>(type));
}
