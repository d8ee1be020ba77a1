// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/settings.h"
#include "driver/api.h"
#include "liveness/scan.h"
#include "trace/describe.h"
#include "trace/native_stack.h"
#include "trace/python_stack.h"

extern char** environ;

namespace keepgraph::session {
namespace {

struct Event {
    std::string call;
    std::string thread_name;
    long thread = 0;
    trace::NativeStack native;
    trace::PythonStack python;
};

// An allocation that at least one live exec refers to, or did when it died.
struct Tracked {
    memory::Allocation allocation;
    bool dead = false;
    Event death;
    bool has_younger = false;
    memory::Allocation younger;
    Event birth;
};
using TrackedPtr = std::shared_ptr<Tracked>;

struct Exec {
    unsigned number = 0;
    std::vector<std::pair<liveness::Reference, TrackedPtr>> references;
    std::set<const Tracked*> reported;
    Event instantiated;
};

struct Session {
    config::Settings settings;
    std::mutex mutex;
    std::unordered_map<CUgraphExec, Exec> execs;
    std::map<std::uintptr_t, TrackedPtr> alive;      // by base
    std::multimap<std::uintptr_t, TrackedPtr> dead;  // by base
    unsigned graphs = 0;
    unsigned findings = 0;
    std::size_t inputs = 0;
    std::size_t unchecked = 0;
    bool finished = false;
};

// Frees are looked up under the lock only when this says that the base may be referred to. Counts never go down: an
// allocation that stops being tracked costs later frees of its base one look-up, which is cheaper than exact counting.
constexpr std::size_t filter_bits = 16;
std::atomic<bool> filter[1u << filter_bits];
std::atomic<bool>& filter_slot(std::uintptr_t base) noexcept {
    return filter[(base * 0x9e3779b97f4a7c15ull) >> (64 - filter_bits)];
}

std::atomic<Session*> current{nullptr};
std::atomic<unsigned long long> replays{0};
std::atomic<unsigned> dead_count{0};

// A reader of stderr that is gone must not kill the program for a line of ours: SIGPIPE is held back for this thread,
// and the one that our write caused is taken back. Rejected: ignoring the signal, which is the host's to decide.
class NoSigpipe {
  public:
    NoSigpipe() noexcept {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
        blocked_ = pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
    }
    ~NoSigpipe() {
        if (!blocked_)
            return;
        const timespec at_once{0, 0};
        if (broken_ && !was_pending_)
            while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
            }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoSigpipe(const NoSigpipe&) = delete;
    NoSigpipe& operator=(const NoSigpipe&) = delete;
    void broken() noexcept { broken_ = true; }

