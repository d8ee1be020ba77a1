// SPDX-License-Identifier: Apache-2.0
// gpu.h over cudart.
#include "gpu.h"

#include "kernels.h"

#include <cuda_runtime_api.h>

// cudaLibrary* is in the headers since 12.8 only; the libraries that the programs meet all have it.
extern "C" {
int kg_library_load(void** library, const void* code, int* options, void** values, unsigned count, int* library_options,
                    void** library_values, unsigned library_count) __asm__("cudaLibraryLoadData");
int kg_library_kernel(void** kernel, void* library, const char* name) __asm__("cudaLibraryGetKernel");
}

namespace gpu {
namespace {

cudaMemcpyKind direction(Kind kind) {
    return kind == host_to_device   ? cudaMemcpyHostToDevice
           : kind == device_to_host ? cudaMemcpyDeviceToHost
                                    : cudaMemcpyDeviceToDevice;
}

cudaKernelNodeParams kernel_params(Kernel kernel, unsigned grid, unsigned block, void** arguments) {
    cudaKernelNodeParams params = {};
    params.func = kernel;
    params.gridDim = dim3{grid, 1, 1};
    params.blockDim = dim3{block, 1, 1};
    params.kernelParams = arguments;
    return params;
}

}  // namespace

int init() {
    return cudaFree(nullptr);
}

Kernel kernel(const char* name) {
    static void* library = [] {
        void* loaded = nullptr;
        return kg_library_load(&loaded, kg_kernels_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0) == 0 ? loaded
                                                                                                       : nullptr;
    }();
    void* found = nullptr;
    return library != nullptr && kg_library_kernel(&found, library, name) == 0 ? found : nullptr;
}

int malloc(void** pointer, std::size_t size) {
    return cudaMalloc(pointer, size);
}
int free(void* pointer) {
    return cudaFree(pointer);
}
int host_alloc(void** pointer, std::size_t size) {
    return cudaHostAlloc(pointer, size, 0);
}
int host_free(void* pointer) {
    return cudaFreeHost(pointer);
}
int malloc_async(void** pointer, std::size_t size, Stream stream) {
    return cudaMallocAsync(pointer, size, stream);
}
int free_async(void* pointer, Stream stream) {
    return cudaFreeAsync(pointer, stream);
}

int copy(void* to, const void* from, std::size_t size, Kind kind) {
    return cudaMemcpy(to, from, size, direction(kind));
}

int copy_async(void* to, const void* from, std::size_t size, Kind kind, Stream stream) {
    return cudaMemcpyAsync(to, from, size, direction(kind), stream);
}

int copy_rows_async(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                    std::size_t height, Stream stream) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, cudaMemcpyDeviceToDevice, stream);
}

int memset_async(void* pointer, unsigned char value, std::size_t size, Stream stream) {
    return cudaMemsetAsync(pointer, value, size, stream);
}

int stream_create(Stream* stream, StreamKind kind) {
    return cudaStreamCreateWithFlags(stream, kind == non_blocking ? cudaStreamNonBlocking : cudaStreamDefault);
}
int stream_destroy(Stream stream) {
    return cudaStreamDestroy(stream);
}
int stream_sync(Stream stream) {
    return cudaStreamSynchronize(stream);
}
int stream_wait(Stream stream, Event event, bool external) {
    return cudaStreamWaitEvent(stream, event, external ? cudaEventWaitExternal : cudaEventWaitDefault);
}
int event_create(Event* event) {
    return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
int event_destroy(Event event) {
    return cudaEventDestroy(event);
}
int event_record(Event event, Stream stream, bool external) {
    return external ? cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal) : cudaEventRecord(event, stream);
}
int device_sync() {
    return cudaDeviceSynchronize();
}

int launch(Kernel kernel, unsigned grid, unsigned block, void** arguments, Stream stream) {
    return cudaLaunchKernel(kernel, dim3{grid, 1, 1}, dim3{block, 1, 1}, arguments, 0, stream);
}
int host_function(Stream stream, HostFunction function, void* data) {
    return cudaLaunchHostFunc(stream, function, data);
}

