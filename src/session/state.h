// SPDX-License-Identifier: Apache-2.0
//
// The state of one process, shared by the files of this folder. Everything below Session::mutex is guarded by it.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "driver/cuda_types.h"
#include "graph/snapshot.h"
#include "liveness/scan.h"
#include "log/log.h"
#include "memory/seen.h"
#include "session/dead_memory.h"
#include "session/event.h"
#include "session/launch_table.h"
#include "session/recording.h"
#include "session/tracked.h"
#include "trace/stack_table.h"

namespace keepgraph::session {

struct Exec;

/// From BeginCapture to EndCapture of one sequence.
struct Capture {
    unsigned number = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    Event began;
};
using CapturePtr = std::shared_ptr<const Capture>;

/// A CUgraph that was captured or instantiated, while its handle lives.
struct Template {
    unsigned number = 0;
    CapturePtr capture;                ///< null: built by hand
    std::vector<Exec*> without_edges;  ///< execs made from it whose edges were not read yet
};

/// A CUgraphExec. Handles are used again, so everything is known by `number`.
struct Exec {
    struct Input {
        TrackedPtr tracked;
        unsigned references = 0;  ///< 0: this place is free
    };
    unsigned number = 0;
    unsigned template_number = 0;
    CUgraphExec handle = nullptr;
    CUgraph origin = nullptr;  ///< the template; only a key, it may be gone
    CapturePtr capture;
    Event instantiated;
    graph::Snapshot snapshot;
    std::vector<liveness::Reference> references;  ///< sorted by body and node; Reference::input counts in `inputs`
    std::vector<Input> inputs;
    std::unordered_map<const Tracked*, std::uint32_t> input_of;  ///< where each is
    std::vector<std::uint32_t> unused_inputs;
    std::unordered_set<std::uint64_t> counted;  ///< BUFFER_IDs that Session::inputs counts for this exec
    std::uint32_t opaque = 0;                   ///< nodes that could not be looked into
    LaunchRecord* launches = nullptr;
    unsigned long updates = 0;
    bool nodes_named = false;                          ///< single nodes were set, or switched, by their handles
    std::set<std::string> update_calls;                ///< whose first update was recorded
    std::set<std::uint64_t> reported;                  ///< allocations with a finding
    std::map<std::uint64_t, config::Grade> kept_back;  ///< allocations whose finding is below the grade of ON_FINDING
    std::vector<report::Json> findings;                ///< for the graph's file, the first most_in_file of them
    std::size_t findings_seen = 0;
    std::size_t more_said = 0;            ///< the last "and N more" on stderr
    std::size_t findings_at_attempt = 0;  ///< the same when the file was last tried, on a disk that may be full
    std::size_t findings_in_file = 0;     ///< how many had been seen when the file was written
    bool has_file = false;                ///< graph-<n>.json was written
    std::uint64_t replays_in_file = 0;
};

/// A stream that captures. The per-thread stream has one handle in all threads, so the thread belongs to the key.
struct CaptureKey {
    CUstream stream = nullptr;
    long thread = 0;
    auto operator<=>(const CaptureKey&) const = default;
};

struct Session {
    config::Settings settings;
    const pid_t process = ::getpid();
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    trace::StackTable stacks;
    graph::Functions functions;
    memory::Seen seen;
    Recording recording;

    std::mutex mutex;     ///< taken by Locked only
    bool broken = false;  ///< something was thrown while it was held
    std::map<CaptureKey, CapturePtr> captures;
    std::unordered_map<CUgraph, Template> templates;
    std::unordered_map<CUgraphExec, std::unique_ptr<Exec>> execs;
    std::map<unsigned, Exec*> by_number;  ///< oldest first, for KEEP's max
    std::set<const Exec*> allocating;     ///< that have memory nodes
    bool waits_for_graphs = false;        ///< something dead was not reported because one of those may bring it back
    LaunchTable table;
    std::map<std::uintptr_t, TrackedPtr> alive;  ///< referenced and alive, by base
    DeadMemory dead;
    struct Birth {
        std::uint64_t id = 0;  ///< BUFFER_ID
        Event event;
    };
    std::map<std::uintptr_t, Birth> births;                    ///< STACKS=all: of what lives, by base
    std::deque<std::pair<std::uintptr_t, Birth>> dead_births;  ///< of the last that died, with their bases
    std::size_t kept_bytes = 0;
    bool said_dropped = false;
    bool said_fate_unknown = false;
    unsigned dropped_up_to = 0;  ///< number of the last exec that lost its data to KEEP's max
    unsigned captures_begun = 0;
    unsigned templates_seen = 0;
    unsigned graphs = 0;
    unsigned findings = 0;
    std::array<std::size_t, 3> kept_back{};  ///< findings below the grade of ON_FINDING, by their grade
    std::size_t inputs = 0;                  ///< distinct allocations per exec, summed over execs
    std::size_t opaque = 0;
    std::uint64_t retired_replays = 0;  ///< of execs that are gone
    bool finished = false;

