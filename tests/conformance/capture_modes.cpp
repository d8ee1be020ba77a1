// SPDX-License-Identifier: Apache-2.0
// What is forbidden while somebody captures: modes x calls x threads. Each line has the code that the call gets, what
// the capturing thread gets at its next launch, and at the end of the capture.
#include "fixture.h"

using namespace conformance;

namespace {

/// What the calls need, made before the capture begins, and put right afterwards.
struct Victims {
    Victims() {
        MUST(CU(cuMemAlloc_v2)(&device, size_t{256}));
        MUST(CU(cuMemAllocAsync)(&async, size_t{256}, static_cast<CUstream>(other)));
        MUST(CU(cuMemHostAlloc)(&pinned, size_t{256}, 0u));
        MUST(CU(cuEventRecord)(static_cast<CUevent>(event), static_cast<CUstream>(other)));
        MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(other)));
        graph.fill(buffer, 1);
        MUST(CU(cuModuleLoadData)(&module, static_cast<const void*>(ptx)));
        MUST(CU(cuGraphCreate)(&spare, 0u));
        MUST(CU(cuStreamCreate)(&spare_stream, 1u));
        MUST(CU(cuGraphInstantiateWithFlags)(&exec, static_cast<CUgraph>(graph), 0ull));
    }
    ~Victims() {
        if (device != 0)
            CU(cuMemFree_v2)(device);
        if (async != 0)
            CU(cuMemFreeAsync)(async, static_cast<CUstream>(other));
        if (pinned != nullptr)
            CU(cuMemFreeHost)(pinned);
        if (exec != nullptr)
            CU(cuGraphExecDestroy)(exec);
        if (module != nullptr)
            CU(cuModuleUnload)(module);
        if (spare != nullptr)
            CU(cuGraphDestroy)(spare);
        if (spare_stream != nullptr)
            CU(cuStreamDestroy_v2)(spare_stream);
    }

    CUdeviceptr device = 0, async = 0;
    void* pinned = nullptr;
    Buffer buffer;
    Stream other;
    Event event;
    Graph graph;
    CUgraphExec exec = nullptr;
    CUmodule module = nullptr;
    CUgraph spare = nullptr;
    CUstream spare_stream = nullptr;
    alignas(4096) char plain[8192] = {};
    float host[64] = {};
};

/// A handle that the call took away is not given back again.
template <class Handle>
CUresult gone(Handle& handle, CUresult code) {
    if (code == CUDA_SUCCESS)
        handle = Handle{};
    return code;
}

struct Question {
    const char* name;
    CUresult (*ask)(Victims&);
};

CUstream other(Victims& v) {
    return v.other;
}

