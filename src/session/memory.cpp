// SPDX-License-Identifier: Apache-2.0
//
// Births and deaths of memory that graphs refer to.
#include <algorithm>
#include <optional>

#include "driver/api.h"
#include "memory/mappings.h"
#include "session/describe.h"
#include "session/session.h"
#include "session/state.h"
#include "trace/safe_read.h"

namespace keepgraph::session {
namespace {

// Frees are looked up under the lock only when this says that the base may be referred to, or its birth was recorded.
// Flags are never cleared: an allocation that stops being tracked costs later frees of its base one look-up, which is
// cheaper than exact counting.
constexpr std::size_t filter_bits = 16;
std::atomic<bool> filter[1u << filter_bits];
std::atomic<bool>& filter_slot(std::uintptr_t base) noexcept {
    return filter[(base * 0x9e3779b97f4a7c15ull) >> (64 - filter_bits)];
}
// cuMemUnmap names a range, so the filter by base cannot be asked.
std::atomic<std::size_t> tracked_alive{0};

struct Dying {
    std::vector<TrackedPtr> all;
    Event event;
};

void publish_dead(const Session& session) noexcept {
    dead_allocations.store(session.dead.size(), std::memory_order_release);
    dead_unclaimed.store(session.dead.unclaimed(), std::memory_order_release);
}

bool is_readable(std::uintptr_t address) noexcept {
    std::byte byte{};
    return trace::read_memory(address, &byte, 1) != trace::ReadResult::bad_address;
}

memory::Fate fate_of(Session& session, const memory::Allocation& allocation) {
    CUresult answer = CUDA_SUCCESS;
    const memory::Fate fate = memory::fate_of(allocation, answer);
    if (fate == memory::Fate::unknown && !session.said_fate_unknown) {
        session.said_fate_unknown = true;
        notice(session, "the driver does not say whether memory is gone (" + std::string(driver::result_name(answer)) +
                            "): it counts as alive");
    }
    return fate;
}

// When the driver fails to answer that is no death: a finding has to be true; and a death that is missed so shows when
// another graph is made on the same address.
bool is_death(memory::Fate fate) {
    return fate == memory::Fate::gone || fate == memory::Fate::replaced;
}

Event unseen(const char* why_no_stack) {
    Event event;
    event.call = "an unseen call";
    event.stack_missing = why_no_stack;
    return event;
}

// STACKS=all: where `allocation` was made.
const Event* birth_of(const Session& session, const memory::Allocation& allocation) {
    const auto birth = session.births.find(allocation.base);
    if (birth != session.births.end() && birth->second.id == allocation.id)
        return &birth->second.event;
    for (auto dead = session.dead_births.rbegin(); dead != session.dead_births.rend(); ++dead)
        if (dead->first == allocation.base && dead->second.id == allocation.id)
            return &dead->second.event;
    return nullptr;
}

// Everything that follows from a death. `death.time` is 0 when nobody saw it.
void die(Session& session, const TrackedPtr& tracked, const Event& death, memory::Fate fate) {
    tracked->dead = true;
    tracked->death = death;
    tracked->readable_at_death = is_readable(tracked->allocation.base);
    const auto at = session.alive.find(tracked->allocation.base);
    if (at != session.alive.end() && at->second == tracked)
        session.alive.erase(at);
    tracked_alive.store(session.alive.size(), std::memory_order_release);
    if (fate == memory::Fate::replaced &&
        memory::identify(tracked->allocation.base, tracked->younger) == memory::Identity::known) {
        // When that was allocated nothing dead was known at the address, so born() did not look.
        tracked->has_younger = true;
        const Event* const birth = birth_of(session, tracked->younger);
        tracked->younger_birth =
            birth != nullptr ? *birth : unseen("not recorded (it was not known yet that the address was free)");
    }
    session.dead.add(tracked);
    publish_dead(session);
    for (Exec* const exec : tracked->execs)
        exec->launches->attention.store(true, std::memory_order_release);
    say(session, config::LogLevel::debug, [&] {
        return to_text(tracked->allocation) + ", used by " + std::to_string(tracked->execs.size()) +
               (tracked->execs.size() == 1 ? " graph" : " graphs") + ", was freed by " + call_of(death);
    });
    if (death.time == 0 || !session.recording.wanted())
        return;
    report::Json keys{{"allocation", to_json(*tracked)}};
    keys.update(to_json(death));
    session.recording.event("death", std::move(keys));
}

// What lives in [base, base + size) and is referred to, with the event of its death; null when nothing is.
void* referenced(const char* call, std::uintptr_t base, std::size_t size) noexcept {
    if (tracked_alive.load(std::memory_order_acquire) == 0)
        return nullptr;
    Dying* dying = nullptr;
    guarded("free", [&](Session& session) {
        std::vector<TrackedPtr> all;
        {
            const Locked lock(session);
            for (auto at = session.alive.lower_bound(base); at != session.alive.end() && at->first - base < size; ++at)
                all.push_back(at->second);
        }
        if (!all.empty())
            dying = new Dying{std::move(all), here(session, call)};
    });
    return dying;
}

}  // namespace

memory::Dead::Held KnownDead::find(std::uintptr_t address, memory::Allocation& out) const {
    if (dead_allocations.load(std::memory_order_acquire) == 0)
        return Held::no;
    bool readable_at_death = true;
    {
        std::optional<Locked> lock;
        if (lock_ == Lock::take)
            lock.emplace(session_);
        const TrackedPtr tracked = session_.dead.last_at(address);
        if (tracked == nullptr)
            return Held::no;
        out = tracked->allocation;
        readable_at_death = tracked->readable_at_death;
    }
    // Addresses of dead memory go back to the system, which may since have given them to pageable memory: the driver
    // knows nothing of that, and no call told. But that can be read, which dead memory cannot. Where it could from the
    // start (small pinned or managed memory next to some that lives) nothing tells the two apart; addresses of
    // cuMemAlloc are the exception, since they are hardly ever mapped by somebody else.
    if (readable_at_death)
        return out.kind == memory::Kind::device && !out.mapped ? Held::yes : Held::perhaps;
    return is_readable(address) ? Held::no : Held::yes;
}

bool refers_to_dead(const Exec& exec) noexcept {
    return std::any_of(exec.inputs.begin(), exec.inputs.end(),
                       [](const Exec::Input& input) { return input.references > 0 && input.tracked->dead; });
}

void look_again(Session& session) {
    for (const auto& [number, exec] : session.by_number)
        if (refers_to_dead(*exec))
            exec->launches->attention.store(true, std::memory_order_release);
}

TrackedPtr track(Session& session, const memory::Allocation& found) {
    if (TrackedPtr gone = session.dead.find(found))
        return gone;
    TrackedPtr& place = session.alive[found.base];
    if (place != nullptr && place->allocation.id == found.id)
        return place;
    const TrackedPtr before = place;
    place = std::make_shared<Tracked>();
    TrackedPtr tracked = place;
    tracked->allocation = found;
    if (const Event* const birth = birth_of(session, found)) {
        tracked->has_birth = true;
        tracked->birth = *birth;
    }
    // The scan that found it did not hold the lock: it may have gone since, and somebody else may live there. A free
    // looks at what is published here after its real call, which comes either before the driver's answer or after it.
    tracked_alive.store(session.alive.size());
    filter_slot(found.base).store(true);
    if (const memory::Fate fate = fate_of(session, found); is_death(fate)) {
        die(session, tracked, unseen("not recorded (the graph was being read, nobody knew that it refers to this)"),
            fate);
        if (before != nullptr) {
            session.alive[found.base] = before;
            tracked_alive.store(session.alive.size());
        }
        return tracked;
    }
    if (before == nullptr)
        return tracked;
    // cuMemFreeHost would have been seen: this is the program's own memory, registered once more, and as good as
    // before.
    if (before->allocation.kind == memory::Kind::pinned && found.kind == memory::Kind::pinned) {
        before->allocation = found;
        before->has_birth = false;
        return place = before;
    }
    // Another id at a known base: the older one died without a call that we saw.
    die(session, before, unseen("not recorded (the call did not pass keepgraph)"), memory::Fate::replaced);
    return tracked;
}

void untrack(Session& session, Exec& exec, Exec::Input& input) {
    const TrackedPtr tracked = std::move(input.tracked);
    input.tracked = nullptr;
    std::erase(tracked->execs, &exec);
    if (!tracked->execs.empty())
        return;
    // Nobody refers to it any more: a long run with many graphs stays flat.
    const auto at = session.alive.find(tracked->allocation.base);
    if (at != session.alive.end() && at->second == tracked)
        session.alive.erase(at);
    tracked_alive.store(session.alive.size(), std::memory_order_release);
    session.dead.remove(tracked);
    publish_dead(session);
}

void* freeing(const char* call, std::uintptr_t base) noexcept {
    if (!filter_slot(base).load(std::memory_order_acquire))
        return nullptr;
    return referenced(call, base, 1);
}

namespace {

void freed_range(const char* call, std::uintptr_t base, std::size_t size, void* opaque, bool succeeded) noexcept {
    std::unique_ptr<Dying> dying(static_cast<Dying*>(opaque));
    if (!succeeded)
        return;
    if (dying == nullptr) {
        // Nothing referred to it when the call began. Meanwhile a graph that does may have been instantiated.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (tracked_alive.load() == 0)
            return;
        dying.reset(static_cast<Dying*>(referenced(call, base, size)));
        if (dying == nullptr)
            return;
    }
    guarded("free", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        const Locked lock(session);
        for (const auto& tracked : dying->all)
            if (!tracked->dead)
                if (const memory::Fate fate = fate_of(session, tracked->allocation); is_death(fate))
                    die(session, tracked, dying->event, fate);
    });
}

// STACKS=all: of what died in [base, base + size). What is referred to has a copy. The last to die keep theirs: a scan
// may have found them alive and not told yet, see track().
void forget_births(std::uintptr_t base, std::size_t size) noexcept {
    constexpr std::size_t most_dead = 1000;
    guarded("free", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        const Locked lock(session);
        auto at = session.births.lower_bound(base);
        while (at != session.births.end() && at->first - base < size) {
            memory::Allocation allocation;
            allocation.base = at->first;
            allocation.id = at->second.id;
            if (is_death(fate_of(session, allocation))) {
                session.dead_births.emplace_back(at->first, std::move(at->second));
                at = session.births.erase(at);
            } else {
                ++at;
            }
        }
        while (session.dead_births.size() > most_dead)
            session.dead_births.pop_front();
    });
}

}  // namespace

