// SPDX-License-Identifier: Apache-2.0
//
// When the session begins and ends, and what all of its files use.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "config/settings.h"
#include "config/version.h"
#include "driver/api.h"
#include "heap/heap.h"
#include "liveness/partial_arrays.h"
#include "log/log.h"
#include "session/annotation.h"
#include "session/session.h"
#include "session/state.h"
#include "trace/describe.h"
#include "trace/native_stack.h"
#include "trace/python_stack.h"
#include "trace/quiet_scope.h"
#include "trace/stack_room.h"

extern char** environ;

namespace keepgraph::session {

std::atomic<std::uint64_t> unknown_launches{0};
std::atomic<std::size_t> execs_without_edges{0};
std::atomic<std::size_t> dead_allocations{0};
std::atomic<std::size_t> dead_unclaimed{0};
std::atomic<bool> record_all_allocations{false};

namespace {

std::atomic<Session*> the_session{nullptr};

// Threads that are inside go on with the session until they ask for its lock; it is never freed.
void switch_off(const char* what) noexcept {
    static std::atomic<bool> said{false};
    the_session.store(nullptr, std::memory_order_release);
    char text[100];
    std::snprintf(text, sizeof text, "out of memory in %s: nothing is checked from here on", what);
    log::once(said, text);
}

void in_child() noexcept {
    the_session.store(nullptr, std::memory_order_release);
    heap::abandon_in_child();
}

}  // namespace

Session* current() noexcept {
    return the_session.load(std::memory_order_acquire);
}

void guarded_call(const char* what, void (*work)(Session&, void*), void* context) noexcept {
    Session* const session = current();
    if (session == nullptr)
        return;
    struct Call {
        const char* what;
        void (*work)(Session&, void*);
        void* context;
        Session* session;
    } call{what, work, context, session};
    const trace::QuietScope quiet;
    const bool ran = trace::run_with_room(
        [](void* opaque) {
            auto& run = *static_cast<Call*>(opaque);
            try {
                run.work(*run.session, run.context);
            } catch (...) {
                switch_off(run.what);
            }
        },
        &call);
    if (!ran)
        switch_off(what);
}

Event here(Session& session, const char* call) {
    Event event;
    event.call = call;
    event.runtime_call = runtime_call;
    event.time = std::chrono::duration<double>(std::chrono::steady_clock::now() - session.began).count();
    event.thread = trace::thread_id();
    event.thread_name = trace::thread_name();
    if (session.settings.stacks == config::Stacks::none) {
        event.stack_missing = "not recorded (KEEPGRAPH_STACKS=none)";
        return event;
    }
    trace::NativeStack native;
    if (trace::on_side_stack())
        native.count = 0;
    else
        trace::capture_native(native);
    const trace::PythonStack python = trace::capture_python();
    if (native.count == 0 && python.frames.empty()) {
        event.stack_missing = trace::on_side_stack() ? "not recorded (the thread's own stack has no room for it)"
                                                     : "not recorded (no unwind tables)";
        return event;
    }
    const auto interned = session.stacks.intern(native, python);
    event.stack = interned.id;
    if (interned.id == 0)
        event.stack_missing = "not recorded (too many different stacks)";
    if (interned.is_new)
        session.recording.stack(interned.id, native, python);
    return event;
}

namespace {

void begin() noexcept {
    try {
        auto session = std::make_unique<Session>();
        std::vector<config::Problem> problems;
        session->settings = config::parse([](const char* name) { return std::getenv(name); }, problems);
        config::find_unknown(environ, problems);
        log::set_level(session->settings.log);
        for (const auto& problem : problems)
            log::line(config::to_text(problem));
        if (!session->settings.check_inputs && session->settings.out.empty())
            return;
        session->recording.configure(session->settings, session->began);
        record_all_allocations.store(session->settings.stacks == config::Stacks::all, std::memory_order_relaxed);
        liveness::add_partial_arrays(session->settings.partial_arrays);
        // A forked child inherits locks in any state and a context it cannot use: it is not observed.
        if (pthread_atfork(nullptr, nullptr, in_child) != 0)
            throw std::bad_alloc();
        (void)::at_quick_exit([] { finish(); });  // quick_exit runs no library destructor
        if (session->settings.coverage)
            session->recording.open();
        log::say(config::LogLevel::info,
                 "version " + std::string(config::version) + " watches process " + std::to_string(session->process));
        the_session.store(session.release(), std::memory_order_release);
    } catch (...) {
        switch_off("start");
    }
}

}  // namespace

void loaded() noexcept {
    log::remember_stderr();
}

void start() noexcept {
    // Threads that initialise CUDA at the same time wait: none may launch a graph before the session counts.
    static std::once_flag once;
    std::call_once(once, begin);
}

void notice(Session& session, const std::string& text) {
    say(session, config::LogLevel::warn, [&] { return text; });
    session.recording.event("notice", {{"text", text}});
}

void code_unloading() noexcept {
    guarded("unload", [](Session& session) { session.functions.forget(); });
}

namespace {

std::size_t kept_back(const Session& session, config::Grade grade) {
    return session.kept_back[static_cast<std::size_t>(grade)];
}

report::Json kept_back_json(const Session& session) {
    report::Json keys = report::Json::object();
    for (const config::Grade grade : {config::Grade::likely, config::Grade::possible})
        if (const std::size_t number = kept_back(session, grade); number > 0)
            keys[config::to_string(grade)] = number;
    return keys;
}

}  // namespace

void finish() noexcept {
    guarded("summary", [](Session& session) {
        // A child that was made by a bare system call, past the handlers of fork, has copied the session, and its lock
        // in whatever state it was.
        if (session.process != ::getpid())
            return;
        const Locked lock(session);
        if (session.finished)
            return;
        session.finished = true;
        if (session.settings.coverage)
            record_coverage(session);
        if (session.graphs == 0)
            return;
        std::uint64_t replays = session.retired_replays + unknown_launches.load();
        for (const auto& [number, exec] : session.by_number) {
            const std::uint64_t total = exec->launches->total();
            replays += total;
            if (session.recording.wanted())
                session.recording.event("living", {{"graph", number}, {"replays", total}, {"updates", exec->updates}});
            if (exec->has_file && (exec->replays_in_file != total || exec->findings_in_file != exec->findings_seen))
                write_graph_file(session, *exec);
        }
        const auto count = [](auto n, const char* word) {
            return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
        };
        std::string why;
        if (session.opaque > 0)
            why = "nodes whose memory cannot be read";
        if (session.recording.wanted()) {
            report::Json keys{{"graphs", session.graphs},
                              {"replays", replays},
                              {"inputs", session.inputs},
                              {"opaque", session.opaque}};
            if (!why.empty())
                keys["opaque_reason"] = why;
            keys["findings"] = session.findings;
            if (report::Json not_shown = kept_back_json(session); !not_shown.empty())
                keys["not_shown"] = std::move(not_shown);
            session.recording.event("summary", std::move(keys));
        }
        const std::string folder = session.recording.folder();
        if (!session.settings.quiet)
            log::line(count(session.graphs, "graph") + ", " + count(replays, "replay") + "; " +
                      count(session.inputs, "input") + " checked, " + std::to_string(session.opaque) + " opaque" +
                      (why.empty() ? "" : " (" + why + ")") + "; " + count(session.findings, "finding") +
                      config::not_shown_text(kept_back(session, config::Grade::likely),
                                             kept_back(session, config::Grade::possible)) +
                      (folder.empty() ? "" : "; " + folder));
    });
}

}  // namespace keepgraph::session