int begin_capture(Stream stream, Mode mode) {
    return cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode));
}
int end_capture(Stream stream, Graph* graph) {
    return cudaStreamEndCapture(stream, graph);
}
int is_capturing(Stream stream, int* status) {
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    const int code = cudaStreamIsCapturing(stream, &found);
    *status = found;
    return code;
}
int exchange_mode(Mode* mode) {
    auto other = static_cast<cudaStreamCaptureMode>(*mode);
    const int code = cudaThreadExchangeStreamCaptureMode(&other);
    *mode = static_cast<Mode>(other);
    return code;
}

int graph_create(Graph* graph) {
    return cudaGraphCreate(graph, 0);
}

int add_kernel(Node* node, Graph graph, const Node* after, std::size_t count, Kernel kernel, unsigned grid,
               unsigned block, void** arguments) {
    const cudaKernelNodeParams params = kernel_params(kernel, grid, block, arguments);
    return cudaGraphAddKernelNode(node, graph, after, count, &params);
}

int add_copy(Node* node, Graph graph, const Node* after, std::size_t count, void* to, const void* from,
             std::size_t size, Kind kind) {
    return cudaGraphAddMemcpyNode1D(node, graph, after, count, to, from, size, direction(kind));
}

int add_copy_rows(Node* node, Graph graph, const Node* after, std::size_t count, void* to, std::size_t to_pitch,
                  const void* from, std::size_t from_pitch, std::size_t width, std::size_t height) {
    cudaMemcpy3DParms params = {};
    params.srcPtr = cudaPitchedPtr{const_cast<void*>(from), from_pitch, width, height};
    params.dstPtr = cudaPitchedPtr{to, to_pitch, width, height};
    params.extent = cudaExtent{width, height, 1};
    params.kind = cudaMemcpyDeviceToDevice;
    return cudaGraphAddMemcpyNode(node, graph, after, count, &params);
}

int add_memset(Node* node, Graph graph, const Node* after, std::size_t count, void* pointer, unsigned char value,
               std::size_t size) {
    cudaMemsetParams params = {};
    params.dst = pointer;
    params.value = value;
    params.elementSize = 1;
    params.width = size;
    params.height = 1;
    return cudaGraphAddMemsetNode(node, graph, after, count, &params);
}

int add_host(Node* node, Graph graph, const Node* after, std::size_t count, HostFunction function, void* data) {
    const cudaHostNodeParams params = {function, data};
    return cudaGraphAddHostNode(node, graph, after, count, &params);
}

int add_event_record(Node* node, Graph graph, const Node* after, std::size_t count, Event event) {
    return cudaGraphAddEventRecordNode(node, graph, after, count, event);
}
int add_event_wait(Node* node, Graph graph, const Node* after, std::size_t count, Event event) {
    return cudaGraphAddEventWaitNode(node, graph, after, count, event);
}
int node_count(Graph graph, std::size_t* count) {
    return cudaGraphGetNodes(graph, nullptr, count);
}
int first_node(Graph graph, Node* node) {
    std::size_t count = 1;
    return cudaGraphGetNodes(graph, node, &count);
}
int dot_print(Graph graph, const char* path) {
    return cudaGraphDebugDotPrint(graph, path, 0);
}
int graph_destroy(Graph graph) {
    return cudaGraphDestroy(graph);
}

int instantiate(Exec* exec, Graph graph) {
    return cudaGraphInstantiate(exec, graph, 0);
}
int graph_launch(Exec exec, Stream stream) {
    return cudaGraphLaunch(exec, stream);
}
int exec_update(Exec exec, Graph graph) {
    cudaGraphExecUpdateResultInfo info = {};
    return cudaGraphExecUpdate(exec, graph, &info);
}
int exec_set_kernel(Exec exec, Node node, Kernel kernel, unsigned grid, unsigned block, void** arguments) {
    const cudaKernelNodeParams params = kernel_params(kernel, grid, block, arguments);
    return cudaGraphExecKernelNodeSetParams(exec, node, &params);
}
int exec_destroy(Exec exec) {
    return cudaGraphExecDestroy(exec);
}

}  // namespace gpu
