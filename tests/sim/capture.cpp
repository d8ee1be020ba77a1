// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <algorithm>

#include "context.h"
#include "function.h"
#include "graph.h"
#include "thread.h"

namespace keepgraph::sim {
namespace {

std::vector<std::shared_ptr<Capture>>& captures() {
    static auto* open = new std::vector<std::shared_ptr<Capture>>;
    return *open;
}

void finish(Capture& capture) {
    capture.over = true;
    for (Stream* stream : capture.streams) {
        stream->capture = nullptr;
        stream->after.clear();
    }
    if (capture.graph != nullptr)
        capture.graph->being_captured = false;
    std::erase_if(captures(), [&](const auto& open) { return open.get() == &capture; });
}

void drop_graph(Capture& capture) {
    if (capture.graph != nullptr && !capture.into_given_graph)
        destroy_graph(capture.graph);
    capture.graph = nullptr;
}

/// Nodes that nothing comes after must lie on the origin stream when the capture ends.
bool is_joined(const Capture& capture) {
    for (const Stream* stream : capture.streams) {
        if (stream == capture.origin)
            continue;
        for (const Dependency& dependency : stream->after) {
            const bool seen_by_origin =
                std::any_of(capture.origin->after.begin(), capture.origin->after.end(),
                            [&](const Dependency& other) { return other.node == dependency.node; });
            if (!seen_by_origin && dependency.node->before.empty())
                return false;
        }
    }
    return true;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, Graph* graph, std::vector<Dependency> after) {
    if (mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr)
        return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->id = next_id();
    capture->mode = mode;
    capture->thread = this_thread().id;
    capture->origin = stream;
    capture->graph = graph != nullptr ? graph : new_graph();
    capture->into_given_graph = graph != nullptr;
    capture->graph->being_captured = true;
    capture->streams.push_back(stream);
    captures().push_back(capture);
    stream->capture = capture;
    stream->after = std::move(after);
    return CUDA_SUCCESS;
}

CUresult end(CUstream handle, CUgraph* out) {
    const Locked lock;
    Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->legacy)
        return CUDA_ERROR_ILLEGAL_STATE;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (out != nullptr)
        *out = nullptr;
    if (capture == nullptr)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        invalidate(*capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    CUresult code = CUDA_SUCCESS;
    // A wrong thread's attempt ends the capture, it does not leave it to the right one.
    if (capture->thread != this_thread().id && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        code = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    } else if (capture->invalidated) {
        code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (!is_joined(*capture)) {
        code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    finish(*capture);
    if (code != CUDA_SUCCESS || out == nullptr) {  // a success without a place for the graph, as measured
        drop_graph(*capture);
        return code;
    }
    *out = handle_of<CUgraph>(capture->graph);
    return CUDA_SUCCESS;
}

CUresult begin_into(CUstream stream, CUgraph handle, const CUgraphNode* nodes, const CUgraphEdgeData* edges,
                    size_t count, CUstreamCaptureMode mode) {
    const Locked lock;
    auto* graph = find<Graph>(handle);
    if (graph == nullptr || (count != 0 && nodes == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph->being_captured)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<Dependency> after;
    for (size_t i = 0; i < count; ++i) {
        auto* node = find<Node>(nodes[i]);
        if (node == nullptr || node->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
        after.push_back({node, edges != nullptr ? edges[i] : CUgraphEdgeData{}});
    }
    return begin(stream, mode, graph, std::move(after));
}

CUstreamCaptureStatus status_of(const Stream& stream) {
    if (stream.capture == nullptr)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/// The legacy stream cannot be asked while a blocking stream captures; that harms no capture.
CUresult legacy_is_shy(const Stream* stream) {
    if (!stream->legacy)
        return CUDA_SUCCESS;
    for (const auto& capture : captures()) {
        for (const Stream* capturing : capture->streams) {
            if (capturing->context == stream->context && (capturing->flags & CU_STREAM_NON_BLOCKING) == 0) {
                return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            }
        }
    }
    return CUDA_SUCCESS;
}

CUresult info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
              const CUgraphEdgeData** edges, size_t* count) {
    if (status == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult code = legacy_is_shy(stream); code != CUDA_SUCCESS)
        return code;
    *status = status_of(*stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    stream->nodes_shown.clear();
    stream->edges_shown.clear();
    for (const Dependency& dependency : stream->after) {
        stream->nodes_shown.push_back(handle_of<CUgraphNode>(dependency.node));
        stream->edges_shown.push_back(dependency.edge);
    }
    if (id != nullptr)
        *id = stream->capture->id;
    if (graph != nullptr)
        *graph = handle_of<CUgraph>(stream->capture->graph);
    if (nodes != nullptr)
        *nodes = stream->nodes_shown.data();
    if (edges != nullptr)
        *edges = stream->edges_shown.data();
    if (count != nullptr)
        *count = stream->nodes_shown.size();
    return CUDA_SUCCESS;
}

CUresult update(CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count, unsigned flags) {
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count != 0 && nodes == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture == nullptr)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::vector<Dependency> after;
    if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
        after = stream->after;
    for (size_t i = 0; i < count; ++i) {
        auto* node = find<Node>(nodes[i]);
        if (node == nullptr || node->graph != stream->capture->graph)
            return CUDA_ERROR_INVALID_VALUE;
        after.push_back({node, edges != nullptr ? edges[i] : CUgraphEdgeData{}});
    }
    stream->after = std::move(after);
    return CUDA_SUCCESS;
}

}  // namespace

void invalidate(Capture& capture) {
    capture.invalidated = true;
}

CUresult unsafe_call() {
    const Thread& thread = this_thread();
    if (thread.mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    CUresult code = CUDA_SUCCESS;
    for (const auto& capture : captures()) {
        const bool own = capture->thread == thread.id && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        const bool global =
            thread.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!own && !global)
            continue;
        invalidate(*capture);
        code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return code;
}

CUresult check_context_synchronize(const Context* context) {
    CUresult code = CUDA_SUCCESS;
    for (const auto& capture : captures()) {
        if (capture->origin->context != context)
            continue;
        invalidate(*capture);
        code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return code;
}

CUresult check_legacy(const Stream* stream) {
    if (!stream->legacy)
        return CUDA_SUCCESS;
    CUresult code = CUDA_SUCCESS;
    for (const auto& capture : captures()) {
        for (const Stream* capturing : capture->streams) {
            if (capturing->context != stream->context || (capturing->flags & CU_STREAM_NON_BLOCKING) != 0)
                continue;
            invalidate(*capture);
            code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    return code;
}

CUresult check_observation(const Stream* stream) {
    if (stream->capture != nullptr) {
        const bool was_invalidated = stream->capture->invalidated;
        invalidate(*stream->capture);
        return was_invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (const CUresult code = check_legacy(stream); code != CUDA_SUCCESS)
        return code;
    return unsafe_call();
}

CUresult capture_work(Stream* stream, Work& work, bool* captured, Node** out) {
    *captured = stream->capture != nullptr;
    if (!*captured)
        return check_legacy(stream);
    if (stream->capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Node* node = append_node(stream->capture->graph, stream->after, std::move(work));
    stream->after = {{node, {}}};
    if (out != nullptr)
        *out = node;
    return CUDA_SUCCESS;
}

CUresult submit(CUstream handle, Work work) {
    SIM_CONTEXT(context);
    {
        const Locked lock;
        Stream* stream = stream_of(handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        bool captured;
        const CUresult code = capture_work(stream, work, &captured);
        if (captured || code != CUDA_SUCCESS)
            return code;
    }
    if (context->lost != CUDA_SUCCESS)
        return context->lost;
    return run(work);
}

CUresult join(Stream* stream, const Event* event) {
    if (event->capture == nullptr) {
        if (stream->capture == nullptr || !event->recorded)
            return CUDA_SUCCESS;
        // Work outside of the capture cannot be waited for by a node.
        invalidate(*stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    Capture& capture = *event->capture;
    if (capture.over)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture.invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->legacy) {
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture != nullptr && stream->capture != event->capture) {
        invalidate(capture);
        invalidate(*stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream->capture == nullptr) {
        stream->capture = event->capture;
        stream->after.clear();
        capture.streams.push_back(stream);
    }
    for (const Dependency& dependency : event->after) {
        const bool known = std::any_of(stream->after.begin(), stream->after.end(),
                                       [&](const Dependency& other) { return other.node == dependency.node; });
        if (!known)
            stream->after.push_back(dependency);
    }
    return CUDA_SUCCESS;
}

void leave_captures(Stream* stream) {
    if (stream->capture == nullptr)
        return;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture->origin == stream) {
        finish(*capture);
        drop_graph(*capture);
    } else {
        invalidate(*capture);
        std::erase(capture->streams, stream);
    }
}

}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuStreamBeginCapture(CUstream stream) {
    SIM_ENTER(cuStreamBeginCapture);
    const Locked lock;
    return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
}

SIM_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    SIM_ENTER(cuStreamBeginCapture_v2);
    const Locked lock;
    return begin(stream, mode, nullptr, {});
}

SIM_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                                const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
    SIM_ENTER(cuStreamBeginCaptureToGraph);
    return begin_into(stream, graph, dependencies, data, count, mode);
}

SIM_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    SIM_ENTER(cuStreamEndCapture);
    return end(stream, graph);
}

SIM_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    SIM_ENTER(cuStreamIsCapturing);
    if (status == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult code = legacy_is_shy(stream); code != CUDA_SUCCESS)
        return code;
    *status = status_of(*stream);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
    SIM_ENTER(cuStreamGetCaptureInfo);
    return info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

SIM_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                              CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
    SIM_ENTER(cuStreamGetCaptureInfo_v2);
    return info(stream, status, id, graph, dependencies, nullptr, count);
}

SIM_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                              CUgraph* graph, const CUgraphNode** dependencies,
                                              const CUgraphEdgeData** edges, size_t* count) {
    SIM_ENTER(cuStreamGetCaptureInfo_v3);
    return info(stream, status, id, graph, dependencies, edges, count);
}

SIM_EXPORT CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                                      unsigned int flags) {
    SIM_ENTER(cuStreamUpdateCaptureDependencies);
    return update(stream, dependencies, nullptr, count, flags);
}

SIM_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies,
                                                         const CUgraphEdgeData* edges, size_t count,
                                                         unsigned int flags) {
    SIM_ENTER(cuStreamUpdateCaptureDependencies_v2);
    return update(stream, dependencies, edges, count, flags);
}

SIM_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    SIM_ENTER(cuThreadExchangeStreamCaptureMode);
    // Any value is taken and given back, as by the real driver.
    if (mode == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::swap(this_thread().mode, *mode);
    return CUDA_SUCCESS;
}
