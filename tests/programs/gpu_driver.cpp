// SPDX-License-Identifier: Apache-2.0
// gpu.h over libcuda, by dlopen and dlsym (KG_OVER_DRIVER) or as a needed library (KG_OVER_LINKED).
#include "gpu.h"

#include "driver_entry.h"
#include "kernels.h"

namespace gpu {
namespace {

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

CUcontext primary_context() {
    static const CUcontext context = [] {
        CUdevice device = 0;
        CUcontext retained = nullptr;
        const bool found = CU(cuDeviceGet)(&device, 0) == CUDA_SUCCESS &&
                           CU(cuDevicePrimaryCtxRetain)(&retained, device) == CUDA_SUCCESS;
        return found ? retained : nullptr;
    }();
    return context;
}

CUDA_KERNEL_NODE_PARAMS kernel_params(Kernel kernel, unsigned grid, unsigned block, void** arguments) {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = static_cast<CUfunction>(kernel);
    params.gridDimX = grid;
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = block;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    return params;
}

}  // namespace

int init() {
    const CUresult result = CU(cuInit)(0u);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    return CU(cuCtxSetCurrent)(primary_context());
}

Kernel kernel(const char* name) {
    static const CUmodule module = [] {
        CUmodule loaded = nullptr;
        return CU(cuModuleLoadData)(&loaded, static_cast<const void*>(kg_kernels_ptx)) == CUDA_SUCCESS ? loaded
                                                                                                       : nullptr;
    }();
    CUfunction found = nullptr;
    return module != nullptr && CU(cuModuleGetFunction)(&found, module, name) == CUDA_SUCCESS ? found : nullptr;
}

int malloc(void** pointer, std::size_t size) {
    return CU(cuMemAlloc)(reinterpret_cast<CUdeviceptr*>(pointer), size);
}
int free(void* pointer) {
    return CU(cuMemFree)(address(pointer));
}
int host_alloc(void** pointer, std::size_t size) {
    return CU(cuMemHostAlloc)(pointer, size, 0u);
}
int host_free(void* pointer) {
    return CU(cuMemFreeHost)(pointer);
}
int malloc_async(void** pointer, std::size_t size, Stream stream) {
    return CU(cuMemAllocAsync)(reinterpret_cast<CUdeviceptr*>(pointer), size, stream);
}
int free_async(void* pointer, Stream stream) {
    return CU(cuMemFreeAsync)(address(pointer), stream);
}

int copy(void* to, const void* from, std::size_t size, Kind kind) {
    switch (kind) {
        case host_to_device:
            return CU(cuMemcpyHtoD)(address(to), from, size);
        case device_to_host:
            return CU(cuMemcpyDtoH)(to, address(from), size);
        case device_to_device:
            break;
    }
    return CU(cuMemcpyDtoD)(address(to), address(from), size);
}

int copy_async(void* to, const void* from, std::size_t size, Kind kind, Stream stream) {
    switch (kind) {
        case host_to_device:
            return CU(cuMemcpyHtoDAsync)(address(to), from, size, stream);
        case device_to_host:
            return CU(cuMemcpyDtoHAsync)(to, address(from), size, stream);
        case device_to_device:
            break;
    }
    return CU(cuMemcpyDtoDAsync)(address(to), address(from), size, stream);
}

int copy_rows_async(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                    std::size_t height, Stream stream) {
    CUDA_MEMCPY2D rows = {};
    rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = address(from);
    rows.srcPitch = from_pitch;
    rows.dstDevice = address(to);
    rows.dstPitch = to_pitch;
    rows.WidthInBytes = width;
    rows.Height = height;
    const CUDA_MEMCPY2D* argument = &rows;
    return CU(cuMemcpy2DAsync)(argument, stream);
}

int memset_async(void* pointer, unsigned char value, std::size_t size, Stream stream) {
    return CU(cuMemsetD8Async)(address(pointer), value, size, stream);
}

int stream_create(Stream* stream, StreamKind kind) {
    return CU(cuStreamCreate)(stream, kind == non_blocking ? 1u : 0u);
}
int stream_destroy(Stream stream) {
    return CU(cuStreamDestroy)(stream);
}
int stream_sync(Stream stream) {
    return CU(cuStreamSynchronize)(stream);
}
int stream_wait(Stream stream, Event event, bool external) {
    return CU(cuStreamWaitEvent)(stream, event, external ? 1u : 0u);
}
int event_create(Event* event) {
    return CU(cuEventCreate)(event, 2u);
}
int event_destroy(Event event) {
    return CU(cuEventDestroy)(event);
}
int event_record(Event event, Stream stream, bool external) {
    return external ? CU(cuEventRecordWithFlags)(event, stream, 1u) : CU(cuEventRecord)(event, stream);
}
int device_sync() {
    return CU(cuCtxSynchronize)();
}

int launch(Kernel kernel, unsigned grid, unsigned block, void** arguments, Stream stream) {
    return CU(cuLaunchKernel)(static_cast<CUfunction>(kernel), grid, 1u, 1u, block, 1u, 1u, 0u, stream, arguments,
                              static_cast<void**>(nullptr));
}
int host_function(Stream stream, HostFunction function, void* data) {
    return CU(cuLaunchHostFunc)(stream, function, data);
}

int begin_capture(Stream stream, Mode mode) {
    return CU(cuStreamBeginCapture)(stream, static_cast<CUstreamCaptureMode>(mode));
}
int end_capture(Stream stream, Graph* graph) {
    return CU(cuStreamEndCapture)(stream, graph);
}
int is_capturing(Stream stream, int* status) {
    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
    const int code = CU(cuStreamIsCapturing)(stream, &found);
    *status = found;
    return code;
}
int exchange_mode(Mode* mode) {
    auto other = static_cast<CUstreamCaptureMode>(*mode);
    const int code = CU(cuThreadExchangeStreamCaptureMode)(&other);
    *mode = static_cast<Mode>(other);
    return code;
}

int graph_create(Graph* graph) {
    return CU(cuGraphCreate)(graph, 0u);
}

int add_kernel(Node* node, Graph graph, const Node* after, std::size_t count, Kernel kernel, unsigned grid,
               unsigned block, void** arguments) {
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(kernel, grid, block, arguments);
    return CU(cuGraphAddKernelNode)(node, graph, after, count, &params);
}

int add_copy(Node* node, Graph graph, const Node* after, std::size_t count, void* to, const void* from,
             std::size_t size, Kind kind) {
    CUDA_MEMCPY3D params = {};
    params.srcMemoryType = kind == host_to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    params.dstMemoryType = kind == device_to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    if (kind == host_to_device) {
        params.srcHost = from;
    } else {
        params.srcDevice = address(from);
    }
    if (kind == device_to_host) {
        params.dstHost = to;
    } else {
        params.dstDevice = address(to);
    }
    params.srcPitch = params.dstPitch = size;
    params.srcHeight = params.dstHeight = 1;
    params.WidthInBytes = size;
    params.Height = params.Depth = 1;
    return CU(cuGraphAddMemcpyNode)(node, graph, after, count, &params, primary_context());
}

int add_copy_rows(Node* node, Graph graph, const Node* after, std::size_t count, void* to, std::size_t to_pitch,
                  const void* from, std::size_t from_pitch, std::size_t width, std::size_t height) {
    CUDA_MEMCPY3D params = {};
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = address(from);
    params.srcPitch = from_pitch;
    params.dstDevice = address(to);
    params.dstPitch = to_pitch;
    params.srcHeight = params.dstHeight = height;
    params.WidthInBytes = width;
    params.Height = height;
    params.Depth = 1;
    return CU(cuGraphAddMemcpyNode)(node, graph, after, count, &params, primary_context());
}

int add_memset(Node* node, Graph graph, const Node* after, std::size_t count, void* pointer, unsigned char value,
               std::size_t size) {
    CUDA_MEMSET_NODE_PARAMS params = {};
    params.dst = address(pointer);
    params.value = value;
    params.elementSize = 1;
    params.width = size;
    params.height = 1;
    return CU(cuGraphAddMemsetNode)(node, graph, after, count, &params, primary_context());
}

int add_host(Node* node, Graph graph, const Node* after, std::size_t count, HostFunction function, void* data) {
    CUDA_HOST_NODE_PARAMS params = {};
    params.fn = function;
    params.userData = data;
    return CU(cuGraphAddHostNode)(node, graph, after, count, &params);
}

int add_event_record(Node* node, Graph graph, const Node* after, std::size_t count, Event event) {
    return CU(cuGraphAddEventRecordNode)(node, graph, after, count, event);
}
int add_event_wait(Node* node, Graph graph, const Node* after, std::size_t count, Event event) {
    return CU(cuGraphAddEventWaitNode)(node, graph, after, count, event);
}
int node_count(Graph graph, std::size_t* count) {
    return CU(cuGraphGetNodes)(graph, static_cast<CUgraphNode*>(nullptr), count);
}
int first_node(Graph graph, Node* node) {
    std::size_t count = 1;
    return CU(cuGraphGetNodes)(graph, node, &count);
}
int dot_print(Graph graph, const char* path) {
    return CU(cuGraphDebugDotPrint)(graph, path, 0u);
}
int graph_destroy(Graph graph) {
    return CU(cuGraphDestroy)(graph);
}

int instantiate(Exec* exec, Graph graph) {
    return CU(cuGraphInstantiateWithFlags)(exec, graph, 0ull);
}
int graph_launch(Exec exec, Stream stream) {
    return CU(cuGraphLaunch)(exec, stream);
}
int exec_update(Exec exec, Graph graph) {
    CUgraphExecUpdateResultInfo info = {};
    return CU(cuGraphExecUpdate)(exec, graph, &info);
}
int exec_set_kernel(Exec exec, Node node, Kernel kernel, unsigned grid, unsigned block, void** arguments) {
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(kernel, grid, block, arguments);
    return CU(cuGraphExecKernelNodeSetParams)(exec, node, &params);
}
int exec_destroy(Exec exec) {
    return CU(cuGraphExecDestroy)(exec);
}

}  // namespace gpu
