// SPDX-License-Identifier: Apache-2.0
// Success and error of the RUNTIME rows. Handles are the driver's: cudart's are the same pointers.
#include "fixture.h"
#include "runtime.h"

using namespace conformance;

namespace {

const cudaStream_t default_stream = nullptr;
constexpr size_t too_much = size_t{1} << 50;

struct Block {
    Block() { MUST(RT(cudaMalloc)(&start, size_t{256})); }
    void* start = nullptr;
};

/// What a capture gave, destroyed at the end of the probe.
struct Graphs {
    ~Graphs() {
        if (captured != nullptr)
            CU(cuGraphDestroy)(captured);
    }
    cudaGraph_t captured = nullptr;
};

void launch_in(Out& out, CUstream stream, const Buffer& buffer) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    out("is_capturing", RT(cudaStreamIsCapturing)(stream, &status));
    out("status", status);
    out("launch", launch_fill(stream, buffer, 1));
}

}  // namespace

RUNTIME_PROBE("cudaMalloc.success") {
    void* p = nullptr;
    out("alloc", RT(cudaMalloc)(&p, size_t{256}));
    out("aligned", p != nullptr && reinterpret_cast<CUdeviceptr>(p) % 256 == 0);
    out("free", RT(cudaFree)(p));
}
RUNTIME_PROBE("cudaMalloc.error") {
    void* p = nullptr;
    out("too_much", RT(cudaMalloc)(&p, too_much));
    out("pointer_is_null", p == nullptr);
    out("all_ones", RT(cudaMalloc)(&p, ~size_t{0}));
}

RUNTIME_PROBE("cudaFree.success") {
    const Block block;
    out("free", RT(cudaFree)(block.start));
    out("null", RT(cudaFree)(nullptr));
}
RUNTIME_PROBE("cudaFree.error") {
    const Block block;
    out("interior", RT(cudaFree)(static_cast<char*>(block.start) + 4));
    MUST(RT(cudaFree)(block.start));
    out("twice", RT(cudaFree)(block.start));
    int not_ours = 0;
    out("host", RT(cudaFree)(&not_ours));
}

#define MODES \
    { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed }

