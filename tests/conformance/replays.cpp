// SPDX-License-Identifier: Apache-2.0
// Replays: what goes wrong silently, what survives the template, and updates.
//
// Freed inputs are small cuMemAlloc blocks alone: the driver keeps their page, so a GPU survives these probes. Replays
// after the event or the module of a node is gone are not here: the first hung an H200, and the second runs code that
// may be gone.
#include <atomic>
#include <ctime>
#include <memory>

#include "fixture.h"

using namespace conformance;

namespace {

struct Replay {
    Replay() {
        input.set(21);
        graph.twice(input, result);
        exec.reset(new Exec(graph));
    }
    Buffer input, result;
    Graph graph;
    std::unique_ptr<Exec> exec;
};

}  // namespace

PROBE("replay.healthy") {
    Replay replay;
    out("run", replay.exec->run());
    out("value", static_cast<long long>(replay.result.first()));
    replay.input.set(4);
    out("run", replay.exec->run());
    out("value", static_cast<long long>(replay.result.first()));
}
PROBE("replay.freed_input") {
    Replay replay;
    replay.input.free();
    out("run", replay.exec->run());
}
PROBE("replay.recycled_address") {
    Replay replay;
    const CUdeviceptr was = replay.input;
    replay.input.free();
    Buffer again;
    again.set(50);
    out("same_address", static_cast<CUdeviceptr>(again) == was);
    out("run", replay.exec->run());
    out("value", static_cast<long long>(replay.result.first()));
}
PROBE("replay.template_destroyed") {
    Buffer x;
    std::unique_ptr<Exec> exec;
    {
        Graph graph;
        graph.fill(x, 8);
        exec.reset(new Exec(graph));
    }
    out("run", exec->run());
    out("value", static_cast<long long>(x.first()));
}
PROBE("replay.template_changed") {
    Buffer x;
    Graph graph;
    const CUgraphNode node = graph.fill(x, 8);
    const Exec exec(graph);
    FillParams fill(x, 9);
    const auto params = kernel_params(kernel("kg_fill"), fill.pointers);
    out("set", CU(cuGraphKernelNodeSetParams_v2)(node, &params));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
PROBE("replay.event_record") {
    Graph graph;
    const Event event;
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddEventRecordNode)(&node, static_cast<CUgraph>(graph), nullptr, size_t{0},
                                       static_cast<CUevent>(event)));
    const Exec exec(graph);
    out("run", exec.run());
    out("query", CU(cuEventQuery)(static_cast<CUevent>(event)));
}
PROBE("replay.order") {
    // A chain of nodes that were added against the order of their edges.
    Buffer x, y;
    Graph graph;
    const CUgraphNode last = graph.twice(x, y);
    const CUgraphNode first = graph.fill(x, 10);
    MUST(CU(cuGraphAddDependencies)(static_cast<CUgraph>(graph), &first, &last, size_t{1}));
    const Exec exec(graph);
    out("run", exec.run());
    out("value", static_cast<long long>(y.first()));
}
PROBE("replay.host_function") {
    static int calls;
    calls = 0;
    CUDA_HOST_NODE_PARAMS params = {[](void*) { ++calls; }, nullptr};
    Graph graph;
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddHostNode)(&node, static_cast<CUgraph>(graph), nullptr, size_t{0}, &params));
    const Exec exec(graph);
    out("run", exec.run());
    out("run", exec.run());
    out("calls", calls);
}
PROBE("replay.child_graph") {
    Buffer x;
    Graph inner, outer;
    inner.fill(x, 12);
    outer.child(inner);
    const Exec exec(outer);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
// A node of the graph inside a child graph node, as cuGraphChildGraphNodeGetGraph gives it.
PROBE("replay.child_node_set") {
    Buffer x;
    Graph inner, outer;
    inner.fill(x, 12);
    const CUgraphNode holder = outer.child(inner);
    const Exec exec(outer);
    CUgraph found = nullptr;
    CUgraphNode node = nullptr;
    size_t count = 1;
    MUST(CU(cuGraphChildGraphNodeGetGraph)(holder, &found));
    MUST(CU(cuGraphGetNodes)(found, &node, &count));
    FillParams fill(x, 9);
    const auto params = kernel_params(kernel("kg_fill"), fill.pointers);
    out("set", CU(cuGraphExecKernelNodeSetParams_v2)(static_cast<CUgraphExec>(exec), node, &params));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    out("enable", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), node, 0u));
}
// A node that was switched off, when the whole exec, or the child graph that it is in, is set to other parameters.
PROBE("replay.update_leaves_off") {
    Buffer x;
    Graph graph, later;
    const CUgraphNode node = graph.fill(x, 1);
    later.fill(x, 2);
    x.set(9);
    const Exec exec(graph);
    out("off", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), node, 0u));
    CUgraphExecUpdateResultInfo info = {};
    out("update", CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(exec), static_cast<CUgraph>(later), &info));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    out("on", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), node, 1u));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
