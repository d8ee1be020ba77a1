// SPDX-License-Identifier: Apache-2.0
// Which nodes an update pairs: after it a node is set by its handle in the first template, and the values tell which of
// the others it was. NVIDIA documents that nodes without outgoing edges are paired in their order, then the incoming
// edges of each pair in theirs.
#include <initializer_list>

#include "fixture.h"

using namespace conformance;

namespace {

void update(Out& out, const Exec& exec, const Graph& later) {
    CUgraphExecUpdateResultInfo info = {};
    out("update", CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(exec), static_cast<CUgraph>(later), &info));
    out("result", info.result);
    out("error_node", info.errorNode != nullptr);
    out("from_node", info.errorFromNode != nullptr);
}

void set_fill(Out& out, const Exec& exec, CUgraphNode node, CUdeviceptr to, float value) {
    FillParams fill(to, value);
    const auto params = kernel_params(kernel("kg_fill"), fill.pointers);
    out("set", CU(cuGraphExecKernelNodeSetParams_v2)(static_cast<CUgraphExec>(exec), node, &params));
}

/// The edges are added one by one, in this order.
void behind(const Graph& graph, CUgraphNode node, std::initializer_list<CUgraphNode> before) {
    for (const CUgraphNode from : before)
        MUST(CU(cuGraphAddDependencies)(static_cast<CUgraph>(graph), &from, &node, size_t{1}));
}

}  // namespace

PROBE("replay.update_other_order") {
    Buffer x, other;
    Graph graph, later;
    const CUgraphNode first = graph.fill(x, 1);
    const CUgraphNode last = graph.fill(x, 2, first);
    const CUgraphNode later_last = later.fill(x, 20);
    behind(later, later_last, {later.fill(x, 10)});
    const Exec exec(graph);
    update(out, exec, later);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    set_fill(out, exec, first, other, 7);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    out("other", static_cast<long long>(other.first()));
    set_fill(out, exec, last, x, 30);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
PROBE("replay.update_other_order_functions") {
    Buffer x, y;
    Graph graph, later;
    const CUgraphNode first = graph.fill(x, 1);
    graph.twice(x, y, first);
    const CUgraphNode later_last = later.twice(x, y);
    behind(later, later_last, {later.fill(x, 10)});
    const Exec exec(graph);
    update(out, exec, later);
    out("run", exec.run());
    out("value", static_cast<long long>(y.first()));
    set_fill(out, exec, first, x, 6);
    out("run", exec.run());
    out("value", static_cast<long long>(y.first()));
}
PROBE("replay.update_other_order_leaves_off") {
    Buffer x;
    Graph graph, later;
    const CUgraphNode first = graph.fill(x, 1);
    const CUgraphNode last = graph.fill(x, 2, first);
    const CUgraphNode later_last = later.fill(x, 20);
    behind(later, later_last, {later.fill(x, 10)});
    const Exec exec(graph);
    out("off", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), last, 0u));
    update(out, exec, later);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
// Two nodes without edges: they are paired in their order, whatever they run.
PROBE("replay.update_independent_other_order") {
    Buffer x, y, other;
    Graph graph, later;
    const CUgraphNode first = graph.fill(x, 1);
    graph.twice(x, y);
    later.twice(x, y);
    later.fill(x, 5);
    const Exec exec(graph);
    update(out, exec, later);
    x.set(3);
    set_fill(out, exec, first, other, 7);
    out("run", exec.run());
    out("x", static_cast<long long>(x.first()));
    out("y", static_cast<long long>(y.first()));
    out("other", static_cast<long long>(other.first()));
}
PROBE("replay.update_independent_other_types") {
    Buffer x, y;
    Graph graph, later;
    graph.fill(x, 1);
    graph.memset(y, 2);
    later.memset(y, 2);
    later.fill(x, 1);
    update(out, Exec(graph), later);
}
// Two predecessors whose edges to their successor were added in the other order.
PROBE("replay.update_other_edge_order") {
    Buffer x, y, other;
    Graph graph, later;
    const CUgraphNode first = graph.fill(x, 1);
    behind(graph, graph.empty(), {first, graph.fill(y, 2)});
    const CUgraphNode later_first = later.fill(x, 10);
    behind(later, later.empty(), {later.fill(y, 20), later_first});
    const Exec exec(graph);
    update(out, exec, later);
    out("run", exec.run());
    out("x", static_cast<long long>(x.first()));
    out("y", static_cast<long long>(y.first()));
    x.set(0);
    y.set(0);
    set_fill(out, exec, first, other, 7);
    out("run", exec.run());
    out("x", static_cast<long long>(x.first()));
    out("y", static_cast<long long>(y.first()));
    out("other", static_cast<long long>(other.first()));
}
PROBE("replay.update_more_sinks") {
    Graph fork, chain;
    const CUgraphNode root = fork.empty();
    fork.empty(root);
    fork.empty(root);
    chain.empty(chain.empty(chain.empty()));
    update(out, Exec(chain), fork);
}
PROBE("replay.update_fewer_sinks") {
    Graph fork, chain;
    const CUgraphNode root = fork.empty();
    fork.empty(root);
    fork.empty(root);
    chain.empty(chain.empty(chain.empty()));
    update(out, Exec(fork), chain);
}
// A child graph that is set is not paired so: its nodes must have been made in the same order.
PROBE("replay.set_child_other_order") {
    Buffer x;
    Graph inner, outer, later;
    inner.fill(x, 2, inner.fill(x, 1));
    const CUgraphNode later_last = later.fill(x, 20);
    behind(later, later_last, {later.fill(x, 10)});
    const CUgraphNode holder = outer.child(inner);
    const Exec exec(outer);
    CUgraph found = nullptr;
    CUgraphNode nodes[2] = {};
    size_t count = 2;
    MUST(CU(cuGraphChildGraphNodeGetGraph)(holder, &found));
    MUST(CU(cuGraphGetNodes)(found, nodes, &count));
    out("set",
        CU(cuGraphExecChildGraphNodeSetParams)(static_cast<CUgraphExec>(exec), holder, static_cast<CUgraph>(later)));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    out("off", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), nodes[1], 0u));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
