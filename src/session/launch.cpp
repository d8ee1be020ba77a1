// SPDX-License-Identifier: Apache-2.0
//
// The launch: nothing when nothing is wrong, else the findings, before the driver sees it.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "config/settings.h"
#include "log/log.h"
#include "session/describe.h"
#include "session/session.h"
#include "session/state.h"
#include "trace/describe.h"

namespace keepgraph::session {
namespace {

constexpr std::size_t most_shown = 5;       // findings of one exec, references of one finding
constexpr std::size_t most_recorded = 100;  // references of one finding; the graph's file has them all
constexpr std::size_t most_in_file = 1000;  // findings in a graph's file; events.jsonl has them all

// All that is said of one finding, gathered under the lock and told without it.
struct Finding {
    unsigned number = 0;
    unsigned graph = 0;
    std::string exec;
    std::uint64_t replay = 0;             // which launch of the exec it is, from 1
    Tracked tracked;                      // a copy: its execs are not looked at
    std::vector<std::string> references;  // the first most_shown of reference_count
    std::size_t reference_count = 0;
    CapturePtr capture;
    Event instantiated;
    Event launch;
};

// A reference to dead memory, with its grade at this launch: another thread's scan may change that meanwhile.
struct Graded {
    const liveness::Reference* reference;
    config::Grade grade;
};

void add(std::string& text, const std::string& line) {
    text += text.empty() ? line : "\n" + line;
}

void add_stack(const Session& session, std::string& text, const Event& event) {
    trace::NativeStack native;
    trace::PythonStack python;
    if (!session.stacks.find(event.stack, native, python)) {
        add(text,
            std::string("      stack ") + (event.stack_missing != nullptr ? event.stack_missing : "not recorded"));
        return;
    }
    for (const auto& frame : python.frames)
        add(text, "      python " + frame.file + ":" + std::to_string(frame.line) + " in " + frame.function);
    if (!python.unavailable.empty())
        add(text, "      " + python.unavailable);
    if (event.stack_missing != nullptr)
        add(text, std::string("      native stack ") + event.stack_missing);
    for (std::uint32_t i = 0; i < native.count; ++i)
        add(text, "      #" + std::to_string(i) + " " + trace::describe_return_address(native.frames[i]));
}

void add_event(const Session& session, std::string& text, const char* title, const Event& event) {
    add(text, std::string("    ") + title + " " + call_of(event) + ", thread " + std::to_string(event.thread) + " \"" +
                  event.thread_name + "\"");
    add_stack(session, text, event);
}

std::string text_of(const Session& session, const Finding& finding) {
    std::string text;
    const Tracked& tracked = finding.tracked;
    add(text, "finding " + std::to_string(finding.number) + ": graph " + std::to_string(finding.graph) +
                  " is about to use " + to_text(tracked.allocation) + ", which was " +
                  (tracked.has_younger ? "freed and allocated again" : "freed") + " [" +
                  config::to_string(session.settings.on_finding) + "]");
    add(text,
        "    exec " + finding.exec + ", replay " + std::to_string(finding.replay) + " by " + call_of(finding.launch));
    for (const std::string& reference : finding.references)
        add(text, "    " + reference);
    if (finding.reference_count > finding.references.size())
        add(text, "    and " + std::to_string(finding.reference_count - finding.references.size()) + " more");
    add_event(session, text, "freed by", tracked.death);
    if (tracked.has_younger) {
        add(text, "    the address was given out again: to " + to_text(tracked.younger));
        add_event(session, text, "allocated by", tracked.younger_birth);
    }
    if (tracked.has_birth)
        add_event(session, text, "first allocated by", tracked.birth);
    else
        add(text, "    where it was allocated is not recorded (KEEPGRAPH_STACKS=all)");
    if (finding.capture != nullptr)
        add_event(session, text, "captured by", finding.capture->began);
    else
        add(text, "    built by hand, not captured");
    add_event(session, text, "instantiated by", finding.instantiated);
    return text;
}

report::Json json_of(const Session& session, const Exec& exec, const Finding& finding, config::Grade grade,
                     const std::vector<Graded>& references) {
    const Tracked& tracked = finding.tracked;
    const Event& launch = finding.launch;
    report::Json keys{{"finding", finding.number},
                      {"graph", finding.graph},
                      {"kind", tracked.has_younger ? "recycled" : "freed"},
                      {"grade", config::to_string(grade)},
                      {"action", config::to_string(session.settings.on_finding)},
                      {"exec", finding.exec},
                      {"allocation", to_json(tracked)}};
    if (tracked.death.time > 0)
        keys["death"] = to_json(tracked.death);
    else
        keys["death_unknown"] = tracked.death.stack_missing != nullptr ? tracked.death.stack_missing : "not seen";
    if (tracked.has_younger) {
        keys["younger"] = to_json(tracked.younger_birth);
        keys["younger"]["allocation"] = to_json(tracked.younger);
    }
    report::Json list = report::Json::array();
    for (std::size_t i = 0; i < std::min(references.size(), most_recorded); ++i)
        list.push_back(to_json(exec, *references[i].reference, references[i].grade));
    keys["references"] = std::move(list);
    if (references.size() > most_recorded)
        keys["references_left_out"] = references.size() - most_recorded;
    if (finding.capture != nullptr) {
        keys["capture"] = finding.capture->number;
        if (finding.capture->began.stack != 0)
            keys["capture_stack"] = finding.capture->began.stack;
    }
    if (finding.instantiated.stack != 0)
        keys["instantiate_stack"] = finding.instantiated.stack;
    if (launch.stack != 0)
        keys["launch_stack"] = launch.stack;
    keys["replay"] = finding.replay;
    keys["launch_call"] = launch.call;
    if (launch.runtime_call != nullptr)
        keys["launch_runtime_call"] = launch.runtime_call;
    return keys;
}

// Memory that a graph allocates comes back, at the same address, with each launch of that graph: whether it is there
// when another graph runs depends on the order of launches, which is not known here.
bool comes_back(const Session& session, const memory::Allocation& allocation) {
    for (const Exec* const exec : session.allocating)
        for (const graph::Body& body : exec->snapshot.bodies())
            for (const graph::Memory& memory : body.memories)
                if (memory.size > 0 && allocation.covers(memory.address))
                    return true;
    return false;
}

struct Verdict {
    bool wrong = false;    // dead memory, at or above the threshold, reported now or earlier
    std::size_t more = 0;  // findings of the exec beyond those shown, when that is to be said now
    unsigned graph = 0;
    std::vector<Finding> shown;
};

// What the exec uses of one dead allocation.
struct Use {
    std::vector<Graded> references;     // of the grade that ON_FINDING asks for
    std::optional<config::Grade> best;  // of all references, also of those below that; none: they are switched off
};

std::vector<Use> uses_of_the_dead(const Session& session, const Exec& exec) {
    std::vector<Use> uses(exec.inputs.size());
    for (const liveness::Reference& reference : exec.references) {
        if (!exec.inputs[reference.input].tracked->dead || is_disabled(exec.snapshot, reference))
            continue;
        Use& use = uses[reference.input];
        const config::Grade grade = liveness::grade_now(exec.snapshot, reference);
        use.best = std::max(use.best.value_or(grade), grade);
        if (grade >= session.settings.threshold)
            use.references.push_back({&reference, grade});
    }
    return uses;
}

// The closing line says how many findings the setting keeps back: else "0 findings" would hide that two allocations
// which touch, of which one is freed, gave a doubt.
void keep_back(Session& session, Exec& exec, std::uint64_t allocation, config::Grade grade) {
    if (exec.reported.contains(allocation))
        return;
    const auto [at, is_new] = exec.kept_back.emplace(allocation, grade);
    if (!is_new) {
        if (at->second >= grade)
            return;
        --session.kept_back[static_cast<std::size_t>(at->second)];
        at->second = grade;
    }
    ++session.kept_back[static_cast<std::size_t>(grade)];
}

// A slot's grade may rise: what was kept back then becomes a finding.
void no_longer_kept_back(Session& session, Exec& exec, std::uint64_t allocation) {
    const auto found = exec.kept_back.find(allocation);
    if (found == exec.kept_back.end())
        return;
    --session.kept_back[static_cast<std::size_t>(found->second)];
    exec.kept_back.erase(found);
}

// Under the lock.
Verdict examine(Session& session, Exec& exec, const Event& launch) {
    Verdict verdict;
    verdict.graph = exec.number;
    const std::vector<Use> uses = uses_of_the_dead(session, exec);
    std::size_t count = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const std::vector<Graded>& dead = uses[i].references;
        if (!uses[i].best)
            continue;
        if (comes_back(session, exec.inputs[i].tracked->allocation)) {
            session.waits_for_graphs = true;
            continue;
        }
        const Tracked& tracked = *exec.inputs[i].tracked;
        if (dead.empty()) {
            keep_back(session, exec, tracked.allocation.id, *uses[i].best);
            continue;
        }
        verdict.wrong = true;
        if (!exec.reported.insert(tracked.allocation.id).second)
            continue;
        no_longer_kept_back(session, exec, tracked.allocation.id);
        const unsigned number = ++session.findings;
        ++count;
        const bool shown = ++exec.findings_seen <= most_shown;
        if (!shown && !session.recording.wanted())
            continue;
        Finding finding;
        finding.number = number;
        finding.graph = exec.number;
        finding.exec = hex(exec.handle);
        finding.replay = exec.launches->total() + 1;
        finding.tracked = tracked;
        finding.capture = exec.capture;
        finding.instantiated = exec.instantiated;
        finding.launch = launch;
        finding.reference_count = dead.size();
        for (std::size_t at = 0; shown && at < std::min(dead.size(), most_shown); ++at)
            finding.references.push_back(to_text(exec.snapshot, *dead[at].reference) + " = " +
                                         hex(dead[at].reference->address) + ", " + config::to_string(dead[at].grade));
        if (session.recording.wanted()) {
            session.recording.open();
            report::Json keys = json_of(session, exec, finding, *uses[i].best, dead);
            if (exec.findings_seen <= most_in_file)
                exec.findings.push_back(keys);
            session.recording.event("finding", std::move(keys));
        }
        if (shown)
            verdict.shown.push_back(std::move(finding));
    }
    // A program with the bug in a loop must not fill its log: the rest is counted, and said when it has grown tenfold.
    if (exec.findings_seen > most_shown && exec.findings_seen - most_shown >= 10 * exec.more_said)
        verdict.more = exec.more_said = exec.findings_seen - most_shown;
    // The file holds all findings of its graph: writing it for each would make a program with a bug in a loop crawl.
    if (count > 0 && session.settings.write_findings && session.recording.wanted() &&
        exec.findings_seen >= 2 * exec.findings_at_attempt) {
        exec.findings_at_attempt = exec.findings_seen;
        write_graph_file(session, exec);
    }
    return verdict;
}

bool examine_launch(const char* call, CUgraphExec handle, LaunchRecord*& record) noexcept {
    bool refuse = false;
    bool abort = false;
    guarded("launch", [&](Session& session) {
        {
            const Locked lock(session);
            if (const auto found = session.execs.find(handle); found != session.execs.end())
                record = found->second->launches;
        }
        if (record == nullptr || !record->attention.load(std::memory_order_acquire))
            return;
        const Event launch = here(session, call);
        Verdict verdict;
        {
            const Locked lock(session);
            const auto found = session.execs.find(handle);
            if (found == session.execs.end())
                return;
            verdict = examine(session, *found->second, launch);
            refuse = verdict.wrong && session.settings.on_finding == config::OnFinding::refuse;
            abort = verdict.wrong && session.settings.on_finding == config::OnFinding::abort;
            // With warn everything was said. New deaths and grades that rise set it again.
            if (session.settings.on_finding == config::OnFinding::warn || !verdict.wrong)
                record->attention.store(false, std::memory_order_release);
        }
        for (const Finding& finding : verdict.shown)
            log::line(text_of(session, finding));
        if (verdict.more > 0)
            log::line("and " + std::to_string(verdict.more) + " more finding" + (verdict.more == 1 ? "" : "s") +
                      " of graph " + std::to_string(verdict.graph) + " so far");
    });
    if (abort)
        std::abort();
    return !refuse;
}

}  // namespace

bool may_launch(const char* call, CUgraphExec handle, void*& launching) noexcept {
    Session* const session = current();
    if (session == nullptr)
        return true;
    LaunchRecord* record = session->table.find(handle);
    const bool may = (record != nullptr && !record->attention.load(std::memory_order_acquire)) ||
                     examine_launch(call, handle, record);
    launching = record;
    return may;
}

// Records are never freed: what was found before the real call can be counted in after it. When another thread
// destroyed the exec meanwhile, the count may go to the record's next exec; such a program is wrong anyway.
void launched(void* launching) noexcept {
    if (launching != nullptr)
        LaunchTable::count(*static_cast<LaunchRecord*>(launching));
    else if (current() != nullptr)
        unknown_launches.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace keepgraph::session
