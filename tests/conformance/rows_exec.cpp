// SPDX-License-Identifier: Apache-2.0
// Success and error of the rows about executable graphs.
#include <memory>

#include "fixture.h"

using namespace conformance;

namespace {

const CUgraph no_graph = nullptr;
const CUgraphExec no_exec = nullptr;
const CUstream default_stream = nullptr;

template <class Instantiate>
void instantiate_succeeds(Out& out, Instantiate instantiate) {
    const Buffer buffer;
    Graph graph;
    graph.fill(buffer, 3);
    CUgraphExec exec = nullptr;
    out("code", instantiate(&exec, graph));
    out("launch", CU(cuGraphLaunch)(exec, default_stream));
    out("synchronize", CU(cuStreamSynchronize)(default_stream));
    out("result", static_cast<long long>(buffer.first()));
    CU(cuGraphExecDestroy)(exec);
}

template <class Instantiate>
void instantiate_fails(Out& out, Instantiate instantiate) {
    Graph graph;
    CUgraphExec exec = nullptr;
    out("no_graph", instantiate(&exec, no_graph));
    const CUgraphNode a = graph.empty(), b = graph.empty(a);
    if (CU(cuGraphAddDependencies)(static_cast<CUgraph>(graph), &b, &a, size_t{1}) == CUDA_SUCCESS) {
        out("cycle", instantiate(&exec, graph));
    }
    Graph empty;
    const CUresult code = instantiate(&exec, empty);
    out("empty", code);
    if (code == CUDA_SUCCESS)
        CU(cuGraphExecDestroy)(exec);
}

#define INSTANTIATE_PROBES(symbol, ...)                                                                                \
    PROBE(#symbol ".success") {                                                                                        \
        instantiate_succeeds(out,                                                                                      \
                             [](CUgraphExec* exec, CUgraph graph) { return CU(symbol)(exec, graph, __VA_ARGS__); });   \
    }                                                                                                                  \
    PROBE(#symbol ".error") {                                                                                          \
        instantiate_fails(out, [](CUgraphExec* exec, CUgraph graph) { return CU(symbol)(exec, graph, __VA_ARGS__); }); \
    }

}  // namespace

INSTANTIATE_PROBES(cuGraphInstantiate, nullptr, nullptr, size_t{0})
INSTANTIATE_PROBES(cuGraphInstantiate_v2, nullptr, nullptr, size_t{0})
INSTANTIATE_PROBES(cuGraphInstantiateWithFlags, 0ull)

#define WITH_PARAMS_PROBES(symbol)                                        \
    PROBE(#symbol ".success") {                                           \
        instantiate_succeeds(out, [&](CUgraphExec* exec, CUgraph graph) { \
            CUDA_GRAPH_INSTANTIATE_PARAMS params = {};                    \
            const CUresult code = CU(symbol)(exec, graph, &params);       \
            out("result", params.result_out);                             \
            return code;                                                  \
        });                                                               \
    }                                                                     \
    PROBE(#symbol ".error") {                                             \
        instantiate_fails(out, [&](CUgraphExec* exec, CUgraph graph) {    \
            CUDA_GRAPH_INSTANTIATE_PARAMS params = {};                    \
            return CU(symbol)(exec, graph, &params);                      \
        });                                                               \
    }

WITH_PARAMS_PROBES(cuGraphInstantiateWithParams)
WITH_PARAMS_PROBES(cuGraphInstantiateWithParams_ptsz)

PROBE("cuGraphInstantiateWithFlags.flags") {
    Graph graph;
    CUgraphExec exec = nullptr;
    out("unknown", CU(cuGraphInstantiateWithFlags)(&exec, static_cast<CUgraph>(graph), 1ull << 40));
    out("auto_free", CU(cuGraphInstantiateWithFlags)(&exec, static_cast<CUgraph>(graph), 1ull));
    CU(cuGraphExecDestroy)(exec);
}

