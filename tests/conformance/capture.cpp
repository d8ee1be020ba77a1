// SPDX-License-Identifier: Apache-2.0
// The life of a capture: forks and joins, ends that fail, information, the capturing stream itself.
#include "fixture.h"

using namespace conformance;

namespace {

CUresult record(CUevent event, CUstream stream) {
    return CU(cuEventRecord)(event, stream);
}
CUresult wait(CUstream stream, CUevent event) {
    return CU(cuStreamWaitEvent)(stream, event, 0u);
}

long long status_of(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult code = CU(cuStreamIsCapturing)(stream, &status);
    return code != CUDA_SUCCESS ? -static_cast<long long>(code) : static_cast<long long>(status);
}

}  // namespace

PROBE("capture_life.fork_and_join") {
    const Stream a, b;
    const Event fork, join;
    const Buffer x, y;
    begin(a);
    out("launch", launch_fill(a, x, 1));
    out("record", record(fork, a));
    out("wait", wait(b, fork));
    out("b_status", status_of(b));
    out("launch_b", launch_fill(b, y, 2));
    out("launch_a", launch_fill(a, x, 3));
    out("record_b", record(join, b));
    out("wait_a", wait(a, join));
    out("launch_last", launch_fill(a, x, 4));
    CUgraph graph = nullptr;
    out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(a), &graph));
    out("b_status", status_of(b));
    out("nodes", static_cast<long long>(node_count(graph)));
    size_t edges = 0, roots = 0;
    MUST(CU(cuGraphGetEdges)(graph, nullptr, nullptr, &edges));
    MUST(CU(cuGraphGetRootNodes)(graph, nullptr, &roots));
    out("edges", static_cast<long long>(edges));
    out("roots", static_cast<long long>(roots));
    CU(cuGraphDestroy)(graph);
}
PROBE("capture_life.unjoined") {
    const Stream a, b;
    const Event fork;
    const Buffer x;
    begin(a);
    MUST(launch_fill(a, x, 1));
    MUST(record(fork, a));
    MUST(wait(b, fork));
    MUST(launch_fill(b, x, 2));
    CUgraph graph = reinterpret_cast<CUgraph>(&graph);
    out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(a), &graph));
    out("graph_is_null", graph == nullptr);
    out("a_status", status_of(a));
    out("b_status", status_of(b));
    begin(a);
    out("again", end(a));
}
PROBE("capture_life.fork_without_work") {
    const Stream a, b;
    const Event fork;
    const Buffer x;
    begin(a);
    MUST(launch_fill(a, x, 1));
    MUST(record(fork, a));
    MUST(wait(b, fork));
    out("end", end(a));
}
PROBE("capture_life.end_on_the_fork") {
    const Stream a, b;
    const Event fork;
    const Buffer x;
    begin(a);
    MUST(launch_fill(a, x, 1));
    MUST(record(fork, a));
    MUST(wait(b, fork));
    out("end_b", end(b));
    out("end_a", end(a));
}
PROBE("capture_life.end_on_other_thread") {
    for (const auto mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        const Stream stream;
        begin(stream, mode);
        CUresult code = CUDA_SUCCESS;
        on_other_thread([&] { code = end(stream); });
        out("other_thread", code);
        out("status", status_of(stream));
        out("own", end(stream));
    }
}
PROBE("capture_life.event_from_outside") {
    const Stream a, b;
    const Event event;
    MUST(record(event, b));
    begin(a);
    out("wait", wait(a, event));
    out("end", end(a));
}
PROBE("capture_life.event_never_recorded") {
    const Stream a;
    const Event event;
    begin(a);
    out("wait", wait(a, event));
    out("end", end(a));
}
PROBE("capture_life.captured_event") {
    const Stream a, b;
    const Event event;
    const Buffer x;
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    MUST(launch_fill(a, x, 1));
    MUST(record(event, a));
    out("query", CU(cuEventQuery)(static_cast<CUevent>(event)));
    out("synchronize", CU(cuEventSynchronize)(static_cast<CUevent>(event)));
    out("launch", launch_fill(a, x, 1));
    out("end", end(a));
    out("query_after", CU(cuEventQuery)(static_cast<CUevent>(event)));
    out("wait_after", wait(b, event));
    out("record_again", record(event, b));
    out("synchronize_again", CU(cuEventSynchronize)(static_cast<CUevent>(event)));
}
PROBE("capture_life.captured_event_after_a_good_end") {
    const Stream a, b;
    const Event event;
    const Buffer x;
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    MUST(launch_fill(a, x, 1));
    MUST(record(event, a));
    out("end", end(a));
    out("query", CU(cuEventQuery)(static_cast<CUevent>(event)));
    out("wait", wait(b, event));
    out("status", status_of(b));
}
PROBE("capture_life.two_captures_meet") {
    const Stream a, b;
    const Event event;
    const Buffer x;
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    begin(b, CU_STREAM_CAPTURE_MODE_RELAXED);
    MUST(launch_fill(a, x, 1));
    MUST(record(event, a));
    out("wait", wait(b, event));
    out("end_a", end(a));
    out("end_b", end(b));
}
PROBE("capture_life.the_stream_itself") {
    const Buffer x;
    for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        const Stream stream;
        begin(stream, mode);
        out("synchronize", CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
        out("launch", launch_fill(stream, x, 1));
        out("end", end(stream));
        begin(stream, mode);
        out("query", CU(cuStreamQuery)(static_cast<CUstream>(stream)));
        out("launch", launch_fill(stream, x, 1));
        out("status", status_of(stream));
        out("end", end(stream));
        out("status", status_of(stream));
    }
}
PROBE("capture_life.stream_destroyed") {
    CUstream stream = nullptr;
    MUST(CU(cuStreamCreate)(&stream, 1u));
    begin(stream);
    out("destroy", CU(cuStreamDestroy_v2)(stream));
    CUdeviceptr p = 0;
    const CUresult code = CU(cuMemAlloc_v2)(&p, size_t{256});
    out("alloc_after", code);
    if (code == CUDA_SUCCESS)
        CU(cuMemFree_v2)(p);
}
PROBE("capture_life.legacy_asked_while_blocking_captures") {
    const Stream stream(CU_STREAM_DEFAULT);
    begin(stream);
    out("status_of_legacy", status_of(nullptr));
    out("status", status_of(stream));
    out("end", end(stream));
    const Stream other;
    begin(other);
    out("status_of_legacy", status_of(nullptr));
    out("end", end(other));
}
PROBE("capture_life.info") {
    const Stream stream;
    const Buffer x;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    cuuint64_t id = 0, again = 0;
    out("before", CU(cuStreamGetCaptureInfo)(static_cast<CUstream>(stream), &status, &id));
    out("status", status);
    begin(stream);
    MUST(launch_fill(stream, x, 1));
    out("v1", CU(cuStreamGetCaptureInfo)(static_cast<CUstream>(stream), &status, &id));
    out("status", status);
    out("has_id", id != 0);
    CUgraph graph = nullptr;
    const CUgraphNode* nodes = nullptr;
    size_t count = 0;
    out("v2", CU(cuStreamGetCaptureInfo_v2)(static_cast<CUstream>(stream), &status, &again, &graph, &nodes, &count));
    out("same_id", id == again);
    out("dependencies", static_cast<long long>(count));
    out("nodes", static_cast<long long>(node_count(graph)));
    const CUgraphEdgeData* edges = nullptr;
    out("v3",
        CU(cuStreamGetCaptureInfo_v3)(static_cast<CUstream>(stream), &status, &again, &graph, &nodes, &edges, &count));
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    MUST(CU(cuGraphNodeGetType)(nodes[0], &type));
    out("type", type);
    out("destroy_graph", CU(cuGraphDestroy)(graph));
    out("end", end(stream));
    begin(stream);
    MUST(CU(cuStreamGetCaptureInfo)(static_cast<CUstream>(stream), &status, &again));
    out("other_id", id != again);
    out("end", end(stream));
}
PROBE("capture_life.update_dependencies") {
    const Stream stream;
    const Buffer x;
    begin(stream);
    MUST(launch_fill(stream, x, 1));
    MUST(launch_fill(stream, x, 2));
    out("set_none", CU(cuStreamUpdateCaptureDependencies)(static_cast<CUstream>(stream), nullptr, size_t{0}, 1u));
    out("flags", CU(cuStreamUpdateCaptureDependencies)(static_cast<CUstream>(stream), nullptr, size_t{0}, 9u));
    MUST(launch_fill(stream, x, 3));
    CUgraph graph = nullptr;
    out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    size_t edges = 0, roots = 0;
    if (graph != nullptr) {
        MUST(CU(cuGraphGetEdges)(graph, nullptr, nullptr, &edges));
        MUST(CU(cuGraphGetRootNodes)(graph, nullptr, &roots));
        CU(cuGraphDestroy)(graph);
    }
    out("edges", static_cast<long long>(edges));
    out("roots", static_cast<long long>(roots));
    out("no_capture", CU(cuStreamUpdateCaptureDependencies)(static_cast<CUstream>(stream), nullptr, size_t{0}, 1u));
}
PROBE("capture_life.exchange_mode") {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    out("code", CU(cuThreadExchangeStreamCaptureMode)(&mode));
    out("was", mode);
    mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    out("code", CU(cuThreadExchangeStreamCaptureMode)(&mode));
    out("was", mode);
    mode = static_cast<CUstreamCaptureMode>(5);
    out("bad", CU(cuThreadExchangeStreamCaptureMode)(&mode));
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    out("back", CU(cuThreadExchangeStreamCaptureMode)(&mode));
    out("was", mode);
}
PROBE("capture_life.thread_mode") {
    // The calling thread's own mode decides what it respects.
    const Stream stream;
    for (const auto capture : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
        begin(stream, capture);
        CUresult code = CUDA_SUCCESS;
        on_other_thread([&] {
            CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            MUST(CU(cuThreadExchangeStreamCaptureMode)(&mode));
            CUdeviceptr p = 0;
            code = CU(cuMemAlloc_v2)(&p, size_t{256});
            if (code == CUDA_SUCCESS)
                CU(cuMemFree_v2)(p);
        });
        out("thread_local_thread", code);
        out("end", end(stream));
    }
}
PROBE("capture_life.external_events") {
    const Stream stream;
    const Event event;
    out("record_outside", CU(cuEventRecordWithFlags)(static_cast<CUevent>(event), static_cast<CUstream>(stream), 1u));
    out("wait_outside", CU(cuStreamWaitEvent)(static_cast<CUstream>(stream), static_cast<CUevent>(event), 1u));
    begin(stream);
    out("record", CU(cuEventRecordWithFlags)(static_cast<CUevent>(event), static_cast<CUstream>(stream), 1u));
    out("wait", CU(cuStreamWaitEvent)(static_cast<CUstream>(stream), static_cast<CUevent>(event), 1u));
    CUgraph graph = nullptr;
    MUST(CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    CUgraphNode nodes[2] = {};
    size_t count = 2;
    MUST(CU(cuGraphGetNodes)(graph, nodes, &count));
    out("nodes", static_cast<long long>(count));
    for (size_t i = 0; i < count; ++i) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        MUST(CU(cuGraphNodeGetType)(nodes[i], &type));
        CUevent found = nullptr;
        out("type", type);
        out("get", type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? CU(cuGraphEventRecordNodeGetEvent)(nodes[i], &found)
                                                           : CU(cuGraphEventWaitNodeGetEvent)(nodes[i], &found));
        out("same_event", found == static_cast<CUevent>(event));
    }
    CU(cuGraphDestroy)(graph);
}
PROBE("capture_life.memory_nodes") {
    const Stream stream;
    begin(stream);
    CUdeviceptr p = 0;
    out("alloc", CU(cuMemAllocAsync)(&p, size_t{256}, static_cast<CUstream>(stream)));
    out("launch", launch_fill(stream, p, 1));
    out("free", CU(cuMemFreeAsync)(p, static_cast<CUstream>(stream)));
    CUgraph graph = nullptr, clone = nullptr;
    out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("nodes", static_cast<long long>(node_count(graph)));
    out("clone", CU(cuGraphClone)(&clone, graph));
    CUgraphExec first = nullptr, second = nullptr;
    out("instantiate", CU(cuGraphInstantiateWithFlags)(&first, graph, 0ull));
    out("second", CU(cuGraphInstantiateWithFlags)(&second, graph, 0ull));
    out("launch", CU(cuGraphLaunch)(first, static_cast<CUstream>(stream)));
    out("synchronize", CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    out("destroy", CU(cuGraphExecDestroy)(first));
    out("then", CU(cuGraphInstantiateWithFlags)(&second, graph, 0ull));
    CU(cuGraphExecDestroy)(second);
    out("destroy_graph", CU(cuGraphDestroy)(graph));
}
PROBE("capture_life.graph_launch") {
    const Buffer x;
    Graph inner;
    inner.fill(x, 4);
    const Exec exec(inner);
    for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        const Stream stream;
        begin(stream, mode);
        out("launch", CU(cuGraphLaunch)(static_cast<CUgraphExec>(exec), static_cast<CUstream>(stream)));
        CUgraph graph = nullptr;
        out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
        if (graph == nullptr)
            continue;
        CUgraphNode node = nullptr;
        size_t count = 1;
        MUST(CU(cuGraphGetNodes)(graph, &node, &count));
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        MUST(CU(cuGraphNodeGetType)(node, &type));
        out("type", type);
        CU(cuGraphDestroy)(graph);
    }
}
PROBE("capture_life.free_between_use_and_end") {
    const Stream stream;
    const Buffer result;
    Buffer input;
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUdeviceptr in = input, to = result;
    int n = 64;
    void* parameters[] = {&in, &to, &n};
    out("launch", CU(cuLaunchKernel)(kernel("_Z8kg_twiceIfEvPKT_PS0_i"), 1u, 1u, 1u, 64u, 1u, 1u, 0u,
                                     static_cast<CUstream>(stream), parameters, nullptr));
    input.free();
    CUgraph graph = nullptr;
    out("end", CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    const Exec exec(graph);
    out("run", exec.run());
    CU(cuGraphDestroy)(graph);
}