  private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_ = false;
    bool blocked_ = false;
    bool broken_ = false;
};

void write_line(const std::string& text) noexcept {
    const int saved = errno;
    try {
        const std::string line = "keepgraph: " + text + "\n";
        NoSigpipe no_sigpipe;
        for (std::size_t done = 0; done < line.size();) {
            const auto wrote = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
            if (wrote < 0 && errno == EINTR)
                continue;
            if (wrote < 0 && errno == EPIPE)
                no_sigpipe.broken();
            if (wrote <= 0)
                break;
            done += static_cast<std::size_t>(wrote);
        }
    } catch (...) {  // no memory for the line: it is lost, the program is not
    }
    errno = saved;
}

// Book-keeping must not cost the program anything but memory: what fails is said once and left.
void lost(const char* what) noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
        write_line(std::string("out of memory in ") + what + ": some graphs are not checked");
}
template <class Work>
void guarded(const char* what, Work work) noexcept {
    Session* const session = current.load(std::memory_order_acquire);
    if (session == nullptr)
        return;
    const int saved = errno;
    try {
        work(*session);
    } catch (...) {
        lost(what);
    }
    errno = saved;
}

Event here(const Session& session, const char* call) {
    Event event;
    event.call = call;
    event.thread = trace::thread_id();
    event.thread_name = trace::thread_name();
    if (session.settings.stacks != config::Stacks::none) {
        trace::capture_native(event.native);
        event.python = trace::capture_python();
    }
    return event;
}

void print(const char* title, const Event& event) {
    write_line(std::string("    ") + title + " " + event.call + ", thread " + std::to_string(event.thread) + " \"" +
               event.thread_name + "\"");
    for (const auto& frame : event.python.frames)
        write_line("      python " + frame.file + ":" + std::to_string(frame.line) + " in " + frame.function);
    if (!event.python.unavailable.empty())
        write_line("      " + event.python.unavailable);
    for (std::uint32_t i = 0; i < event.native.count; ++i)
        write_line("      #" + std::to_string(i) + " " + trace::describe_return_address(event.native.frames[i]));
}

std::string hex(std::uintptr_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
    return text;
}

std::string describe(const memory::Allocation& allocation) {
    return std::to_string(allocation.size) + " bytes of " + memory::to_string(allocation.kind) + " memory at " +
           hex(allocation.base) + " (allocation #" + std::to_string(allocation.id) + ")";
}

void refer(Session& session, Exec& exec, CUgraph graph) {
    const driver::RelaxedCapture relaxed;
    auto found = liveness::scan(graph);
    exec.references.clear();
    std::set<std::uint64_t> distinct;
    for (auto& reference : found) {
        auto& tracked = session.alive[reference.allocation.base];
        if (tracked == nullptr || tracked->allocation.id != reference.allocation.id) {
            tracked = std::make_shared<Tracked>();
            tracked->allocation = reference.allocation;
        }
        filter_slot(reference.allocation.base).store(true, std::memory_order_release);
        distinct.insert(reference.allocation.id);
        exec.references.emplace_back(std::move(reference), tracked);
    }
    session.inputs += distinct.size();
}

// The finding's head, its references (five, then a count), and the stacks that tell the story.
void report(Session& session, const Exec& exec, const Tracked& tracked, const char* action) {
    ++session.findings;
    write_line("finding " + std::to_string(session.findings) + ": graph " + std::to_string(exec.number) +
               " is about to use " + describe(tracked.allocation) + ", which was " +
               (tracked.has_younger ? "freed and allocated again" : "freed") + " [" + action + "]");
    std::size_t shown = 0;
    std::size_t total = 0;
    for (const auto& [reference, owner] : exec.references) {
        if (owner.get() != &tracked || ++total > 5)
            continue;
        ++shown;
        write_line("    node " + std::to_string(reference.node) + ", " + reference.slot + " = " +
                   hex(reference.address) + ", " + config::to_string(reference.grade));
    }
    if (total > shown)
        write_line("    and " + std::to_string(total - shown) + " more");
    print("freed by", tracked.death);
    if (tracked.has_younger) {
        write_line("    the address now belongs to " + describe(tracked.younger));
        print("allocated by", tracked.birth);
    }
    print("instantiated by", exec.instantiated);
}

void in_child() noexcept {
    current.store(nullptr, std::memory_order_release);
}

}  // namespace

void start() noexcept {
    static std::atomic<bool> started{false};
    if (started.load(std::memory_order_acquire) || started.exchange(true))
        return;
    try {
        auto session = std::make_unique<Session>();
        std::vector<config::Problem> problems;
        session->settings = config::parse([](const char* name) { return std::getenv(name); }, problems);
        config::find_unknown(environ, problems);
        for (const auto& problem : problems)
            write_line(config::to_text(problem));
        if (!session->settings.out.empty())
            write_line("KEEPGRAPH_OUT is set, but this version writes no recording: findings are on stderr only");
        // A forked child inherits locks in any state and a context it cannot use: it is not observed.
        pthread_atfork(nullptr, nullptr, in_child);
        (void)::at_quick_exit([] { finish(); });  // quick_exit runs no library destructor
        if (session->settings.check_inputs)
            current.store(session.release(), std::memory_order_release);
    } catch (...) {
        lost("start");
    }
}

void instantiated(CUgraphExec handle, CUgraph graph) noexcept {
    guarded("instantiate", [&](Session& session) {
        Exec exec;
        exec.instantiated = here(session, "cuGraphInstantiate");
        const std::lock_guard lock(session.mutex);
        exec.number = ++session.graphs;
        refer(session, exec, graph);
        session.execs.insert_or_assign(handle, std::move(exec));
    });
}

void updated(CUgraphExec handle, CUgraph graph) noexcept {
    guarded("update", [&](Session& session) {
        const std::lock_guard lock(session.mutex);
        if (const auto exec = session.execs.find(handle); exec != session.execs.end())
            refer(session, exec->second, graph);
    });
}

void changed(CUgraphExec handle) noexcept {
    guarded("node change", [&](Session& session) {
        const std::lock_guard lock(session.mutex);
        const auto exec = session.execs.find(handle);
        if (exec == session.execs.end() || exec->second.references.empty())
            return;
        session.unchecked += exec->second.references.size();
        exec->second.references.clear();
    });
}