const Question questions[] = {
    {"cuMemAlloc",
     [](Victims&) {
         CUdeviceptr p = 0;
         const CUresult code = CU(cuMemAlloc_v2)(&p, size_t{256});
         if (code == CUDA_SUCCESS)
             CU(cuMemFree_v2)(p);
         return code;
     }},
    {"cuMemAllocManaged",
     [](Victims&) {
         CUdeviceptr p = 0;
         const CUresult code = CU(cuMemAllocManaged)(&p, size_t{256}, 1u);
         if (code == CUDA_SUCCESS)
             CU(cuMemFree_v2)(p);
         return code;
     }},
    {"cuMemFree", [](Victims& v) { return gone(v.device, CU(cuMemFree_v2)(v.device)); }},
    {"cuMemHostAlloc",
     [](Victims&) {
         void* p = nullptr;
         const CUresult code = CU(cuMemHostAlloc)(&p, size_t{256}, 0u);
         if (code == CUDA_SUCCESS)
             CU(cuMemFreeHost)(p);
         return code;
     }},
    {"cuMemFreeHost", [](Victims& v) { return gone(v.pinned, CU(cuMemFreeHost)(v.pinned)); }},
    {"cuMemHostRegister",
     [](Victims& v) {
         const CUresult code = CU(cuMemHostRegister_v2)(static_cast<void*>(v.plain), size_t{4096}, 0u);
         if (code == CUDA_SUCCESS)
             CU(cuMemHostUnregister)(static_cast<void*>(v.plain));
         return code;
     }},
    {"cuMemGetInfo",
     [](Victims&) {
         size_t free = 0, total = 0;
         return CU(cuMemGetInfo_v2)(&free, &total);
     }},
    {"cuMemAllocAsync_other_stream",
     [](Victims& v) {
         CUdeviceptr p = 0;
         const CUresult code = CU(cuMemAllocAsync)(&p, size_t{256}, other(v));
         if (code == CUDA_SUCCESS)
             CU(cuMemFreeAsync)(p, other(v));
         return code;
     }},
    {"cuMemFreeAsync_other_stream", [](Victims& v) { return gone(v.async, CU(cuMemFreeAsync)(v.async, other(v))); }},
    {"cuMemcpyDtoH",
     [](Victims& v) {
         return CU(cuMemcpyDtoH_v2)(static_cast<void*>(v.host), static_cast<CUdeviceptr>(v.buffer), size_t{256});
     }},
    {"cuMemcpyHtoD",
     [](Victims& v) {
         return CU(cuMemcpyHtoD_v2)(static_cast<CUdeviceptr>(v.buffer), static_cast<const void*>(v.host), size_t{256});
     }},
    {"cuMemcpyHtoDAsync_other_stream",
     [](Victims& v) {
         return CU(cuMemcpyHtoDAsync_v2)(static_cast<CUdeviceptr>(v.buffer), static_cast<const void*>(v.host),
                                         size_t{256}, other(v));
     }},
    {"cuLaunchKernel_other_stream", [](Victims& v) { return launch_fill(other(v), v.buffer, 1); }},
    {"cuLaunchKernel_legacy", [](Victims& v) { return launch_fill(nullptr, v.buffer, 1); }},
    {"cuCtxSynchronize", [](Victims&) { return CU(cuCtxSynchronize)(); }},
    {"cuStreamSynchronize_legacy", [](Victims&) { return CU(cuStreamSynchronize)(nullptr); }},
    {"cuStreamSynchronize_other_stream", [](Victims& v) { return CU(cuStreamSynchronize)(other(v)); }},
    {"cuStreamQuery_other_stream", [](Victims& v) { return CU(cuStreamQuery)(other(v)); }},
    {"cuEventQuery", [](Victims& v) { return CU(cuEventQuery)(static_cast<CUevent>(v.event)); }},
    {"cuEventSynchronize", [](Victims& v) { return CU(cuEventSynchronize)(static_cast<CUevent>(v.event)); }},
    {"cuEventRecord_other_stream",
     [](Victims& v) { return CU(cuEventRecord)(static_cast<CUevent>(v.event), other(v)); }},
    {"cuEventCreate",
     [](Victims&) {
         CUevent event = nullptr;
         const CUresult code = CU(cuEventCreate)(&event, 0u);
         if (code == CUDA_SUCCESS)
             CU(cuEventDestroy_v2)(event);
         return code;
     }},
    {"cuStreamCreate",
     [](Victims&) {
         CUstream stream = nullptr;
         const CUresult code = CU(cuStreamCreate)(&stream, 1u);
         if (code == CUDA_SUCCESS)
             CU(cuStreamDestroy_v2)(stream);
         return code;
     }},
    {"cuStreamBeginCapture_other_stream",
     [](Victims& v) {
         const CUresult code = CU(cuStreamBeginCapture_v2)(other(v), CU_STREAM_CAPTURE_MODE_RELAXED);
         return code == CUDA_SUCCESS ? end(v.other) : code;
     }},
    {"cuModuleLoadData",
     [](Victims&) {
         // Left loaded: the unload is a question of its own.
         CUmodule module = nullptr;
         return CU(cuModuleLoadData)(&module, static_cast<const void*>(ptx));
     }},
    {"cuModuleUnload", [](Victims& v) { return gone(v.module, CU(cuModuleUnload)(v.module)); }},
    {"cuGraphDestroy", [](Victims& v) { return gone(v.spare, CU(cuGraphDestroy)(v.spare)); }},
    {"cuStreamDestroy", [](Victims& v) { return gone(v.spare_stream, CU(cuStreamDestroy_v2)(v.spare_stream)); }},
    {"cuGraphInstantiate",
     [](Victims& v) {
         CUgraphExec exec = nullptr;
         const CUresult code = CU(cuGraphInstantiateWithFlags)(&exec, static_cast<CUgraph>(v.graph), 0ull);
         if (code == CUDA_SUCCESS)
             CU(cuGraphExecDestroy)(exec);
         return code;
     }},
    {"cuGraphLaunch_other_stream", [](Victims& v) { return CU(cuGraphLaunch)(v.exec, other(v)); }},
    {"cuGraphExecDestroy", [](Victims& v) { return gone(v.exec, CU(cuGraphExecDestroy)(v.exec)); }},
    {"cuPointerGetAttribute",
     [](Victims& v) {
         unsigned long long id = 0;
         return CU(cuPointerGetAttribute)(static_cast<void*>(&id), CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                          static_cast<CUdeviceptr>(v.buffer));
     }},
};

constexpr const char* mode_names[] = {"global", "thread_local", "relaxed"};

CUresult relaxed(Victims& v, const Question& question) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    MUST(CU(cuThreadExchangeStreamCaptureMode)(&mode));
    const CUresult code = question.ask(v);
    MUST(CU(cuThreadExchangeStreamCaptureMode)(&mode));
    return code;
}

enum class Who { same, other, same_relaxed, other_relaxed };
constexpr const char* who_names[] = {"same_thread", "other_thread", "same_thread_relaxed", "other_thread_relaxed"};

void answer(Out& out, const Question& question, CUstreamCaptureMode mode, Who who, unsigned stream_flags) {
    Victims victims;
    const Stream stream(stream_flags);
    begin(stream, mode);
    CUresult code = CUDA_SUCCESS;
    auto ask = [&] {
        const bool exchanged = who == Who::same_relaxed || who == Who::other_relaxed;
        code = exchanged ? relaxed(victims, question) : question.ask(victims);
    };
    if (who == Who::other || who == Who::other_relaxed) {
        on_other_thread(ask);
    } else {
        ask();
    }
    out("call", code);
    out("next", launch_fill(stream, victims.buffer, 1));
    out("end", end(stream));
}

/// One probe per question, mode and thread; blocking streams matter for the legacy stream alone.
const bool registered = [] {
    for (const Question& question : questions) {
        for (const int mode : {0, 1, 2}) {
            for (const Who who : {Who::same, Who::other, Who::same_relaxed, Who::other_relaxed}) {
                const std::string name = std::string("capture.") + question.name + "." + mode_names[mode] + "." +
                                         who_names[static_cast<int>(who)];
                Register(name, [&question, mode, who](Out& out) {
                    answer(out, question, static_cast<CUstreamCaptureMode>(mode), who, CU_STREAM_NON_BLOCKING);
                });
                const std::string_view asked = question.name;
                if (asked != "cuLaunchKernel_legacy" && asked != "cuStreamSynchronize_legacy" &&
                    asked != "cuMemcpyDtoH")
                    continue;
                Register(name + ".blocking", [&question, mode, who](Out& out) {
                    answer(out, question, static_cast<CUstreamCaptureMode>(mode), who, CU_STREAM_DEFAULT);
                });
            }
        }
    }
    return true;
}();

}  // namespace
