// SPDX-License-Identifier: Apache-2.0
//
// Open captures, and the templates that came out of them.
#include "driver/api.h"
#include "session/describe.h"
#include "session/execs.h"
#include "session/session.h"
#include "trace/describe.h"

namespace keepgraph::session {
namespace {

using TemplateNode = decltype(Session::templates)::node_type;
using CaptureNode = decltype(Session::captures)::node_type;

/// The entry of a handle that is being destroyed, or null. It leaves before the real call, since another thread can get
/// the same handle before that returns.
template <class Map>
void* take_out(const char* what, Map Session::*map, const typename Map::key_type& key) noexcept {
    void* leaving = nullptr;
    guarded(what, [&](Session& session) {
        const Locked lock(session);
        if (auto node = (session.*map).extract(key); !node.empty())
            leaving = new typename Map::node_type(std::move(node));
    });
    return leaving;
}

CaptureKey key_of(CUstream stream) {
    if (stream == nullptr)
        stream = CU_STREAM_PER_THREAD;
    return {stream, stream == CU_STREAM_PER_THREAD ? trace::thread_id() : 0};
}

const char* mode_name(CUstreamCaptureMode mode) {
    switch (mode) {
        case CU_STREAM_CAPTURE_MODE_GLOBAL:
            return "global";
        case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
            return "thread_local";
        case CU_STREAM_CAPTURE_MODE_RELAXED:
            return "relaxed";
    }
    return "unknown";
}

}  // namespace

void capture_began(const char* call, CUstream stream, CUstreamCaptureMode mode) noexcept {
    guarded("capture", [&](Session& session) {
        auto capture = std::make_shared<Capture>();
        capture->mode = mode;
        capture->began = here(session, call);
        const Locked lock(session);
        capture->number = ++session.captures_begun;
        session.captures.insert_or_assign(key_of(stream), std::move(capture));
    });
}

void capture_ended(const char* call, CUstream stream, CUresult result, CUgraph graph) noexcept {
    guarded("capture", [&](Session& session) {
        const bool recorded = session.recording.wanted();
        const Event end = recorded ? here(session, call) : Event{};
        const Locked lock(session);
        const auto found = session.captures.find(key_of(stream));
        // A stream that never captured fails to end; nothing is known of it, and nothing is lost.
        if (found == session.captures.end())
            return;
        const CapturePtr capture = found->second;
        session.captures.erase(found);
        unsigned template_number = 0;
        if (result == CUDA_SUCCESS && graph != nullptr) {
            Template& made = session.templates[graph];
            made = Template{};
            made.number = template_number = ++session.templates_seen;
            made.capture = capture;
        }
        say(session, config::LogLevel::debug, [&] {
            return "capture " + std::to_string(capture->number) + " (" + mode_name(capture->mode) + ") ended with " +
                   driver::result_name(result) +
                   (template_number != 0 ? ": template " + std::to_string(template_number) : "");
        });
        if (!recorded)
            return;
        report::Json keys{{"capture", capture->number},
                          {"result", driver::result_name(result)},
                          {"mode", mode_name(capture->mode)},
                          {"stream", hex(stream)}};
        keys["began"] = capture->began.time;
        keys["begin_call"] = capture->began.call;
        if (capture->began.runtime_call != nullptr)
            keys["begin_runtime_call"] = capture->began.runtime_call;
        keys["begin_thread"] = capture->began.thread;
        keys["begin_thread_name"] = capture->began.thread_name;
        if (capture->began.stack != 0)
            keys["begin_stack"] = capture->began.stack;
        if (end.stack != 0)
            keys["end_stack"] = end.stack;
        if (template_number != 0)
            keys["template"] = template_number;
        session.recording.event("capture", std::move(keys));
    });
}

void* stream_destroying(CUstream stream) noexcept {
    return take_out("stream", &Session::captures, key_of(stream));
}

void stream_destroyed(void* leaving, bool succeeded) noexcept {
    if (leaving == nullptr)
        return;
    guarded("stream", [&](Session& session) {
        const std::unique_ptr<CaptureNode> node(static_cast<CaptureNode*>(leaving));
        const Locked lock(session);
        if (!succeeded)
            session.captures.insert(std::move(*node));
    });
}

void template_changing(CUgraph graph) noexcept {
    if (execs_without_edges.load(std::memory_order_acquire) == 0)
        return;
    guarded("template", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        const Locked lock(session);
        read_missing_edges(session, graph);
    });
}

void template_changing(CUgraphNode node) noexcept {
    if (execs_without_edges.load(std::memory_order_acquire) == 0)
        return;
    guarded("template", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        const Locked lock(session);
        graph::Place place;
        for (auto& [graph, known] : session.templates)
            for (Exec* const exec : known.without_edges)
                if (exec->snapshot.find(node, place)) {
                    read_missing_edges(session, graph);
                    return;
                }
    });
}

void* template_destroying(CUgraph graph) noexcept {
    return take_out("template", &Session::templates, graph);
}

void template_destroyed(void* leaving, bool succeeded) noexcept {
    if (leaving == nullptr)
        return;
    guarded("template", [&](Session& session) {
        const std::unique_ptr<TemplateNode> node(static_cast<TemplateNode*>(leaving));
        const Locked lock(session);
        if (!succeeded) {
            session.templates.insert(std::move(*node));
            return;
        }
        const Template& gone = node->mapped();
        execs_without_edges.fetch_sub(gone.without_edges.size(), std::memory_order_relaxed);
        if (session.recording.wanted())
            session.recording.event("destroy", {{"what", "template"}, {"template", gone.number}});
    });
}

}  // namespace keepgraph::session