RUNTIME_PROBE("cudaStreamBeginCapture.success") {
    const Buffer buffer;
    const Stream stream;
    for (const auto mode : MODES) {
        out("begin", RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), mode));
        launch_in(out, stream, buffer);
        out("end", end(stream));
    }
}
RUNTIME_PROBE("cudaStreamBeginCapture.error") {
    const Stream stream;
    MUST(RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), cudaStreamCaptureModeGlobal));
    out("again", RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), cudaStreamCaptureModeGlobal));
    out("end", end(stream));
    out("legacy", RT(cudaStreamBeginCapture)(default_stream, cudaStreamCaptureModeGlobal));
    out("legacy_handle", RT(cudaStreamBeginCapture)(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
    out("mode", RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), static_cast<cudaStreamCaptureMode>(7)));
}
RUNTIME_PROBE("cudaStreamBeginCapture_ptsz.success") {
    const Buffer buffer;
    for (const auto mode : MODES) {
        out("begin", RT(cudaStreamBeginCapture_ptsz)(default_stream, mode));
        launch_in(out, CU_STREAM_PER_THREAD, buffer);
        out("end", end(CU_STREAM_PER_THREAD));
    }
}
RUNTIME_PROBE("cudaStreamBeginCapture_ptsz.error") {
    MUST(RT(cudaStreamBeginCapture_ptsz)(default_stream, cudaStreamCaptureModeGlobal));
    out("again", RT(cudaStreamBeginCapture_ptsz)(default_stream, cudaStreamCaptureModeGlobal));
    out("end", end(CU_STREAM_PER_THREAD));
    out("legacy_handle", RT(cudaStreamBeginCapture_ptsz)(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
    out("mode", RT(cudaStreamBeginCapture_ptsz)(default_stream, static_cast<cudaStreamCaptureMode>(7)));
}

RUNTIME_PROBE("cudaStreamEndCapture.success") {
    const Buffer buffer;
    const Stream stream;
    MUST(RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), cudaStreamCaptureModeGlobal));
    MUST(launch_fill(stream, buffer, 1));
    Graphs graphs;
    out("end", RT(cudaStreamEndCapture)(static_cast<CUstream>(stream), &graphs.captured));
    out("nodes", static_cast<long long>(node_count(graphs.captured)));
}
RUNTIME_PROBE("cudaStreamEndCapture.error") {
    const Stream stream;
    int any = 0;
    auto graph = reinterpret_cast<cudaGraph_t>(&any);
    out("no_capture", RT(cudaStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("graph_is_null", graph == nullptr);
    out("legacy", RT(cudaStreamEndCapture)(default_stream, &graph));
    MUST(RT(cudaStreamBeginCapture)(static_cast<CUstream>(stream), cudaStreamCaptureModeGlobal));
    void* p = nullptr;
    out("alloc", RT(cudaMalloc)(&p, size_t{256}));
    graph = reinterpret_cast<cudaGraph_t>(&any);
    out("after_it", RT(cudaStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("graph_is_null", graph == nullptr);
}
RUNTIME_PROBE("cudaStreamEndCapture_ptsz.success") {
    MUST(RT(cudaStreamBeginCapture_ptsz)(default_stream, cudaStreamCaptureModeGlobal));
    Graphs graphs;
    out("empty", RT(cudaStreamEndCapture_ptsz)(default_stream, &graphs.captured));
    out("nodes", static_cast<long long>(node_count(graphs.captured)));
}
RUNTIME_PROBE("cudaStreamEndCapture_ptsz.error") {
    cudaGraph_t graph = nullptr;
    out("no_capture", RT(cudaStreamEndCapture_ptsz)(default_stream, &graph));
    out("legacy_handle", RT(cudaStreamEndCapture_ptsz)(cudaStreamLegacy, &graph));
}

RUNTIME_PROBE("cudaGraphLaunch.success") {
    const Buffer buffer;
    const Stream stream;
    Graph graph;
    graph.fill(buffer, 5);
    const Exec exec(graph);
    out("code", RT(cudaGraphLaunch)(static_cast<CUgraphExec>(exec), static_cast<CUstream>(stream)));
    out("synchronize", CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    out("result", static_cast<long long>(buffer.first()));
}
RUNTIME_PROBE("cudaGraphLaunch.error") {
    out("null", RT(cudaGraphLaunch)(nullptr, default_stream));
    const Stream stream;
    out("null_on_a_stream", RT(cudaGraphLaunch)(nullptr, static_cast<CUstream>(stream)));
    const Graph graph;
    const Exec exec(graph);
    begin(stream);
    out("in_a_capture", RT(cudaGraphLaunch)(static_cast<CUgraphExec>(exec), static_cast<CUstream>(stream)));
    out("end", end(stream));
}
RUNTIME_PROBE("cudaGraphLaunch_ptsz.success") {
    const Buffer buffer;
    Graph graph;
    graph.fill(buffer, 5);
    const Exec exec(graph);
    out("code", RT(cudaGraphLaunch_ptsz)(static_cast<CUgraphExec>(exec), default_stream));
    out("synchronize", CU(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
    out("result", static_cast<long long>(buffer.first()));
}
RUNTIME_PROBE("cudaGraphLaunch_ptsz.error") {
    out("null", RT(cudaGraphLaunch_ptsz)(nullptr, default_stream));
}

RUNTIME_PROBE("cudaGraphDestroy.success") {
    CUgraph graph = nullptr;
    MUST(CU(cuGraphCreate)(&graph, 0u));
    out("code", RT(cudaGraphDestroy)(graph));
}
RUNTIME_PROBE("cudaGraphDestroy.error") {
    out("null", RT(cudaGraphDestroy)(nullptr));
    Graph parent, child;
    child.empty();
    CUgraph inner = nullptr;
    MUST(CU(cuGraphChildGraphNodeGetGraph)(parent.child(child), &inner));
    out("of_a_child_node", RT(cudaGraphDestroy)(inner));
}

RUNTIME_PROBE("cudaGraphExecDestroy.success") {
    Graph graph;
    CUgraphExec exec = nullptr;
    MUST(CU(cuGraphInstantiateWithFlags)(&exec, static_cast<CUgraph>(graph), 0ull));
    out("code", RT(cudaGraphExecDestroy)(exec));
}
RUNTIME_PROBE("cudaGraphExecDestroy.error") {
    out("null", RT(cudaGraphExecDestroy)(nullptr));
}