void freed(const char* call, std::uintptr_t base, void* dying, bool succeeded) noexcept {
    if (dying == nullptr) {
        // A graph that refers to it may be instantiated meanwhile. That marks the base and then asks the driver; here
        // the real free comes first, then the look at the mark: one of the two sees the other. The fence is for a
        // driver that answers from what it reads without a lock.
        //
        // Rejected: a count of frees, which each instantiate compares. It told no more, and was one cache line that
        // every free of every thread wrote to.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!filter_slot(base).load())
            return;
    }
    freed_range(call, base, 1, dying, succeeded);
    if (succeeded && record_all_allocations.load(std::memory_order_relaxed))
        forget_births(base, 1);
}

void mapped(const char* call, std::uintptr_t base, std::size_t size) noexcept {
    guarded("mapping", [&](Session&) { memory::note_mapped(base, size); });
    born(call, base, size);
}

void* unmapping(const char* call, std::uintptr_t base, std::size_t size) noexcept {
    return referenced(call, base, size);
}

void unmapped(const char* call, std::uintptr_t base, std::size_t size, void* dying, bool succeeded) noexcept {
    if (succeeded)
        guarded("mapping", [&](Session&) { memory::note_unmapped(base, size); });
    freed_range(call, base, size, dying, succeeded);
    if (succeeded && record_all_allocations.load(std::memory_order_relaxed))
        forget_births(base, size);
}