    struct Line {
        config::LogLevel level;
        std::string text;
    };
    std::vector<Line> unsaid;  ///< what whoever holds the lock prints when it lets go: stderr may be slow
};

/// Holds Session::mutex. What is thrown meanwhile, by want of memory, leaves maps, counts and pointers at odds with
/// each other: whoever gets the lock next is turned away by an exception, until the session is switched off.
///
/// Rejected: a roll-back in each function, which nobody would ever see at work; and memory put by for bad times, of
/// which no amount is enough for a graph of any size.
class Locked {
  public:
    explicit Locked(Session& session) : lock_(session.mutex), session_(session), thrown_(std::uncaught_exceptions()) {
        if (session.broken)
            throw Broken();
    }
    ~Locked() {
        if (std::uncaught_exceptions() > thrown_)
            session_.broken = true;
        const std::vector<Session::Line> lines = std::move(session_.unsaid);
        session_.unsaid.clear();
        lock_.unlock();
        for (const Session::Line& line : lines)
            log::say(line.level, line.text);
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    struct Broken : std::exception {};

    std::unique_lock<std::mutex> lock_;
    Session& session_;
    const int thrown_;
};

/// Says `text()` when the lock is let go, if that level is enabled. Under the lock.
template <class Text>
void say(Session& session, config::LogLevel level, Text text) {
    if (log::enabled(level))
        session.unsaid.push_back({level, text()});
}
/// Something that concerns the whole run: a warning, and an event of the recording. Under the lock.
void notice(Session& session, const std::string& text);

/// Launches of handles that no exec is known of.
extern std::atomic<std::uint64_t> unknown_launches;
/// Execs whose edges are wanted and not read; what is in Session::dead, and what of that has no younger owner. Read
/// without the lock to leave early.
extern std::atomic<std::size_t> execs_without_edges;
extern std::atomic<std::size_t> dead_allocations;
extern std::atomic<std::size_t> dead_unclaimed;
/// STACKS=all
extern std::atomic<bool> record_all_allocations;

/// The session, null before start(), in a forked child, and when everything is switched off, or had to be.
Session* current() noexcept;

/// Runs `work(session)` with room on the stack. When it throws, there was no memory: that is said, and the session is
/// switched off for good, since a session with holes would call freed memory sound. errno stays.
void guarded_call(const char* what, void (*work)(Session&, void*), void* context) noexcept;
template <class Work>
void guarded(const char* what, Work work) noexcept {
    guarded_call(
        what, [](Session& session, void* context) { (*static_cast<Work*>(context))(session); }, &work);
}

/// The event of the calling thread, now, with its stack. Never under the lock: it asks the loader.
Event here(Session& session, const char* call);

// graph_file.cpp
/// Writes or rewrites graph-<n>.json. Under the lock.
void write_graph_file(Session& session, Exec& exec);

// lookups.cpp
void record_coverage(Session& session);

// memory.cpp
/// The allocation of `found` as the session tracks it, dead when it is no more, which only the driver knows: its
/// address may be another one's by now. Under the lock; the caller holds a RelaxedCapture.
TrackedPtr track(Session& session, const memory::Allocation& found);
/// Session::dead as scans ask it. It takes the lock for each question, or, with `held`, is used under it.
///
/// Rejected: a copy of all that is dead, made before each scan: a program that frees 10000 buffers and sets 10000 nodes
/// would copy a hundred million entries.
class KnownDead final : public memory::Dead {
  public:
    enum class Lock : unsigned char { take, held };
    KnownDead(Session& session, Lock lock) : session_(session), lock_(lock) {}
    Held find(std::uintptr_t address, memory::Allocation& out) const override;

  private:
    Session& session_;
    const Lock lock_;
};
/// Whether `exec` refers to memory that is dead, switched off or not. Under the lock.
bool refers_to_dead(const Exec& exec) noexcept;
/// References of live execs may have a higher grade than when they were looked at. Under the lock.
void look_again(Session& session);
/// `exec` refers no more to what `input` names. Under the lock.
void untrack(Session& session, Exec& exec, Exec::Input& input);

}  // namespace keepgraph::session
