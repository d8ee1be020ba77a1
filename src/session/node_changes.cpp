// SPDX-License-Identifier: Apache-2.0
//
// Single nodes of an executable graph that are given new parameters or switched off.
#include <algorithm>

#include "driver/api.h"
#include "session/execs.h"
#include "session/session.h"

namespace keepgraph::session {
namespace {

// How many nodes cannot be looked into: this one, and those below it.
std::uint32_t opaque_nodes(const graph::Snapshot& snapshot, const graph::Place& place) {
    std::uint32_t count = snapshot.node(place).readable ? 0 : 1;
    if (snapshot.node(place).type != CU_GRAPH_NODE_TYPE_GRAPH)
        return count;
    const auto& bodies = snapshot.bodies();
    const std::vector<bool> below = snapshot.bodies_below(place);
    for (std::size_t i = 1; i < bodies.size(); ++i)
        if (below[i])
            count +=
                static_cast<std::uint32_t>(std::count_if(bodies[i].nodes.begin(), bodies[i].nodes.end(),
                                                         [](const graph::Node& inner) { return !inner.readable; }));
    return count;
}

bool by_place(const liveness::Reference& a, const liveness::Reference& b) {
    return a.body != b.body ? a.body < b.body : a.node < b.node;
}

// Takes `found` in the place of the references in [first, first + count). References are sorted by body and node.
void put_in_place(std::vector<liveness::Reference>& references, std::size_t first, std::size_t count,
                  const std::vector<liveness::Reference>& found) {
    const auto at = references.begin() + static_cast<std::ptrdiff_t>(first);
    const auto same = static_cast<std::ptrdiff_t>(std::min(count, found.size()));
    std::copy(found.begin(), found.begin() + same, at);
    if (count > found.size())
        references.erase(at + same, at + static_cast<std::ptrdiff_t>(count));
    else
        references.insert(at + same, found.begin() + same, found.end());
}

// The references of one node, and of the bodies below it, are replaced. Programs that set the
// parameters of every node before each launch must not pay for all references each time.
void replace_references(Session& session, Exec& exec, const graph::Place& place) {
    const KnownDead dead(session, KnownDead::Lock::held);
    liveness::Scan scan;
    if (session.settings.check_inputs)
        scan = liveness::scan_node(exec.snapshot, place, session.seen, &dead);
    const std::vector<liveness::Reference> found = take(session, exec, std::move(scan));
    std::vector<liveness::Reference>& references = exec.references;
    if (exec.snapshot.node(place).type != CU_GRAPH_NODE_TYPE_GRAPH) {
        liveness::Reference wanted;
        wanted.body = place.body;
        wanted.node = place.node;
        const auto [first, last] = std::equal_range(references.begin(), references.end(), wanted, by_place);
        for (auto old = first; old != last; ++old)
            release(session, exec, *old);
        put_in_place(references, static_cast<std::size_t>(first - references.begin()),
                     static_cast<std::size_t>(last - first), found);
        return;
    }
    const std::vector<bool> below = exec.snapshot.bodies_below(place);
    const auto goes = [&](const liveness::Reference& reference) {
        return reference.body >= below.size() || below[reference.body];  // the node itself has none
    };
    for (const liveness::Reference& reference : references)
        if (goes(reference))
            release(session, exec, reference);
    std::erase_if(references, goes);
    const auto middle = static_cast<std::ptrdiff_t>(references.size());
    references.insert(references.end(), found.begin(), found.end());
    std::inplace_merge(references.begin(), references.begin() + middle, references.end(), by_place);
}

// Finds the node and lets `change` tell the snapshot; then looks at what the node refers to now, unless its parameters
// stayed: of memory that died since they were read another look would find nothing.
template <class Change>
void change_node(const char* call, CUgraphExec handle, CUgraphNode node, Change change,
                 bool new_parameters = true) noexcept {
    guarded("node change", [&](Session& session) {
        const driver::RelaxedCapture relaxed;
        const Locked lock(session);
        const auto found = session.execs.find(handle);
        graph::Place place;
        if (found == session.execs.end())
            return;
        Exec& exec = *found->second;
        if (!exec.snapshot.find(node, place)) {
            if (exec.snapshot.handles_lost()) {
                lose_sight(session, exec);
                note_update(session, exec, call, nullptr);
            }
            return;
        }
        const std::size_t before = counted_bytes(exec.snapshot);
        const std::uint32_t opaque = exec.opaque > 0 && new_parameters ? opaque_nodes(exec.snapshot, place) : 0;
        exec.nodes_named = exec.nodes_named || exec.snapshot.node(place).type != CU_GRAPH_NODE_TYPE_GRAPH;
        if (!change(session, exec, place))
            exec.snapshot.set_unreadable(place);
        exec.opaque -= opaque;
        session.opaque -= opaque;
        if (new_parameters) {
            replace_references(session, exec, place);
        } else if (refers_to_dead(exec)) {
            exec.launches->attention.store(true, std::memory_order_release);  // what was off may have died meanwhile
        }
        if (exec.snapshot.data_dropped())
            exec.snapshot.drop_data_of(place);
        session.kept_bytes += counted_bytes(exec.snapshot) - before;
        note_update(session, exec, call, &place);
    });
}

CUDA_KERNEL_NODE_PARAMS as_v2(const CUDA_KERNEL_NODE_PARAMS_v3& params) {
    CUDA_KERNEL_NODE_PARAMS result{};
    result.func = params.func;
    result.gridDimX = params.gridDimX;
    result.gridDimY = params.gridDimY;
    result.gridDimZ = params.gridDimZ;
    result.blockDimX = params.blockDimX;
    result.blockDimY = params.blockDimY;
    result.blockDimZ = params.blockDimZ;
    result.sharedMemBytes = params.sharedMemBytes;
    result.kernelParams = params.kernelParams;
    result.extra = params.extra;
    result.kern = params.kern;
    result.ctx = params.ctx;
    return result;
}

}  // namespace

void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params) noexcept {
    change_node(call, exec, node, [&](Session& session, Exec& changed, const graph::Place& place) {
        return changed.snapshot.set_kernel(place, params, session.functions);
    });
}

