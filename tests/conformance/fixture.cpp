// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <thread>

#include "../programs/kernels.h"

namespace conformance {

const char* const ptx = kg_kernels_ptx;

void must(CUresult code, const char* step) {
    if (code != CUDA_SUCCESS)
        throw std::runtime_error(std::string(step) + " gave " + std::to_string(code));
}

CUcontext primary() {
    static const CUcontext context = [] {
        CUcontext retained = nullptr;
        MUST(CU(cuDevicePrimaryCtxRetain)(&retained, 0));
        return retained;
    }();
    return context;
}

CUmodule kernels() {
    static const CUmodule module = [] {
        CUmodule loaded = nullptr;
        MUST(CU(cuModuleLoadData)(&loaded, static_cast<const void*>(ptx)));
        return loaded;
    }();
    return module;
}

namespace {
bool context_has_ended = false;
}

void context_ended() {
    context_has_ended = true;
}
bool has_context_ended() {
    return context_has_ended;
}

CUfunction kernel(const char* name) {
    CUfunction function = nullptr;
    MUST(CU(cuModuleGetFunction)(&function, kernels(), name));
    return function;
}

// Nothing is checked where objects die: a probe may have destroyed the handle's meaning on purpose.
Stream::Stream(unsigned flags) {
    MUST(CU(cuStreamCreate)(&handle_, flags));
}
Stream::~Stream() {
    CU(cuStreamDestroy_v2)(handle_);
}
Event::Event() {
    MUST(CU(cuEventCreate)(&handle_, CU_EVENT_DISABLE_TIMING));
}
Event::~Event() {
    CU(cuEventDestroy_v2)(handle_);
}

Buffer::Buffer(size_t count) : count_(count) {
    MUST(CU(cuMemAlloc_v2)(&address_, count * sizeof(float)));
    set(0);
}
Buffer::~Buffer() {
    if (address_ != 0)
        CU(cuMemFree_v2)(address_);
}
void Buffer::free() {
    MUST(CU(cuMemFree_v2)(address_));
    address_ = 0;
}
void Buffer::set(float value) {
    const std::vector<float> host(count_, value);
    MUST(CU(cuMemcpyHtoD_v2)(address_, static_cast<const void*>(host.data()), host.size() * sizeof(float)));
}
float Buffer::first() const {
    float value = 0;
    MUST(CU(cuMemcpyDtoH_v2)(static_cast<void*>(&value), address_, sizeof value));
    return value;
}

Graph::Graph() {
    MUST(CU(cuGraphCreate)(&handle_, 0u));
}
Graph::~Graph() {
    CU(cuGraphDestroy)(handle_);
}

CUgraphNode Graph::fill(CUdeviceptr out, float value, CUgraphNode after) {
    FillParams values(out, value);
    const auto params = kernel_params(kernel("kg_fill"), values.pointers);
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddKernelNode_v2)(&node, handle_, &after, size_t{after != nullptr}, &params));
    return node;
}

CUgraphNode Graph::twice(CUdeviceptr in, CUdeviceptr out, CUgraphNode after) {
    int n = 64;
    void* pointers[] = {&in, &out, &n};
    const auto params = kernel_params(kernel("_Z8kg_twiceIfEvPKT_PS0_i"), pointers);
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddKernelNode_v2)(&node, handle_, &after, size_t{after != nullptr}, &params));
    return node;
}

CUgraphNode Graph::memset(CUdeviceptr out, unsigned value) {
    const auto params = memset_params(out, value, 64);
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddMemsetNode)(&node, handle_, nullptr, size_t{0}, &params, primary()));
    return node;
}

CUgraphNode Graph::copy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    const auto params = copy_params(to, from, size);
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddMemcpyNode)(&node, handle_, nullptr, size_t{0}, &params, primary()));
    return node;
}

CUgraphNode Graph::empty(CUgraphNode after) {
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddEmptyNode)(&node, handle_, &after, size_t{after != nullptr}));
    return node;
}

CUgraphNode Graph::child(CUgraph graph) {
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddChildGraphNode)(&node, handle_, nullptr, size_t{0}, graph));
    return node;
}

Exec::Exec(CUgraph graph) {
    MUST(CU(cuGraphInstantiateWithFlags)(&handle_, graph, 0ull));
}
Exec::~Exec() {
    CU(cuGraphExecDestroy)(handle_);
}

CUresult Exec::run() const {
    const Stream stream;
    const CUresult launched = CU(cuGraphLaunch)(handle_, static_cast<CUstream>(stream));
    return launched != CUDA_SUCCESS ? launched : CU(cuStreamSynchronize)(static_cast<CUstream>(stream));
}

CUDA_KERNEL_NODE_PARAMS_v1 kernel_params_v1(CUfunction function, void** parameters) {
    CUDA_KERNEL_NODE_PARAMS_v1 params = {};
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 64;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = parameters;
    return params;
}

CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, void** parameters) {
    const CUDA_KERNEL_NODE_PARAMS_v1 older = kernel_params_v1(function, parameters);
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = older.func;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = older.blockDimX;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = parameters;
    return params;
}

CUDA_MEMCPY3D copy_params(CUdeviceptr to, CUdeviceptr from, size_t size) {
    CUDA_MEMCPY3D params = {};
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = from;
    params.dstDevice = to;
    params.srcPitch = params.dstPitch = params.WidthInBytes = size;
    params.srcHeight = params.dstHeight = params.Height = params.Depth = 1;
    return params;
}

CUDA_MEMSET_NODE_PARAMS memset_params(CUdeviceptr out, unsigned value, size_t count) {
    CUDA_MEMSET_NODE_PARAMS params = {};
    params.dst = out;
    params.value = value;
    params.elementSize = 4;
    params.width = count;
    params.height = 1;
    return params;
}

CUresult launch_fill(CUstream stream, CUdeviceptr out, float value) {
    FillParams values(out, value);
    return CU(cuLaunchKernel)(kernel("kg_fill"), 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, values.pointers, nullptr);
}

void on_other_thread(const std::function<void()>& run) {
    std::string failed;
    std::thread([&] {
        try {
            MUST(CU(cuCtxSetCurrent)(primary()));
            run();
        } catch (const std::exception& error) {
            failed = error.what();
        }
    }).join();
    if (!failed.empty())
        throw std::runtime_error(failed);
}

void begin(CUstream stream, CUstreamCaptureMode mode) {
    MUST(CU(cuStreamBeginCapture_v2)(stream, mode));
}

CUresult end(CUstream stream) {
    CUgraph graph = nullptr;
    const CUresult code = CU(cuStreamEndCapture)(stream, &graph);
    if (graph != nullptr)
        CU(cuGraphDestroy)(graph);
    return code;
}

size_t node_count(CUgraph graph) {
    size_t count = 0;
    MUST(CU(cuGraphGetNodes)(graph, nullptr, &count));
    return count;
}

}  // namespace conformance
