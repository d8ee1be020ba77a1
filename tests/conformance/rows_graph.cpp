// SPDX-License-Identifier: Apache-2.0
// Success and error of the rows that make and edit templates.
#include <cstring>

#include "fixture.h"

using namespace conformance;

namespace {

const CUgraph no_graph = nullptr;
constexpr size_t none = 0;

void host_function(void*) {}

/// Every Add function: added to an empty graph; after a node; with no graph; twice after
/// the same node; after a node of another graph.
template <class Add>
void add_succeeds(Out& out, CUgraphNodeType type, Add add) {
    Graph graph;
    CUgraphNode first = nullptr, second = nullptr;
    out("first", add(&first, graph, nullptr, none));
    out("after_it", add(&second, graph, &first, size_t{1}));
    CUgraphNodeType found = CU_GRAPH_NODE_TYPE_EMPTY;
    MUST(CU(cuGraphNodeGetType)(second, &found));
    out("type", found == type);
    size_t roots = 0;
    MUST(CU(cuGraphGetRootNodes)(static_cast<CUgraph>(graph), nullptr, &roots));
    out("roots", static_cast<long long>(roots));
}

template <class Add>
void add_fails(Out& out, Add add) {
    Graph graph, other;
    CUgraphNode node = nullptr;
    const CUgraphNode foreign = other.empty();
    const CUgraphNode own = graph.empty();
    const CUgraphNode same[] = {own, own};
    out("no_graph", add(&node, no_graph, nullptr, none));
    out("foreign_dependency", add(&node, graph, &foreign, size_t{1}));
    out("same_dependency_twice", add(&node, graph, same, size_t{2}));
    out("nodes", static_cast<long long>(node_count(graph)));
}

#define ADD_PROBES(symbol, type, setup, ...)                                                                    \
    PROBE(#symbol ".success") {                                                                                 \
        setup;                                                                                                  \
        add_succeeds(out, type, [&](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) { \
            return CU(symbol)(node, graph, after, count, __VA_ARGS__);                                          \
        });                                                                                                     \
    }                                                                                                           \
    PROBE(#symbol ".error") {                                                                                   \
        setup;                                                                                                  \
        add_fails(out, [&](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {          \
            return CU(symbol)(node, graph, after, count, __VA_ARGS__);                                          \
        });                                                                                                     \
    }

struct Inputs {
    Buffer a, b;
    FillParams fill{a, 1};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(conformance::kernel("kg_fill"), fill.pointers);
    CUDA_KERNEL_NODE_PARAMS_v1 kernel_v1 = kernel_params_v1(conformance::kernel("kg_fill"), fill.pointers);
    CUDA_MEMCPY3D copy = copy_params(b, a, 256);
    CUDA_MEMSET_NODE_PARAMS memset = memset_params(a, 0, 64);
    CUDA_HOST_NODE_PARAMS host = {host_function, nullptr};
    Event event;
    Graph child;
};

CUgraphNodeParams host_params() {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_HOST;
    params.host.fn = host_function;
    return params;
}

CUDA_MEM_ALLOC_NODE_PARAMS alloc_params() {
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.poolProps.location.id = 0;
    params.bytesize = 256;
    return params;
}

}  // namespace

PROBE("cuGraphDestroy.success") {
    CUgraph graph = nullptr;
    MUST(CU(cuGraphCreate)(&graph, 0u));
    out("code", CU(cuGraphDestroy)(graph));
}
PROBE("cuGraphDestroy.error") {
    out("null", CU(cuGraphDestroy)(no_graph));
    Graph parent, child;
    child.empty();
    const CUgraphNode node = parent.child(child);
    CUgraph inner = nullptr;
    MUST(CU(cuGraphChildGraphNodeGetGraph)(node, &inner));
    out("of_a_child_node", CU(cuGraphDestroy)(inner));
}

ADD_PROBES(cuGraphAddKernelNode, CU_GRAPH_NODE_TYPE_KERNEL, Inputs in, &in.kernel_v1)
ADD_PROBES(cuGraphAddKernelNode_v2, CU_GRAPH_NODE_TYPE_KERNEL, Inputs in, &in.kernel)
ADD_PROBES(cuGraphAddMemcpyNode, CU_GRAPH_NODE_TYPE_MEMCPY, Inputs in, &in.copy, primary())
ADD_PROBES(cuGraphAddMemsetNode, CU_GRAPH_NODE_TYPE_MEMSET, Inputs in, &in.memset, primary())
ADD_PROBES(cuGraphAddHostNode, CU_GRAPH_NODE_TYPE_HOST, Inputs in, &in.host)
ADD_PROBES(cuGraphAddChildGraphNode, CU_GRAPH_NODE_TYPE_GRAPH, Inputs in, static_cast<CUgraph>(in.child))
ADD_PROBES(cuGraphAddEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, Inputs in, static_cast<CUevent>(in.event))
ADD_PROBES(cuGraphAddEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, Inputs in, static_cast<CUevent>(in.event))
ADD_PROBES(cuGraphAddMemAllocNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, auto params = alloc_params(), &params)
ADD_PROBES(cuGraphAddNode, CU_GRAPH_NODE_TYPE_HOST, auto params = host_params(), &params)

PROBE("cuGraphAddEmptyNode.success") {
    add_succeeds(out, CU_GRAPH_NODE_TYPE_EMPTY,
                 [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
                     return CU(cuGraphAddEmptyNode)(node, graph, after, count);
                 });
}
PROBE("cuGraphAddEmptyNode.error") {
    add_fails(out, [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
        return CU(cuGraphAddEmptyNode)(node, graph, after, count);
    });
}
PROBE("cuGraphAddNode_v2.success") {
    auto params = host_params();
    add_succeeds(out, CU_GRAPH_NODE_TYPE_HOST,
                 [&](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
                     return CU(cuGraphAddNode_v2)(node, graph, after, nullptr, count, &params);
                 });
}
PROBE("cuGraphAddNode_v2.error") {
    auto params = host_params();
    add_fails(out, [&](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
        return CU(cuGraphAddNode_v2)(node, graph, after, nullptr, count, &params);
    });
    Graph graph;
    CUgraphNode node = nullptr;
    params.type = static_cast<CUgraphNodeType>(99);
    out("type", CU(cuGraphAddNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, nullptr, none, &params));
}
PROBE("cuGraphAddMemFreeNode.success") {
    Graph graph;
    auto params = alloc_params();
    CUgraphNode alloc = nullptr, free = nullptr;
    MUST(CU(cuGraphAddMemAllocNode)(&alloc, static_cast<CUgraph>(graph), nullptr, none, &params));
    out("free", CU(cuGraphAddMemFreeNode)(&free, static_cast<CUgraph>(graph), &alloc, size_t{1}, params.dptr));
}
PROBE("cuGraphAddMemFreeNode.error") {
    Graph graph;
    CUgraphNode free = nullptr;
    out("no_graph", CU(cuGraphAddMemFreeNode)(&free, no_graph, nullptr, none, CUdeviceptr{0}));
    out("no_address", CU(cuGraphAddMemFreeNode)(&free, static_cast<CUgraph>(graph), nullptr, none, CUdeviceptr{0}));
}

PROBE("cuGraphAddKernelNode_v2.parameters") {
    Inputs in;
    Graph graph;
    CUgraphNode node = nullptr;
    in.kernel.gridDimX = 0;
    out("no_grid", CU(cuGraphAddKernelNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.kernel));
    in.kernel.gridDimX = 1;
    in.kernel.blockDimX = 2048;
    out("large_block", CU(cuGraphAddKernelNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.kernel));
    in.kernel.blockDimX = 64;
    in.kernel.func = nullptr;
    out("no_function", CU(cuGraphAddKernelNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.kernel));
}
PROBE("cuGraphAddMemcpyNode.parameters") {
    Inputs in;
    Graph graph;
    CUgraphNode node = nullptr;
    in.copy.srcMemoryType = static_cast<CUmemorytype>(9);
    out("type", CU(cuGraphAddMemcpyNode)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.copy, primary()));
    in.copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    out("no_context", CU(cuGraphAddMemcpyNode)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.copy, nullptr));
}
PROBE("cuGraphAddMemsetNode.parameters") {
    Inputs in;
    Graph graph;
    CUgraphNode node = nullptr;
    in.memset.elementSize = 3;
    out("element", CU(cuGraphAddMemsetNode)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.memset, primary()));
    in.memset.elementSize = 4;
    in.memset.dst += 2;
    out("alignment",
        CU(cuGraphAddMemsetNode)(&node, static_cast<CUgraph>(graph), nullptr, none, &in.memset, primary()));
}

