// SPDX-License-Identifier: Apache-2.0
// Success and error of the capture and look-up rows.
#include "fixture.h"

using namespace conformance;

PROBE("cuInit.success") {
    out("again", CU(cuInit)(0u));
}
PROBE("cuInit.error") {
    out("flags", CU(cuInit)(1u));
}

PROBE("cuGetProcAddress.success") {
    void* found = nullptr;
    out("code", CU(cuGetProcAddress)("cuInit", &found, 13000, 0));
    out("is_the_export", found == look_up("cuInit"));
}
PROBE("cuGetProcAddress.error") {
    void* found = nullptr;
    out("flags", CU(cuGetProcAddress)("cuInit", &found, 13000, 64));
}

PROBE("cuGetProcAddress_v2.success") {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    out("code", CU(cuGetProcAddress_v2)("cuInit", &found, 13000, 0, &status));
    out("status", status);
    out("is_the_export", found == look_up("cuInit"));
    found = nullptr;
    out("without_status", CU(cuGetProcAddress_v2)("cuInit", &found, 13000, 0, nullptr));
    out("is_the_export", found == look_up("cuInit"));
}
PROBE("cuGetProcAddress_v2.error") {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    out("flags", CU(cuGetProcAddress_v2)("cuInit", &found, 13000, 64, &status));
}

namespace {

// The _ptsz forms capture this thread's default stream.
const CUstream default_stream = nullptr;

template <class Begin>
void begin_and_end(Out& out, CUstream stream, Begin begin) {
    const Buffer buffer;
    out("begin", begin(stream));
    out("launch", launch_fill(stream, buffer, 1));
    CUgraph graph = nullptr;
    out("end", CU(cuStreamEndCapture)(stream, &graph));
    out("nodes", static_cast<long long>(node_count(graph)));
    CU(cuGraphDestroy)(graph);
}

/// A second begin on a stream that captures already, and what is left of the capture.
template <class Begin>
void begin_twice(Out& out, CUstream stream, Begin begin) {
    begin(stream);
    out("again", begin(stream));
    out("end", end(stream));
}

}  // namespace