PROBE("replay.set_child_leaves_off") {
    Buffer x;
    Graph inner, outer, later;
    inner.fill(x, 1);
    later.fill(x, 2);
    const CUgraphNode holder = outer.child(inner);
    x.set(9);
    const Exec exec(outer);
    CUgraph found = nullptr;
    CUgraphNode node = nullptr;
    size_t count = 1;
    MUST(CU(cuGraphChildGraphNodeGetGraph)(holder, &found));
    MUST(CU(cuGraphGetNodes)(found, &node, &count));
    out("off", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), node, 0u));
    out("set",
        CU(cuGraphExecChildGraphNodeSetParams)(static_cast<CUgraphExec>(exec), holder, static_cast<CUgraph>(later)));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    out("on", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), node, 1u));
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
PROBE("replay.clone") {
    Buffer x;
    Graph graph;
    const CUgraphNode node = graph.fill(x, 13);
    CUgraph clone = nullptr;
    out("clone", CU(cuGraphClone)(&clone, static_cast<CUgraph>(graph)));
    CUgraphNode found = nullptr;
    out("find", CU(cuGraphNodeFindInClone)(&found, node, clone));
    out("another_node", found != nullptr && found != node);
    {
        const Exec exec(clone);
        out("run", exec.run());
    }
    out("value", static_cast<long long>(x.first()));
    CU(cuGraphDestroy)(clone);
}
PROBE("replay.two_execs") {
    Buffer x;
    Graph graph;
    graph.fill(x, 1);
    const Exec first(graph);
    graph.fill(x, 2);
    const Exec second(graph);
    CUgraphExecUpdateResultInfo info = {};
    out("update_first", CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(first), static_cast<CUgraph>(graph), &info));
    out("result", info.result);
    out("update_second",
        CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(second), static_cast<CUgraph>(graph), &info));
    out("result", info.result);
    out("runs", first.run() == CUDA_SUCCESS && second.run() == CUDA_SUCCESS);
}
PROBE("replay.update_function") {
    Buffer x, y;
    x.set(3);
    Graph fill, twice;
    fill.fill(y, 1);
    twice.twice(x, y);
    const Exec exec(fill);
    CUgraphExecUpdateResultInfo info = {};
    out("update", CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(exec), static_cast<CUgraph>(twice), &info));
    out("result", info.result);
    out("run", exec.run());
    out("value", static_cast<long long>(y.first()));
}
PROBE("replay.update_edge") {
    Buffer x;
    Graph chain, pair;
    chain.fill(x, 2, chain.fill(x, 1));
    pair.fill(x, 1);
    pair.fill(x, 2);
    const Exec exec(chain);
    CUgraphExecUpdateResultInfo info = {};
    out("update", CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(exec), static_cast<CUgraph>(pair), &info));
    out("result", info.result);
    out("error_node", info.errorNode != nullptr);
    out("from_node", info.errorFromNode != nullptr);
}
PROBE("replay.update_memcpy_kind") {
    Buffer x, y;
    float host[64] = {};
    Graph device, from_host;
    device.copy(y, x, 256);
    auto params = copy_params(y, 0, 256);
    params.srcMemoryType = CU_MEMORYTYPE_HOST;
    params.srcHost = host;
    CUgraphNode node = nullptr;
    MUST(CU(cuGraphAddMemcpyNode)(&node, static_cast<CUgraph>(from_host), nullptr, size_t{0}, &params, primary()));
    const Exec exec(device);
    CUgraphExecUpdateResultInfo info = {};
    out("update", CU(cuGraphExecUpdate_v2)(static_cast<CUgraphExec>(exec), static_cast<CUgraph>(from_host), &info));
    out("result", info.result);
}
PROBE("replay.upload") {
    Graph graph;
    graph.empty();
    const Exec exec(graph);
    const Stream stream;
    out("upload", CU(cuGraphUpload)(static_cast<CUgraphExec>(exec), static_cast<CUstream>(stream)));
    cuuint64_t flags = 9;
    out("flags", CU(cuGraphExecGetFlags)(static_cast<CUgraphExec>(exec), &flags));
    out("are", static_cast<long long>(flags));
}
PROBE("replay.user_objects") {
    static std::atomic<int> destroyed;
    destroyed = 0;
    CUuserObject object = nullptr;
    out("create", CU(cuUserObjectCreate)(&object, nullptr, static_cast<CUhostFn>([](void*) { ++destroyed; }), 1u, 1u));
    CUgraph graph = nullptr;
    MUST(CU(cuGraphCreate)(&graph, 0u));
    out("move", CU(cuGraphRetainUserObject)(graph, object, 1u, 1u));
    CUgraphExec exec = nullptr;
    MUST(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0ull));
    MUST(CU(cuGraphDestroy)(graph));
    out("after_graph", destroyed);
    MUST(CU(cuGraphExecDestroy)(exec));
    MUST(CU(cuCtxSynchronize)());
    // The driver calls the destructor from a thread of its own, soon.
    for (int i = 0; i < 1000 && destroyed == 0; ++i) {
        const timespec moment = {0, 1000000};
        nanosleep(&moment, nullptr);
    }
    out("after_exec", destroyed);
}
PROBE("replay.handles") {
    // A destroyed object's handle comes back for a later one, on a real driver not always for the next.
    CUgraph graph = nullptr;
    MUST(CU(cuGraphCreate)(&graph, 0u));
    CUgraphExec first = nullptr, second = nullptr;
    MUST(CU(cuGraphInstantiateWithFlags)(&first, graph, 0ull));
    MUST(CU(cuGraphExecDestroy)(first));
    bool reused = false;
    for (int i = 0; i < 64; ++i) {
        MUST(CU(cuGraphInstantiateWithFlags)(&second, graph, 0ull));
        reused = reused || first == second;
        MUST(CU(cuGraphExecDestroy)(second));
    }
    out("exec_reused", reused);
    MUST(CU(cuGraphDestroy)(graph));
}