namespace {

enum class Form { v1, v2 };

CUresult add_edge(Form form, CUgraph graph, CUgraphNode from, CUgraphNode to) {
    return form == Form::v1 ? CU(cuGraphAddDependencies)(graph, &from, &to, size_t{1})
                            : CU(cuGraphAddDependencies_v2)(graph, &from, &to, nullptr, size_t{1});
}

CUresult remove_edge(Form form, CUgraph graph, CUgraphNode from, CUgraphNode to) {
    return form == Form::v1 ? CU(cuGraphRemoveDependencies)(graph, &from, &to, size_t{1})
                            : CU(cuGraphRemoveDependencies_v2)(graph, &from, &to, nullptr, size_t{1});
}

size_t edge_count(CUgraph graph) {
    size_t count = 0;
    MUST(CU(cuGraphGetEdges_v2)(graph, nullptr, nullptr, nullptr, &count));
    return count;
}

void edit_succeeds(Out& out, Form form) {
    Graph graph;
    const CUgraphNode a = graph.empty(), b = graph.empty();
    out("add", add_edge(form, graph, a, b));
    out("edges", static_cast<long long>(edge_count(graph)));
    out("remove", remove_edge(form, graph, a, b));
    out("edges", static_cast<long long>(edge_count(graph)));
}

void add_edge_fails(Out& out, Form form) {
    Graph graph, other;
    const CUgraphNode a = graph.empty(), b = graph.empty(a), foreign = other.empty();
    out("no_graph", add_edge(form, no_graph, a, b));
    out("again", add_edge(form, graph, a, b));
    out("to_itself", add_edge(form, graph, a, a));
    out("foreign", add_edge(form, graph, a, foreign));
    out("edges", static_cast<long long>(edge_count(graph)));
}

void remove_edge_fails(Out& out, Form form) {
    Graph graph;
    const CUgraphNode a = graph.empty(), b = graph.empty();
    out("no_graph", remove_edge(form, no_graph, a, b));
    out("no_edge", remove_edge(form, graph, a, b));
}

}  // namespace