void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& params) noexcept {
    change_node(call, exec, node, [&](Session&, Exec& changed, const graph::Place& place) {
        return changed.snapshot.set_copy(place, params);
    });
}

void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& params) noexcept {
    change_node(call, exec, node, [&](Session&, Exec& changed, const graph::Place& place) {
        return changed.snapshot.set_memset(place, params);
    });
}

void node_set(const char* call, CUgraphExec exec, CUgraphNode node, CUgraph child) noexcept {
    change_node(call, exec, node, [&](Session& session, Exec& changed, const graph::Place& place) {
        std::vector<std::uint32_t> moved;
        if (!changed.snapshot.set_child(place, graph::Snapshot::read(child, session.functions), moved))
            return false;
        for (liveness::Reference& reference : changed.references)
            reference.body = moved[reference.body];
        return true;
    });
}

void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& params) noexcept {
    switch (params.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return node_set(call, exec, node, as_v2(params.kernel));
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return node_set(call, exec, node, params.memcpy.copyParams);
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const auto& from = params.memset;
            return node_set(
                call, exec, node,
                CUDA_MEMSET_NODE_PARAMS{from.dst, from.pitch, from.value, from.elementSize, from.width, from.height});
        }
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return node_set(call, exec, node, params.graph.graph);
        case CU_GRAPH_NODE_TYPE_HOST:
            return change_node(call, exec, node, [&](Session&, Exec& changed, const graph::Place& place) {
                return changed.snapshot.set_host(place, {params.host.fn, params.host.userData});
            });
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return change_node(call, exec, node, [&](Session&, Exec& changed, const graph::Place& place) {
                return changed.snapshot.set_event(place, params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT
                                                             ? params.eventWait.event
                                                             : params.eventRecord.event);
            });
        default:  // nothing of these types is looked into anyway
            return change_node(call, exec, node, [](Session&, Exec&, const graph::Place&) { return false; });
    }
}

void node_enabled(const char* call, CUgraphExec exec, CUgraphNode node, bool enabled) noexcept {
    change_node(
        call, exec, node,
        [&](Session&, Exec& changed, const graph::Place& place) {
            changed.snapshot.set_enabled(place, enabled);
            return changed.snapshot.node(place).readable;
        },
        false);
}

}  // namespace keepgraph::session