PROBE("cuStreamBeginCapture.success") {
    const Stream stream;
    begin_and_end(out, stream, [](CUstream s) { return CU(cuStreamBeginCapture)(s); });
}
PROBE("cuStreamBeginCapture.error") {
    const Stream stream;
    begin_twice(out, stream, [](CUstream s) { return CU(cuStreamBeginCapture)(s); });
    out("legacy", CU(cuStreamBeginCapture)(default_stream));
}
PROBE("cuStreamBeginCapture_ptsz.success") {
    begin_and_end(out, CU_STREAM_PER_THREAD, [](CUstream) { return CU(cuStreamBeginCapture_ptsz)(default_stream); });
}
PROBE("cuStreamBeginCapture_ptsz.error") {
    begin_twice(out, CU_STREAM_PER_THREAD, [](CUstream) { return CU(cuStreamBeginCapture_ptsz)(default_stream); });
    out("legacy", CU(cuStreamBeginCapture_ptsz)(CU_STREAM_LEGACY));
}
PROBE("cuStreamBeginCapture_v2.success") {
    const Stream stream;
    for (const auto mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        begin_and_end(out, stream, [&](CUstream s) { return CU(cuStreamBeginCapture_v2)(s, mode); });
    }
}
PROBE("cuStreamBeginCapture_v2.error") {
    const Stream stream;
    begin_twice(out, stream, [](CUstream s) { return CU(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_GLOBAL); });
    out("legacy", CU(cuStreamBeginCapture_v2)(default_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    out("mode", CU(cuStreamBeginCapture_v2)(static_cast<CUstream>(stream), static_cast<CUstreamCaptureMode>(7)));
}
PROBE("cuStreamBeginCapture_v2_ptsz.success") {
    begin_and_end(out, CU_STREAM_PER_THREAD, [](CUstream) {
        return CU(cuStreamBeginCapture_v2_ptsz)(default_stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    });
}
PROBE("cuStreamBeginCapture_v2_ptsz.error") {
    out("legacy", CU(cuStreamBeginCapture_v2_ptsz)(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
    out("mode", CU(cuStreamBeginCapture_v2_ptsz)(default_stream, static_cast<CUstreamCaptureMode>(7)));
}

namespace {

template <class Begin>
void capture_into(Out& out, CUstream stream, Begin begin) {
    const Buffer buffer;
    Graph graph;
    const CUgraphNode first = graph.fill(buffer, 1);
    out("begin", begin(stream, graph, &first));
    out("launch", launch_fill(stream, buffer, 2));
    CUgraph same = nullptr;
    out("end", CU(cuStreamEndCapture)(stream, &same));
    out("same_graph", same == static_cast<CUgraph>(graph));
    size_t edges = 0;
    out("edges_call", CU(cuGraphGetEdges)(static_cast<CUgraph>(graph), nullptr, nullptr, &edges));
    out("edges", static_cast<long long>(edges));
}

}  // namespace

PROBE("cuStreamBeginCaptureToGraph.success") {
    const Stream stream;
    capture_into(out, stream, [](CUstream s, CUgraph graph, const CUgraphNode* node) {
        return CU(cuStreamBeginCaptureToGraph)(s, graph, node, nullptr, size_t{1}, CU_STREAM_CAPTURE_MODE_GLOBAL);
    });
}
PROBE("cuStreamBeginCaptureToGraph.error") {
    const Stream stream;
    out("null_graph", CU(cuStreamBeginCaptureToGraph)(static_cast<CUstream>(stream), nullptr, nullptr, nullptr,
                                                      size_t{0}, CU_STREAM_CAPTURE_MODE_GLOBAL));
    const Graph graph;
    out("legacy", CU(cuStreamBeginCaptureToGraph)(default_stream, static_cast<CUgraph>(graph), nullptr, nullptr,
                                                  size_t{0}, CU_STREAM_CAPTURE_MODE_GLOBAL));
}
PROBE("cuStreamBeginCaptureToGraph_ptsz.success") {
    capture_into(out, CU_STREAM_PER_THREAD, [](CUstream, CUgraph graph, const CUgraphNode* node) {
        return CU(cuStreamBeginCaptureToGraph_ptsz)(default_stream, graph, node, nullptr, size_t{1},
                                                    CU_STREAM_CAPTURE_MODE_GLOBAL);
    });
}
PROBE("cuStreamBeginCaptureToGraph_ptsz.error") {
    out("null_graph", CU(cuStreamBeginCaptureToGraph_ptsz)(default_stream, nullptr, nullptr, nullptr, size_t{0},
                                                           CU_STREAM_CAPTURE_MODE_GLOBAL));
}

PROBE("cuStreamEndCapture.success") {
    const Stream stream;
    begin(stream);
    CUgraph graph = nullptr;
    out("empty", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("nodes", static_cast<long long>(node_count(graph)));
    CU(cuGraphDestroy)(graph);
}
PROBE("cuStreamEndCapture.error") {
    const Stream stream;
    CUgraph graph = primary() != nullptr ? reinterpret_cast<CUgraph>(&graph) : nullptr;
    out("no_capture", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("graph_is_null", graph == nullptr);
    out("legacy", CU(cuStreamEndCapture)(default_stream, &graph));
}
PROBE("cuStreamEndCapture_ptsz.success") {
    begin(CU_STREAM_PER_THREAD);
    CUgraph graph = nullptr;
    out("empty", CU(cuStreamEndCapture_ptsz)(default_stream, &graph));
    CU(cuGraphDestroy)(graph);
}
PROBE("cuStreamEndCapture_ptsz.error") {
    CUgraph graph = nullptr;
    out("no_capture", CU(cuStreamEndCapture_ptsz)(default_stream, &graph));
}

PROBE("cuStreamDestroy_v2.success") {
    CUstream stream = nullptr;
    MUST(CU(cuStreamCreate)(&stream, 0u));
    out("code", CU(cuStreamDestroy_v2)(stream));
}
PROBE("cuStreamDestroy_v2.error") {
    out("null", CU(cuStreamDestroy_v2)(nullptr));
}