PROBE("cuGraphAddDependencies.success") {
    edit_succeeds(out, Form::v1);
}
PROBE("cuGraphAddDependencies_v2.success") {
    edit_succeeds(out, Form::v2);
}
PROBE("cuGraphRemoveDependencies.success") {
    edit_succeeds(out, Form::v1);
}
PROBE("cuGraphRemoveDependencies_v2.success") {
    edit_succeeds(out, Form::v2);
}
PROBE("cuGraphAddDependencies.error") {
    add_edge_fails(out, Form::v1);
}
PROBE("cuGraphAddDependencies_v2.error") {
    add_edge_fails(out, Form::v2);
}
PROBE("cuGraphRemoveDependencies.error") {
    remove_edge_fails(out, Form::v1);
}
PROBE("cuGraphRemoveDependencies_v2.error") {
    remove_edge_fails(out, Form::v2);
}

PROBE("cuGraphDestroyNode.success") {
    Graph graph;
    const CUgraphNode a = graph.empty(), b = graph.empty(a);
    graph.empty(b);
    out("code", CU(cuGraphDestroyNode)(b));
    out("nodes", static_cast<long long>(node_count(graph)));
    out("edges", static_cast<long long>(edge_count(graph)));
}
PROBE("cuGraphDestroyNode.error") {
    out("null", CU(cuGraphDestroyNode)(nullptr));
}
