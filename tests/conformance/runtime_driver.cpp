// SPDX-License-Identifier: Apache-2.0
// What cudart and the driver see of each other's memory, captures and graphs; cudart's last error; null arguments.
#include "fixture.h"
#include "runtime.h"

using namespace conformance;

namespace {

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

void* pointer(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

CUresult has_identity(CUdeviceptr where) {
    unsigned long long id = 0;
    return CU(cuPointerGetAttribute)(static_cast<void*>(&id), CU_POINTER_ATTRIBUTE_BUFFER_ID, where);
}

/// Leaves an error (1) behind, as a program does that frees what it does not own.
cudaError_t fail() {
    int not_ours = 0;
    return RT(cudaFree)(&not_ours);
}

}  // namespace

// ---- memory
RUNTIME_PROBE("runtime.zero_bytes") {
    int any = 0;
    void* const before = &any;
    void* p = before;
    out("alloc", RT(cudaMalloc)(&p, size_t{0}));
    out("unchanged", p == before);
    out("null", p == nullptr);
}
RUNTIME_PROBE("runtime.frees_of_the_driver") {
    void* p = nullptr;
    MUST(RT(cudaMalloc)(&p, size_t{256}));
    out("identity", has_identity(address(p)));
    size_t size = 0;
    CUdeviceptr start = 0;
    out("range", CU(cuMemGetAddressRange_v2)(&start, &size, address(p) + 4));
    out("start", start == address(p));
    out("size", static_cast<long long>(size));
    out("cuMemFree", CU(cuMemFree_v2)(address(p)));
    out("identity", has_identity(address(p)));
    out("cudaFree", RT(cudaFree)(p));
}
RUNTIME_PROBE("runtime.frees_what_the_driver_gave") {
    CUdeviceptr p = 0;
    MUST(CU(cuMemAlloc_v2)(&p, size_t{256}));
    out("of_cuMemAlloc", RT(cudaFree)(pointer(p)));
    out("identity", has_identity(p));
    out("cuMemFree", CU(cuMemFree_v2)(p));
    MUST(CU(cuMemAllocManaged)(&p, size_t{256}, static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL)));
    out("of_cuMemAllocManaged", RT(cudaFree)(pointer(p)));
    MUST(CU(cuMemAllocAsync)(&p, size_t{256}, nullptr));
    out("of_cuMemAllocAsync", RT(cudaFree)(pointer(p)));
}
RUNTIME_PROBE("runtime.frees_pinned_memory") {
    void* p = nullptr;
    MUST(CU(cuMemHostAlloc)(&p, size_t{256}, 0u));
    out("cudaFree", RT(cudaFree)(p));
    out("cuMemFreeHost", CU(cuMemFreeHost)(p));
}
RUNTIME_PROBE("runtime.makes_the_primary_context_current") {
    on_other_thread([&] {
        MUST(CU(cuCtxSetCurrent)(nullptr));
        void* p = nullptr;
        out("alloc", RT(cudaMalloc)(&p, size_t{256}));
        CUcontext current = nullptr;
        MUST(CU(cuCtxGetCurrent)(&current));
        out("primary", current == primary());
        out("free", RT(cudaFree)(p));
    });
    on_other_thread([&] {
        MUST(CU(cuCtxSetCurrent)(nullptr));
        out("free_null", RT(cudaFree)(nullptr));
        CUcontext current = nullptr;
        MUST(CU(cuCtxGetCurrent)(&current));
        out("primary", current == primary());
    });
}

// ---- captures
RUNTIME_PROBE("runtime.begins_and_the_driver_ends") {
    const Buffer buffer;
    const Stream stream;
    out("begin", RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), cudaStreamCaptureModeGlobal));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    out("asked", CU(cuStreamIsCapturing)(static_cast<CUstream>(stream), &status));
    out("status", status);
    out("launch", launch_fill(stream, buffer, 1));
    CUgraph graph = nullptr;
    out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("nodes", static_cast<long long>(node_count(graph)));
    out("destroy", RT(cudaGraphDestroy)(graph));
    out("asked", CU(cuStreamIsCapturing)(static_cast<CUstream>(stream), &status));
    out("status", status);
}
RUNTIME_PROBE("runtime.ends_what_the_driver_began") {
    const Buffer buffer;
    const Stream stream;
    begin(stream);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    out("asked", RT(cudaStreamIsCapturing)(static_cast<CUstream>(stream), &status));
    out("status", status);
    MUST(launch_fill(stream, buffer, 6));
    cudaGraph_t graph = nullptr;
    out("end", RT(cudaStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    CUgraphExec exec = nullptr;
    out("instantiate", CU(cuGraphInstantiateWithFlags)(&exec, graph, 0ull));
    out("destroy", RT(cudaGraphDestroy)(graph));
    out("launch", RT(cudaGraphLaunch)(exec, static_cast<CUstream>(stream)));
    out("synchronize", CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    out("result", static_cast<long long>(buffer.first()));
    out("destroy_exec", RT(cudaGraphExecDestroy)(exec));
}
RUNTIME_PROBE("runtime.per_thread_stream_by_both_names") {
    out("begin", RT(cudaStreamBeginCapture)(cudaStreamPerThread, cudaStreamCaptureModeGlobal));
    cudaGraph_t graph = nullptr;
    out("end", RT(cudaStreamEndCapture_ptsz)(nullptr, &graph));
    out("destroy", RT(cudaGraphDestroy)(graph));
}

namespace {

const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                       cudaStreamCaptureModeRelaxed};

/// The code that a call gets in a capture, and what is left of the capture, for each mode. The call may free the block
/// that it is given.
template <class Ask>
void in_a_capture(Out& out, Ask ask) {
    for (const auto mode : modes) {
        const Stream stream;
        void* block = nullptr;
        MUST(RT(cudaMalloc)(&block, size_t{256}));
        MUST(RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), mode));
        out("code", ask(block));
        out("end", end(stream));
        if (has_identity(address(block)) == CUDA_SUCCESS)
            RT(cudaFree)(block);
    }
}

}  // namespace