PROBE("cuGraphLaunch.success") {
    const Buffer buffer;
    const Stream stream;
    Graph graph;
    graph.fill(buffer, 5);
    const Exec exec(graph);
    out("code", CU(cuGraphLaunch)(static_cast<CUgraphExec>(exec), static_cast<CUstream>(stream)));
    out("synchronize", CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    out("result", static_cast<long long>(buffer.first()));
}
PROBE("cuGraphLaunch.error") {
    out("null", CU(cuGraphLaunch)(no_exec, default_stream));
}
PROBE("cuGraphLaunch_ptsz.success") {
    Graph graph;
    graph.empty();
    const Exec exec(graph);
    out("code", CU(cuGraphLaunch_ptsz)(static_cast<CUgraphExec>(exec), default_stream));
    out("synchronize", CU(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
}
PROBE("cuGraphLaunch_ptsz.error") {
    out("null", CU(cuGraphLaunch_ptsz)(no_exec, default_stream));
}

PROBE("cuGraphExecDestroy.success") {
    Graph graph;
    CUgraphExec exec = nullptr;
    MUST(CU(cuGraphInstantiateWithFlags)(&exec, static_cast<CUgraph>(graph), 0ull));
    out("code", CU(cuGraphExecDestroy)(exec));
}
PROBE("cuGraphExecDestroy.error") {
    out("null", CU(cuGraphExecDestroy)(no_exec));
}

namespace {

/// Two templates of one shape, and an executable graph of the first.
struct Pair {
    Pair() {
        node = first.fill(buffer, 1);
        second.fill(buffer, 2);
        holder = std::make_unique<Exec>(first);
        exec = *holder;
    }
    Buffer buffer;
    Graph first, second;
    CUgraphNode node = nullptr;
    std::unique_ptr<Exec> holder;
    CUgraphExec exec = nullptr;
    CUresult run() const { return holder->run(); }
};

CUresult update_v1(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult* result, bool* error_node) {
    CUgraphNode node = nullptr;
    const CUresult code = CU(cuGraphExecUpdate)(exec, graph, &node, result);
    *error_node = node != nullptr;
    return code;
}

CUresult update_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult* result, bool* error_node) {
    CUgraphExecUpdateResultInfo info = {};
    const CUresult code = CU(cuGraphExecUpdate_v2)(exec, graph, &info);
    *result = info.result;
    *error_node = info.errorNode != nullptr;
    return code;
}

template <class Update>
void update_succeeds(Out& out, Update update) {
    Pair pair;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
    bool error_node = true;
    out("code", update(pair.exec, pair.second, &result, &error_node));
    out("result", result);
    out("error_node", error_node);
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}

template <class Update>
void update_fails(Out& out, Update update) {
    Pair pair;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    bool error_node = false;
    out("no_graph", update(pair.exec, no_graph, &result, &error_node));
    auto question = [&](const char* what, CUgraph graph) {
        result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
        out(what, update(pair.exec, graph, &result, &error_node));
        out("result", result);
        out("error_node", error_node);
    };
    Graph other_type;
    other_type.memset(pair.buffer, 0);
    question("other_type", other_type);
    pair.second.empty();
    question("one_node_more", pair.second);
    Graph none;
    question("no_nodes", none);
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}

}  // namespace

PROBE("cuGraphExecUpdate.success") {
    update_succeeds(out, update_v1);
}
PROBE("cuGraphExecUpdate.error") {
    update_fails(out, update_v1);
}
PROBE("cuGraphExecUpdate_v2.success") {
    update_succeeds(out, update_v2);
}
PROBE("cuGraphExecUpdate_v2.error") {
    update_fails(out, update_v2);
}

PROBE("cuGraphExecKernelNodeSetParams.success") {
    Pair pair;
    FillParams fill(pair.buffer, 7);
    const auto params = kernel_params_v1(kernel("kg_fill"), fill.pointers);
    out("code", CU(cuGraphExecKernelNodeSetParams)(pair.exec, pair.node, &params));
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}
PROBE("cuGraphExecKernelNodeSetParams.error") {
    Pair pair;
    FillParams fill(pair.buffer, 7);
    auto params = kernel_params_v1(kernel("kg_fill"), fill.pointers);
    out("no_exec", CU(cuGraphExecKernelNodeSetParams)(no_exec, pair.node, &params));
    params.gridDimX = 0;
    out("no_grid", CU(cuGraphExecKernelNodeSetParams)(pair.exec, pair.node, &params));
}
PROBE("cuGraphExecKernelNodeSetParams_v2.success") {
    Pair pair;
    FillParams fill(pair.buffer, 7);
    const auto params = kernel_params(kernel("kg_fill"), fill.pointers);
    out("code", CU(cuGraphExecKernelNodeSetParams_v2)(pair.exec, pair.node, &params));
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}
PROBE("cuGraphExecKernelNodeSetParams_v2.error") {
    Pair pair;
    FillParams fill(pair.buffer, 7);
    auto params = kernel_params(kernel("kg_fill"), fill.pointers);
    out("no_exec", CU(cuGraphExecKernelNodeSetParams_v2)(no_exec, pair.node, &params));
    params.gridDimX = 0;
    out("no_grid", CU(cuGraphExecKernelNodeSetParams_v2)(pair.exec, pair.node, &params));
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}

PROBE("cuGraphExecMemcpyNodeSetParams.success") {
    Buffer from, other, to;
    other.set(9);
    Graph graph;
    const CUgraphNode node = graph.copy(to, from, 256);
    const Exec exec(graph);
    const auto params = copy_params(to, other, 256);
    out("code", CU(cuGraphExecMemcpyNodeSetParams)(static_cast<CUgraphExec>(exec), node, &params, primary()));
    out("run", exec.run());
    out("value", static_cast<long long>(to.first()));
}
PROBE("cuGraphExecMemcpyNodeSetParams.error") {
    Buffer from, to;
    Graph graph;
    const CUgraphNode node = graph.copy(to, from, 256);
    const CUgraphNode memset = graph.memset(to, 0);
    const Exec exec(graph);
    const auto params = copy_params(to, from, 256);
    out("no_exec", CU(cuGraphExecMemcpyNodeSetParams)(no_exec, node, &params, primary()));
    out("other_type", CU(cuGraphExecMemcpyNodeSetParams)(static_cast<CUgraphExec>(exec), memset, &params, primary()));
}
PROBE("cuGraphExecMemsetNodeSetParams.success") {
    Buffer buffer;
    Graph graph;
    const CUgraphNode node = graph.memset(buffer, 0);
    const Exec exec(graph);
    const auto params = memset_params(buffer, 0x41000000u, 64);  // 8.0f
    out("code", CU(cuGraphExecMemsetNodeSetParams)(static_cast<CUgraphExec>(exec), node, &params, primary()));
    out("run", exec.run());
    out("value", static_cast<long long>(buffer.first()));
}
PROBE("cuGraphExecMemsetNodeSetParams.error") {
    Buffer buffer, other;
    Graph graph;
    const CUgraphNode node = graph.memset(buffer, 0);
    const CUgraphNode copy = graph.copy(other, buffer, 256);
    const Exec exec(graph);
    auto params = memset_params(buffer, 0, 64);
    out("no_exec", CU(cuGraphExecMemsetNodeSetParams)(no_exec, node, &params, primary()));
    out("other_type", CU(cuGraphExecMemsetNodeSetParams)(static_cast<CUgraphExec>(exec), copy, &params, primary()));
    params.elementSize = 3;
    out("element", CU(cuGraphExecMemsetNodeSetParams)(static_cast<CUgraphExec>(exec), node, &params, primary()));
}

namespace {

CUgraphNodeParams fill_node(FillParams& fill) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel.func = kernel("kg_fill");
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = 64;
    params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = fill.pointers;
    return params;
}

}  // namespace

PROBE("cuGraphExecNodeSetParams.success") {
    Pair pair;
    FillParams fill(pair.buffer, 7);
    auto params = fill_node(fill);
    out("code", CU(cuGraphExecNodeSetParams)(pair.exec, pair.node, &params));
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}
PROBE("cuGraphExecNodeSetParams.error") {
    Pair pair;
    FillParams fill(pair.buffer, 7);
    auto params = fill_node(fill);
    out("no_exec", CU(cuGraphExecNodeSetParams)(no_exec, pair.node, &params));
    params.kernel.gridDimX = 0;
    out("no_grid", CU(cuGraphExecNodeSetParams)(pair.exec, pair.node, &params));
}

PROBE("cuGraphExecChildGraphNodeSetParams.success") {
    Buffer buffer;
    Graph inner, other, outer;
    inner.fill(buffer, 1);
    other.fill(buffer, 6);
    const CUgraphNode node = outer.child(inner);
    const Exec exec(outer);
    out("code",
        CU(cuGraphExecChildGraphNodeSetParams)(static_cast<CUgraphExec>(exec), node, static_cast<CUgraph>(other)));
    out("run", exec.run());
    out("value", static_cast<long long>(buffer.first()));
}
PROBE("cuGraphExecChildGraphNodeSetParams.error") {
    Buffer buffer;
    Graph inner, outer, larger;
    inner.fill(buffer, 1);
    larger.fill(buffer, 2, larger.fill(buffer, 1));
    const CUgraphNode node = outer.child(inner);
    const Exec exec(outer);
    out("no_exec", CU(cuGraphExecChildGraphNodeSetParams)(no_exec, node, static_cast<CUgraph>(inner)));
    out("larger",
        CU(cuGraphExecChildGraphNodeSetParams)(static_cast<CUgraphExec>(exec), node, static_cast<CUgraph>(larger)));
}

PROBE("cuGraphNodeSetEnabled.success") {
    Pair pair;
    out("off", CU(cuGraphNodeSetEnabled)(pair.exec, pair.node, 0u));
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
    unsigned enabled = 9;
    out("get", CU(cuGraphNodeGetEnabled)(pair.exec, pair.node, &enabled));
    out("enabled", enabled);
    out("on", CU(cuGraphNodeSetEnabled)(pair.exec, pair.node, 1u));
    out("run", pair.run());
    out("value", static_cast<long long>(pair.buffer.first()));
}
PROBE("cuGraphNodeSetEnabled.error") {
    Graph graph;
    const CUgraphNode node = graph.empty();
    const Exec exec(graph);
    out("no_exec", CU(cuGraphNodeSetEnabled)(no_exec, node, 0u));
    out("empty_node", CU(cuGraphNodeSetEnabled)(static_cast<CUgraphExec>(exec), node, 0u));
}
