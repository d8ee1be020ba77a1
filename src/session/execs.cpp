// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs from instantiation to destruction.
#include "session/execs.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "driver/api.h"
#include "graph/node_type.h"
#include "session/describe.h"
#include "session/features.h"
#include "session/session.h"

namespace keepgraph::session {
namespace {

void write_driver_dot(Session& session, const Exec& exec, CUgraph graph) {
    const std::string folder = session.recording.folder();
    const auto print = driver::api().cuGraphDebugDotPrint;
    const std::string path = folder + "/graph-" + std::to_string(exec.number) + ".driver.dot";
    const CUresult result = folder.empty() || print == nullptr
                                ? CUDA_ERROR_NOT_FOUND
                                : print(graph, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
    if (result != CUDA_SUCCESS)
        session.recording.event("notice", {{"text", "graph " + std::to_string(exec.number) +
                                                        ": no driver DOT: " + driver::result_name(result)}});
}

// KEEP's max: the oldest graphs lose their data first, since the newest ones are those that people look at.
void keep_within(Session& session, std::size_t added) {
    session.kept_bytes += added;
    if (session.kept_bytes <= session.settings.keep_max)
        return;
    if (!session.said_dropped) {
        session.said_dropped = true;
        const std::string text = "graphs hold more than KEEP's max=" + std::to_string(session.settings.keep_max) +
                                 " bytes: arguments and edges of the oldest are dropped";
        notice(session, text);
    }
    for (auto at = session.by_number.upper_bound(session.dropped_up_to); at != session.by_number.end(); ++at) {
        const auto& [number, exec] = *at;
        if (session.kept_bytes <= session.settings.keep_max)
            break;
        session.dropped_up_to = number;
        if (exec->snapshot.data_dropped())
            continue;
        const std::size_t before = counted_bytes(exec->snapshot);
        forget_missing_edges(session, *exec);
        exec->snapshot.drop_data();
        session.kept_bytes -= std::min(session.kept_bytes, before);
    }
}

report::Json node_counts(const graph::Snapshot& snapshot) {
    std::map<CUgraphNodeType, unsigned> by_type;
    for (const graph::Body& body : snapshot.bodies())
        for (const graph::Node& node : body.nodes)
            ++by_type[node.type];
    report::Json counts = report::Json::object();
    for (const auto& [type, count] : by_type)
        counts[graph::node_type_name(type)] = count;
    return counts;
}

// At the first graph, not at the start: a process that has none shall not speak of them.
void say_features_off(Session& session) {
    static std::atomic<bool> said{false};
    if (said.load(std::memory_order_relaxed) || said.exchange(true, std::memory_order_relaxed))
        return;
    for (const std::string& text : features_off(driver::api()))
        notice(session, text);
}

// "graph 3 of template 2, capture 1, by cuGraphInstantiateWithFlags: 12 nodes, 4 inputs, 0 opaque"
std::string summary_of(const Exec& exec) {
    std::size_t nodes = 0;
    for (const graph::Body& body : exec.snapshot.bodies())
        nodes += body.nodes.size();
    return "graph " + std::to_string(exec.number) + " of template " + std::to_string(exec.template_number) +
           (exec.capture != nullptr ? ", capture " + std::to_string(exec.capture->number) : ", built by hand") +
           ", by " + call_of(exec.instantiated) + ": " + std::to_string(nodes) + " nodes, " +
           std::to_string(exec.inputs.size()) + " inputs, " + std::to_string(exec.opaque) + " opaque";
}

// The numbers of nodes that `moved` tells of.
void renumber(liveness::Scan& scan, const graph::Renumbering& moved) {
    if (std::all_of(moved.begin(), moved.end(), [](const auto& nodes) { return nodes.empty(); }))
        return;
    const auto number_of = [&](std::uint32_t body, std::uint32_t node) {
        return moved[body].empty() ? node : moved[body][node];
    };
    for (liveness::Reference& reference : scan.references)
        reference.node = number_of(reference.body, reference.node);
    for (graph::Place& unanswered : scan.unanswered)
        unanswered.node = number_of(unanswered.body, unanswered.node);
    std::stable_sort(scan.references.begin(), scan.references.end(), [](const auto& a, const auto& b) {
        return graph::Place{a.body, a.node} < graph::Place{b.body, b.node};
    });
}

bool has_disabled_nodes(const graph::Snapshot& snapshot) {
    for (const graph::Body& body : snapshot.bodies())
        if (!std::all_of(body.nodes.begin(), body.nodes.end(), [](const graph::Node& node) { return node.enabled; }))
            return true;
    return false;
}

Template& template_of(Session& session, CUgraph graph) {
    Template& known = session.templates[graph];
    if (known.number == 0)
        known.number = ++session.templates_seen;
    return known;
}

}  // namespace

std::vector<liveness::Reference> take(Session& session, Exec& exec, liveness::Scan scan) {
    std::vector<std::uint32_t> place(scan.allocations.size());
    for (std::size_t i = 0; i < scan.allocations.size(); ++i) {
        TrackedPtr tracked = track(session, scan.allocations[i]);
        if (tracked->dead)
            exec.launches->attention.store(true, std::memory_order_release);
        if (const auto at = exec.input_of.find(tracked.get()); at != exec.input_of.end()) {
            place[i] = at->second;
            continue;
        }
        if (exec.unused_inputs.empty()) {
            place[i] = static_cast<std::uint32_t>(exec.inputs.size());
            exec.inputs.emplace_back();
        } else {
            place[i] = exec.unused_inputs.back();
            exec.unused_inputs.pop_back();
        }
        tracked->execs.push_back(&exec);
        exec.input_of.emplace(tracked.get(), place[i]);
        exec.inputs[place[i]].tracked = std::move(tracked);
        if (exec.counted.insert(scan.allocations[i].id).second)
            ++session.inputs;
    }
    for (liveness::Reference& reference : scan.references) {
        reference.input = place[reference.input];
        ++exec.inputs[reference.input].references;
    }
    // Later calls that change a node count by what the snapshot says of it.
    for (const graph::Place& unanswered : scan.unanswered)
        exec.snapshot.set_unreadable(unanswered);
    exec.opaque += scan.opaque;
    session.opaque += scan.opaque;
    if (scan.raised)
        look_again(session);
    return std::move(scan.references);
}

void release(Session& session, Exec& exec, const liveness::Reference& reference) {
    Exec::Input& input = exec.inputs[reference.input];
    if (--input.references > 0)
        return;
    exec.input_of.erase(input.tracked.get());
    exec.unused_inputs.push_back(reference.input);
    untrack(session, exec, input);
}

void read_missing_edges(Session& session, CUgraph graph) {
    const auto found = session.templates.find(graph);
    if (found == session.templates.end())
        return;
    for (Exec* const exec : found->second.without_edges) {
        const std::size_t before = counted_bytes(exec->snapshot);
        exec->snapshot.read_edges(graph);
        session.kept_bytes += counted_bytes(exec->snapshot) - before;
        execs_without_edges.fetch_sub(1, std::memory_order_relaxed);
    }
    found->second.without_edges.clear();
}

// The driver takes 700 ns to tell an edge, an update 90 to 350 per node, and some programs update before each launch:
// so only where kernels come in another order, and for programs that name nodes by their handles.
void read_edges_to_pair(Session& session, Exec& exec, graph::Snapshot& later, CUgraph graph) {
    if (!exec.nodes_named && exec.snapshot.runs_the_same(later))
        return;
    read_missing_edges(session, exec.origin);
    if (exec.snapshot.edges_known())
        later.read_edges(graph);
}

void lose_sight(Session& session, Exec& exec) {
    for (const liveness::Reference& reference : exec.references)
        release(session, exec, reference);
    exec.references.clear();
    const auto& bodies = exec.snapshot.bodies();
    for (std::uint32_t body = 0; body < bodies.size(); ++body)
        for (std::uint32_t node = 0; node < bodies[body].nodes.size(); ++node) {
            const graph::Node& lost = bodies[body].nodes[node];
            if (!lost.readable || (lost.type != CU_GRAPH_NODE_TYPE_KERNEL && lost.type != CU_GRAPH_NODE_TYPE_MEMCPY &&
                                   lost.type != CU_GRAPH_NODE_TYPE_MEMSET))
                continue;
            exec.snapshot.set_unreadable({body, node});
            ++exec.opaque;
            ++session.opaque;
        }
}

void forget_missing_edges(Session& session, Exec& exec) {
    const auto found = session.templates.find(exec.origin);
    if (found == session.templates.end())
        return;
    const auto gone = std::erase(found->second.without_edges, &exec);
    execs_without_edges.fetch_sub(gone, std::memory_order_relaxed);
}

void instantiated(const char* call, CUgraphExec handle, CUgraph graph) noexcept {
    guarded("instantiate", [&](Session& session) {
        auto made = std::make_unique<Exec>();
        Exec& exec = *made;
        exec.handle = handle;
        exec.origin = graph;
        exec.instantiated = here(session, call);
        const driver::RelaxedCapture relaxed;
        exec.snapshot = graph::Snapshot::read(graph, session.functions);
        const KnownDead dead(session, KnownDead::Lock::take);
        liveness::Scan scan;
        if (session.settings.check_inputs)
            scan = liveness::scan(exec.snapshot, session.seen, &dead);
        session.recording.open();
        const bool wants_edges = session.settings.keep == config::Keep::data && session.recording.wanted();
        const bool writes = session.settings.write_graphs && session.recording.wanted();
        if (writes && wants_edges)
            exec.snapshot.read_edges(graph);
        if (session.settings.keep == config::Keep::off)
            exec.snapshot.drop_data();

        const Locked lock(session);
        say_features_off(session);
        // The driver gives a handle out again only when its exec is gone, whatever way it went.
        if (const auto old = session.execs.find(handle); old != session.execs.end())
            retire(session, *old->second);
        exec.number = ++session.graphs;
        Template& from = template_of(session, graph);
        exec.template_number = from.number;
        exec.capture = from.capture;
        exec.launches = session.table.insert(handle);
        if (wants_edges && !exec.snapshot.edges_known()) {
            from.without_edges.push_back(&exec);
            execs_without_edges.fetch_add(1, std::memory_order_release);
        }
        exec.references = take(session, exec, std::move(scan));
        session.by_number.emplace(exec.number, &exec);
        if (exec.snapshot.has_memory_nodes())
            session.allocating.insert(&exec);
        session.execs.insert_or_assign(handle, std::move(made));
        keep_within(session, counted_bytes(exec.snapshot));
        say(session, config::LogLevel::info, [&] { return summary_of(exec); });

        if (!session.recording.wanted())
            return;
        report::Json keys{{"graph", exec.number}, {"template", exec.template_number}};
        if (exec.capture != nullptr)
            keys["capture"] = exec.capture->number;
        keys["call"] = call;
        keys["result"] = "CUDA_SUCCESS";
        if (exec.instantiated.stack != 0)
            keys["stack"] = exec.instantiated.stack;
        keys["exec"] = hex(handle);
        keys["nodes"] = node_counts(exec.snapshot);
        keys["inputs"] = exec.inputs.size();
        keys["opaque"] = exec.opaque;
        session.recording.event("instantiate", std::move(keys));
        if (session.settings.write_driver_dot)
            write_driver_dot(session, exec, graph);
        if (writes)
            write_graph_file(session, exec);
    });
}

void updated(const char* call, CUgraphExec handle, CUgraph graph) noexcept {
    guarded("update", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        graph::Snapshot snapshot = graph::Snapshot::read(graph, session.functions);
        const KnownDead dead(session, KnownDead::Lock::take);
        liveness::Scan scan;
        if (session.settings.check_inputs)
            scan = liveness::scan(snapshot, session.seen, &dead);
        const Locked lock(session);
        const auto found = session.execs.find(handle);
        if (found == session.execs.end())
            return;
        Exec& exec = *found->second;
        // An update changes parameters, never the shape: edges, handles and numbers of the first template stay, unless
        // it cannot be told which node is which.
        read_edges_to_pair(session, exec, snapshot, graph);
        const std::size_t before = counted_bytes(exec.snapshot);
        const bool dropped = exec.snapshot.data_dropped();
        graph::Renumbering moved;
        bool some_are_off = false;
        if (snapshot.take_shape(std::move(exec.snapshot), moved)) {
            renumber(scan, moved);
        } else {
            some_are_off = has_disabled_nodes(exec.snapshot);
            forget_missing_edges(session, exec);
        }
        if (dropped)
            snapshot.drop_data();
        exec.snapshot = std::move(snapshot);
        session.kept_bytes -= std::min(session.kept_bytes, before);
        session.opaque -= exec.opaque;
        exec.opaque = 0;
        std::vector<liveness::Reference> references = take(session, exec, std::move(scan));
        for (const liveness::Reference& old : exec.references)
            release(session, exec, old);
        exec.references = std::move(references);
        if (some_are_off)
            lose_sight(session, exec);
        keep_within(session, counted_bytes(exec.snapshot));
        note_update(session, exec, call, nullptr);
    });
}

void note_update(Session& session, Exec& exec, const char* call, const graph::Place* node) {
    ++exec.updates;
    say(session, config::LogLevel::debug, [&] {
        return "graph " + std::to_string(exec.number) + " changed by " + call +
               (node != nullptr ? ": " + to_text(exec.snapshot, *node) : "");
    });
    if (!session.recording.wanted() || !exec.update_calls.insert(call).second)
        return;
    report::Json keys{{"graph", exec.number}, {"call", call}, {"result", "CUDA_SUCCESS"}};
    if (node != nullptr)
        keys["node"] = node->node;
    if (node != nullptr && node->body != 0)
        keys["path"] = exec.snapshot.path(node->body);
    session.recording.event("update", std::move(keys));
}

void retire(Session& session, Exec& exec) {
    forget_missing_edges(session, exec);
    const std::uint64_t replays = exec.launches->total();
    session.retired_replays += replays;
    say(session, config::LogLevel::debug, [&] {
        return "graph " + std::to_string(exec.number) + " destroyed after " + std::to_string(replays) +
               (replays == 1 ? " replay" : " replays");
    });
    if (exec.has_file && (exec.replays_in_file != replays || exec.findings_in_file != exec.findings_seen))
        write_graph_file(session, exec);
    for (const liveness::Reference& reference : exec.references)
        release(session, exec, reference);
    exec.references.clear();
    session.by_number.erase(exec.number);
    // Memory that only this one could bring back, and of which nothing was said therefore, stays gone.
    if (session.allocating.erase(&exec) > 0 && std::exchange(session.waits_for_graphs, false))
        look_again(session);
    session.kept_bytes -= std::min(session.kept_bytes, counted_bytes(exec.snapshot));
    session.table.recycle(exec.launches);
    if (session.recording.wanted())
        session.recording.event(
            "destroy", {{"what", "exec"}, {"graph", exec.number}, {"replays", replays}, {"updates", exec.updates}});
}

void* destroying(CUgraphExec handle) noexcept {
    void* leaving = nullptr;
    guarded("destroy", [&](Session& session) {
        const Locked lock(session);
        const auto found = session.execs.find(handle);
        if (found == session.execs.end())
            return;
        (void)session.table.take(handle);
        leaving = found->second.release();
        session.execs.erase(found);
    });
    return leaving;
}

void destroyed(void* leaving, bool succeeded) noexcept {
    if (leaving == nullptr)
        return;
    guarded("destroy", [&](Session& session) {
        std::unique_ptr<Exec> exec(static_cast<Exec*>(leaving));
        const Locked lock(session);
        if (succeeded) {
            retire(session, *exec);
            return;
        }
        session.table.put_back(exec->handle, exec->launches);
        session.execs.insert_or_assign(exec->handle, std::move(exec));
    });
}

}  // namespace keepgraph::session