void born(const char* call, std::uintptr_t base, std::size_t size) noexcept {
    Session* const session = current();
    if (session == nullptr)
        return;
    session->seen.add(base, base + size);
    const bool all = record_all_allocations.load(std::memory_order_relaxed);
    if (dead_unclaimed.load(std::memory_order_acquire) == 0 && !all)
        return;
    guarded("allocation", [&](Session& session) {
        std::vector<TrackedPtr> covered;
        {
            const Locked lock(session);
            covered = session.dead.unclaimed_in(base, size);
        }
        if (covered.empty() && !all)
            return;
        const Event event = here(session, call);
        const driver::RelaxedCapture relaxed;
        memory::Allocation younger;
        if (memory::identify(base, younger) != memory::Identity::known)
            return;
        const Locked lock(session);
        if (all) {
            filter_slot(base).store(true, std::memory_order_release);  // so that its free comes to look
            session.births.insert_or_assign(base, Session::Birth{younger.id, event});
        }
        if (covered.empty())
            return;
        for (const TrackedPtr& tracked : covered)
            session.dead.claim(tracked, younger, event);
        publish_dead(session);
        say(session, config::LogLevel::debug, [&] {
            return to_text(younger) + ", where dead memory of a graph was, was allocated by " + call_of(event);
        });
        if (!session.recording.wanted())
            return;
        report::Json keys{{"allocation", to_json(younger)}};
        keys.update(to_json(event));
        session.recording.event("birth", std::move(keys));
    });
}

}  // namespace keepgraph::session