void destroying(CUgraphExec handle) noexcept {
    guarded("destroy", [&](Session& session) {
        const std::lock_guard lock(session.mutex);
        session.execs.erase(handle);
        // Memory that no exec refers to any more is forgotten, so that a long run with many graphs stays flat.
        std::erase_if(session.alive, [](const auto& entry) { return entry.second.use_count() == 1; });
        const auto gone = std::erase_if(session.dead, [](const auto& entry) { return entry.second.use_count() == 1; });
        dead_count.fetch_sub(static_cast<unsigned>(gone), std::memory_order_relaxed);
    });
}

bool may_launch(CUgraphExec handle) noexcept {
    replays.fetch_add(1, std::memory_order_relaxed);
    if (dead_count.load(std::memory_order_acquire) == 0)
        return true;
    bool refuse = false;
    bool abort = false;
    guarded("launch", [&](Session& session) {
        const std::lock_guard lock(session.mutex);
        const auto found = session.execs.find(handle);
        if (found == session.execs.end())
            return;
        Exec& exec = found->second;
        for (const auto& [reference, tracked] : exec.references) {
            if (!tracked->dead || reference.grade < session.settings.threshold)
                continue;
            refuse = refuse || session.settings.on_finding == config::OnFinding::refuse;
            abort = abort || session.settings.on_finding == config::OnFinding::abort;
            if (exec.reported.insert(tracked.get()).second)
                report(session, exec, *tracked, config::to_string(session.settings.on_finding));
        }
    });
    if (abort)
        std::abort();
    return !refuse;
}

namespace {

struct Dying {
    std::vector<TrackedPtr> all;
    Event event;
};

}  // namespace

void* freeing_range(const char* call, std::uintptr_t base, std::size_t size) noexcept {
    Dying* dying = nullptr;
    guarded("free", [&](Session& session) {
        std::vector<TrackedPtr> all;
        {
            const std::lock_guard lock(session.mutex);
            for (auto at = session.alive.lower_bound(base); at != session.alive.end() && at->first - base < size; ++at)
                all.push_back(at->second);
        }
        if (!all.empty())
            dying = new Dying{std::move(all), here(session, call)};
    });
    return dying;
}

void* freeing(const char* call, std::uintptr_t base) noexcept {
    if (!filter_slot(base).load(std::memory_order_acquire))
        return nullptr;
    return freeing_range(call, base, 1);
}

void freed(void* opaque) noexcept {
    guarded("free", [&](Session& session) {
        const std::unique_ptr<Dying> dying(static_cast<Dying*>(opaque));
        const driver::RelaxedCapture relaxed;
        const std::lock_guard lock(session.mutex);
        for (const auto& tracked : dying->all) {
            if (tracked->dead || memory::buffer_id(tracked->allocation.base) == tracked->allocation.id)
                continue;
            tracked->dead = true;
            tracked->death = dying->event;
            const auto at = session.alive.find(tracked->allocation.base);
            if (at != session.alive.end() && at->second == tracked)
                session.alive.erase(at);
            session.dead.emplace(tracked->allocation.base, tracked);
            dead_count.fetch_add(1, std::memory_order_release);
        }
    });
}

void born(const char* call, std::uintptr_t base, std::size_t size) noexcept {
    if (dead_count.load(std::memory_order_acquire) == 0)
        return;
    guarded("allocation", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        const std::lock_guard lock(session.mutex);
        for (auto& [dead_base, tracked] : session.dead) {
            if (dead_base >= base + size)
                break;
            if (tracked->has_younger || base >= tracked->allocation.end())
                continue;
            if (!memory::identify(base, tracked->younger))
                continue;
            tracked->has_younger = true;
            tracked->birth = here(session, call);
        }
    });
}

void code_unloaded() noexcept {
    guarded("unload", [](Session&) { liveness::forget_functions(); });
}

void finish() noexcept {
    guarded("summary", [](Session& session) {
        const std::lock_guard lock(session.mutex);
        if (session.graphs == 0 || session.finished || session.settings.quiet)
            return;
        session.finished = true;
        const auto count = [](auto n, const char* word) {
            return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
        };
        write_line(
            count(session.graphs, "graph") + ", " + std::to_string(replays.load()) + " replays; " +
            count(session.inputs, "input") + " checked" +
            (session.unchecked > 0 ? ", " + std::to_string(session.unchecked) + " not checked (node changed)" : "") +
            "; " + count(session.findings, "finding"));
    });
}

}  // namespace keepgraph::session