RUNTIME_PROBE("runtime.in_a_capture.cudaMalloc") {
    in_a_capture(out, [](void*) {
        void* p = nullptr;
        const cudaError_t code = RT(cudaMalloc)(&p, size_t{256});
        if (p != nullptr)
            RT(cudaFree)(p);
        return code;
    });
}
RUNTIME_PROBE("runtime.in_a_capture.cudaMalloc_zero_bytes") {
    in_a_capture(out, [](void*) {
        void* p = nullptr;
        return RT(cudaMalloc)(&p, size_t{0});
    });
}
RUNTIME_PROBE("runtime.in_a_capture.cudaFree") {
    in_a_capture(out, [](void* block) { return RT(cudaFree)(block); });
}
RUNTIME_PROBE("runtime.in_a_capture.cudaFree_null") {
    in_a_capture(out, [](void*) { return RT(cudaFree)(nullptr); });
}
RUNTIME_PROBE("runtime.in_a_capture.cudaMalloc_on_another_thread") {
    in_a_capture(out, [](void*) {
        cudaError_t code = cudaSuccess;
        on_other_thread([&] {
            void* p = nullptr;
            code = RT(cudaMalloc)(&p, size_t{256});
            if (p != nullptr)
                RT(cudaFree)(p);
        });
        return code;
    });
}

// ---- the last error: of cudart's calls alone, of this thread, until somebody takes it
RUNTIME_PROBE("runtime.last_error") {
    out("none", RT(cudaPeekAtLastError)());
    out("failed", fail());
    out("peek", RT(cudaPeekAtLastError)());
    out("peek_again", RT(cudaPeekAtLastError)());
    out("get", RT(cudaGetLastError)());
    out("get_again", RT(cudaGetLastError)());
    out("peek", RT(cudaPeekAtLastError)());
}
RUNTIME_PROBE("runtime.last_error_after_a_success") {
    MUST(RT(cudaFree)(nullptr));
    out("failed", fail());
    void* p = nullptr;
    out("alloc", RT(cudaMalloc)(&p, size_t{256}));
    out("free", RT(cudaFree)(p));
    out("get", RT(cudaGetLastError)());
}
RUNTIME_PROBE("runtime.last_error_of_two") {
    void* p = nullptr;
    out("first", fail());
    out("second", RT(cudaMalloc)(&p, size_t{1} << 50));
    out("get", RT(cudaGetLastError)());
    out("get_again", RT(cudaGetLastError)());
}
RUNTIME_PROBE("runtime.last_error_of_threads") {
    out("failed", fail());
    on_other_thread([&] {
        out("other_thread", RT(cudaGetLastError)());
        out("failed_there", fail());
    });
    out("get", RT(cudaGetLastError)());
    out("get_again", RT(cudaGetLastError)());
}
RUNTIME_PROBE("runtime.last_error_of_the_driver") {
    CUdeviceptr p = 0;
    out("driver", CU(cuMemAlloc_v2)(&p, size_t{0}));
    out("get", RT(cudaGetLastError)());
}
RUNTIME_PROBE("runtime.last_error_of_a_row") {
    const Stream stream;
    cudaGraph_t graph = nullptr;
    void* p = nullptr;
    const auto last = [&](std::string_view name, cudaError_t code) {
        out(name, code);
        out("get", RT(cudaGetLastError)());
    };
    last("cudaMalloc", RT(cudaMalloc)(&p, size_t{1} << 50));
    last("begin", RT(cudaStreamBeginCapture)(nullptr, cudaStreamCaptureModeGlobal));
    last("end", RT(cudaStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    last("launch", RT(cudaGraphLaunch)(nullptr, static_cast<CUstream>(stream)));
    last("destroy", RT(cudaGraphDestroy)(nullptr));
    last("destroy_exec", RT(cudaGraphExecDestroy)(nullptr));
}
RUNTIME_PROBE("runtime.last_error_in_a_capture") {
    const Stream stream;
    MUST(RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), cudaStreamCaptureModeGlobal));
    out("failed", fail());
    out("get", RT(cudaGetLastError)());
    out("end", end(stream));
    out("get", RT(cudaGetLastError)());
}

// ---- null arguments, one a probe: a cudart that follows one costs its own line
namespace {

struct Question {
    const char* name;
    cudaError_t (*ask)();
};

const Question questions[] = {
    {"cudaMalloc.devPtr", [] { return RT(cudaMalloc)(nullptr, size_t{256}); }},
    {"cudaStreamEndCapture.pGraph",
     [] {
         const Stream stream;
         return RT(cudaStreamEndCapture)(static_cast<CUstream>(stream), nullptr);
     }},
    {"cudaStreamEndCapture_ptsz.pGraph", [] { return RT(cudaStreamEndCapture_ptsz)(nullptr, nullptr); }},
};

const bool registered = [] {
    for (const Question& question : questions) {
        Register(
            std::string("null.") + question.name, [&question](Out& out) { out("code", question.ask()); },
            Needs::runtime);
    }
    return true;
}();

}  // namespace

RUNTIME_PROBE("null.cudaStreamEndCapture.pGraph_of_a_capture") {
    end_without_place(out, [](CUstream stream) { return RT(cudaStreamEndCapture)(stream, nullptr); });
}
