// SPDX-License-Identifier: Apache-2.0
// Templates: making, copying, reading and editing them. Their nodes' parameters are in graph_nodes.cpp.
#include "graph.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "capture.h"
#include "context.h"
#include "function.h"

namespace keepgraph::sim {
namespace {

std::vector<Dependency>::iterator edge_to(std::vector<Dependency>& edges, const Node* node) {
    return std::find_if(edges.begin(), edges.end(), [&](const Dependency& edge) { return edge.node == node; });
}

void disconnect(Node* from, Node* to) {
    from->before.erase(edge_to(from->before, to));
    to->after.erase(edge_to(to->after, from));
}

void destroy_node(Node* node) {
    while (!node->after.empty())
        disconnect(node->after.front().node, node);
    while (!node->before.empty())
        disconnect(node, node->before.front().node);
    if (const auto* child = std::get_if<ChildWork>(&node->work))
        destroy_graph(child->graph);
    std::erase(node->graph->nodes, node);
    pool<Node>().give(node);
}

/// The two-step protocol of all list getters: count alone, or up to *count items; missing ones are null.
template <class Item>
CUresult hand_out(const std::vector<Item>& all, Item* out, size_t* count) {
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (out == nullptr) {
        *count = all.size();
        return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < *count; ++i)
        out[i] = i < all.size() ? all[i] : Item{};
    *count = std::min(*count, all.size());
    return CUDA_SUCCESS;
}

bool is_plain(const CUgraphEdgeData& edge) {
    return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0;
}

CUresult edges_of(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    if (count == nullptr || (from == nullptr) != (to == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const auto* graph = find<Graph>(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    size_t found = 0;
    for (Node* node : graph->nodes) {
        for (const Dependency& edge : node->before) {
            if (from != nullptr && found < *count) {
                if (data == nullptr && !is_plain(edge.edge))
                    return CUDA_ERROR_LOSSY_QUERY;
                from[found] = handle_of<CUgraphNode>(node);
                to[found] = handle_of<CUgraphNode>(edge.node);
                if (data != nullptr)
                    data[found] = edge.edge;
            }
            ++found;
        }
    }
    if (from != nullptr) {
        for (size_t i = found; i < *count; ++i)
            from[i] = to[i] = nullptr;
        found = std::min(found, *count);
    }
    *count = found;
    return CUDA_SUCCESS;
}

CUresult neighbours(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count,
                    std::vector<Dependency> Node::*side) {
    const Locked lock;
    const auto* node = find<Node>(handle);
    if (node == nullptr || count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> nodes;
    std::vector<CUgraphEdgeData> edges;
    for (const Dependency& edge : node->*side) {
        nodes.push_back(handle_of<CUgraphNode>(edge.node));
        edges.push_back(edge.edge);
    }
    if (data != nullptr) {
        size_t same = *count;
        hand_out(edges, data, &same);
    }
    return hand_out(nodes, out, count);
}

enum class Edit { add, remove };

CUresult edit(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, size_t count,
              Edit what) {
    const Locked lock;
    auto* graph = find<Graph>(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (count == 0)
        return CUDA_SUCCESS;
    if (from == nullptr || to == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    // All are checked before any is made: a failed call changes nothing.
    for (size_t i = 0; i < count; ++i) {
        auto *a = find<Node>(from[i]), *b = find<Node>(to[i]);
        if (a == nullptr || b == nullptr || a == b || a->graph != graph || b->graph != graph) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const bool exists = edge_to(a->before, b) != a->before.end();
        if (exists != (what == Edit::remove))
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; ++i) {
        auto *a = find<Node>(from[i]), *b = find<Node>(to[i]);
        if (what == Edit::add) {
            connect(a, b, data != nullptr ? data[i] : CUgraphEdgeData{});
        } else {
            disconnect(a, b);
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace

void connect(Node* from, Node* to, const CUgraphEdgeData& edge) {
    to->after.push_back({from, edge});
    from->before.push_back({to, edge});
}

Graph* new_graph() {
    static unsigned last = 0;
    Graph* graph = pool<Graph>().take();
    graph->id = ++last;
    return graph;
}

void destroy_graph(Graph* graph) {
    while (!graph->nodes.empty())
        destroy_node(graph->nodes.back());
    pool<Graph>().give(graph);
}

bool has_memory_nodes(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node* node) {
        const auto* child = std::get_if<ChildWork>(&node->work);
        return std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work) ||
               (child != nullptr && has_memory_nodes(*child->graph));
    });
}

CUresult clone_graph(const Graph& from, Graph** to) {
    if (has_memory_nodes(from))
        return CUDA_ERROR_NOT_SUPPORTED;
    Graph* graph = new_graph();
    std::unordered_map<const Node*, Node*> copies;
    for (const Node* node : from.nodes) {
        Work work = node->work;
        if (auto* child = std::get_if<ChildWork>(&work))
            clone_graph(*child->graph, &child->graph);
        Node* copy = append_node(graph, {}, std::move(work));
        copy->index = node->index;
        copies[node] = copy;
    }
    graph->next_index = from.next_index;
    for (const Node* node : from.nodes) {
        for (const Dependency& edge : node->after)
            connect(copies[edge.node], copies[node], edge.edge);
    }
    graph->user_objects = from.user_objects;
    retain(graph->user_objects);
    *to = graph;
    return CUDA_SUCCESS;
}

Node* append_node(Graph* graph, const std::vector<Dependency>& after, Work work) {
    Node* node = pool<Node>().take();
    node->graph = graph;
    node->index = graph->next_index++;
    node->work = std::move(work);
    if (const auto* child = std::get_if<ChildWork>(&node->work))
        child->graph->owner = node;
    graph->nodes.push_back(node);
    for (const Dependency& dependency : after)
        connect(dependency.node, node, dependency.edge);
    return node;
}

CUresult add_node(Graph* graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count, Work work,
                  Node** out) {
    std::vector<Dependency> dependencies;
    for (size_t i = 0; i < count; ++i) {
        auto* node = find<Node>(after[i]);
        if (node == nullptr || node->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
        if (edge_to(dependencies, node) != dependencies.end())
            return CUDA_ERROR_INVALID_VALUE;
        dependencies.push_back({node, edges != nullptr ? edges[i] : CUgraphEdgeData{}});
    }
    *out = append_node(graph, dependencies, std::move(work));
    return CUDA_SUCCESS;
}

void retain(const UserObjects& objects) {
    for (const auto& [object, count] : objects)
        object->references += count;
}

void let_go(UserObject* object, unsigned count, std::vector<UserObject>* dead) {
    object->references -= count;
    if (object->references != 0)
        return;
    dead->push_back(*object);
    pool<UserObject>().give(object);
}

void let_go(const UserObjects& objects, std::vector<UserObject>* dead) {
    for (const auto& [object, count] : objects)
        let_go(object, count, dead);
}

void call_destroyers(const std::vector<UserObject>& dead) {
    for (const UserObject& object : dead)
        object.destroy(object.pointer);
}

}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuGraphCreate(CUgraph* out, unsigned int flags) {
    SIM_ENTER(cuGraphCreate);
    if (out == nullptr || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    *out = handle_of<CUgraph>(new_graph());
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphDestroy(CUgraph handle) {
    SIM_ENTER(cuGraphDestroy);
    std::vector<UserObject> dead;
    {
        const Locked lock;
        auto* graph = find<Graph>(handle);
        if (graph == nullptr || graph->owner != nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        if (graph->being_captured)
            return CUDA_ERROR_ILLEGAL_STATE;
        let_go(graph->user_objects, &dead);
        destroy_graph(graph);
    }
    call_destroyers(dead);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
    SIM_ENTER(cuGraphClone);
    const Locked lock;
    const auto* graph = find<Graph>(handle);
    if (out == nullptr || graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Graph* copy = nullptr;
    const CUresult code = clone_graph(*graph, &copy);
    if (code == CUDA_SUCCESS)
        *out = handle_of<CUgraph>(copy);
    return code;
}

SIM_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
    SIM_ENTER(cuGraphNodeFindInClone);
    const Locked lock;
    const auto* node = find<Node>(original);
    const auto* graph = find<Graph>(clone);
    if (out == nullptr || node == nullptr || graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    for (Node* candidate : graph->nodes) {
        if (candidate->index != node->index)
            continue;
        *out = handle_of<CUgraphNode>(candidate);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    SIM_ENTER(cuGraphGetNodes);
    const Locked lock;
    const auto* graph = find<Graph>(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> all;
    for (Node* node : graph->nodes)
        all.push_back(handle_of<CUgraphNode>(node));
    return hand_out(all, nodes, count);
}

SIM_EXPORT CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    SIM_ENTER(cuGraphGetRootNodes);
    const Locked lock;
    const auto* graph = find<Graph>(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> roots;
    for (Node* node : graph->nodes) {
        if (node->after.empty())
            roots.push_back(handle_of<CUgraphNode>(node));
    }
    return hand_out(roots, nodes, count);
}

SIM_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    SIM_ENTER(cuGraphGetEdges);
    return edges_of(graph, from, to, nullptr, count);
}

SIM_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                                       size_t* count) {
    SIM_ENTER(cuGraphGetEdges_v2);
    return edges_of(graph, from, to, data, count);
}

SIM_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
    SIM_ENTER(cuGraphNodeGetDependencies);
    return neighbours(node, out, nullptr, count, &Node::after);
}

SIM_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                                  size_t* count) {
    SIM_ENTER(cuGraphNodeGetDependencies_v2);
    return neighbours(node, out, data, count, &Node::after);
}

SIM_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
    SIM_ENTER(cuGraphNodeGetDependentNodes);
    return neighbours(node, out, nullptr, count, &Node::before);
}

SIM_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                                    size_t* count) {
    SIM_ENTER(cuGraphNodeGetDependentNodes_v2);
    return neighbours(node, out, data, count, &Node::before);
}

SIM_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                           size_t count) {
    SIM_ENTER(cuGraphAddDependencies);
    return edit(graph, from, to, nullptr, count, Edit::add);
}

SIM_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                              const CUgraphEdgeData* data, size_t count) {
    SIM_ENTER(cuGraphAddDependencies_v2);
    return edit(graph, from, to, data, count, Edit::add);
}

SIM_EXPORT CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                              size_t count) {
    SIM_ENTER(cuGraphRemoveDependencies);
    return edit(graph, from, to, nullptr, count, Edit::remove);
}

SIM_EXPORT CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                                 const CUgraphEdgeData* data, size_t count) {
    SIM_ENTER(cuGraphRemoveDependencies_v2);
    return edit(graph, from, to, data, count, Edit::remove);
}

SIM_EXPORT CUresult cuGraphDestroyNode(CUgraphNode handle) {
    SIM_ENTER(cuGraphDestroyNode);
    const Locked lock;
    auto* node = find<Node>(handle);
    if (node == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    // Graphs with memory nodes cannot be edited this way.
    if (std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work)) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    destroy_node(node);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned int flags) {
    SIM_ENTER(cuGraphDebugDotPrint);
    if (path == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const auto* graph = find<Graph>(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr)
        return CUDA_ERROR_OPERATING_SYSTEM;
    std::fputs(to_dot(*graph, flags).c_str(), file);
    std::fclose(file);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuUserObjectCreate(CUuserObject* out, void* pointer, CUhostFn destroy, unsigned int references,
                                       unsigned int flags) {
    SIM_ENTER(cuUserObjectCreate);
    if (out == nullptr || destroy == nullptr || references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Locked lock;
    auto* object = pool<UserObject>().take();
    object->pointer = pointer;
    object->destroy = destroy;
    object->references = references;
    *out = handle_of<CUuserObject>(object);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
    SIM_ENTER(cuUserObjectRetain);
    const Locked lock;
    auto* object = find<UserObject>(handle);
    if (object == nullptr || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    object->references += count;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
    SIM_ENTER(cuUserObjectRelease);
    std::vector<UserObject> dead;
    {
        const Locked lock;
        auto* object = find<UserObject>(handle);
        if (object == nullptr || count == 0 || count > object->references)
            return CUDA_ERROR_INVALID_VALUE;
        let_go(object, count, &dead);
    }
    call_destroyers(dead);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count,
                                            unsigned int flags) {
    SIM_ENTER(cuGraphRetainUserObject);
    const Locked lock;
    auto* graph = find<Graph>(graph_handle);
    auto* object = find<UserObject>(handle);
    if (graph == nullptr || object == nullptr || count == 0 || flags > CU_GRAPH_USER_OBJECT_MOVE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // Moved references were the caller's own.
    if (flags != CU_GRAPH_USER_OBJECT_MOVE)
        object->references += count;
    graph->user_objects[object] += count;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count) {
    SIM_ENTER(cuGraphReleaseUserObject);
    std::vector<UserObject> dead;
    {
        const Locked lock;
        auto* graph = find<Graph>(graph_handle);
        auto* object = find<UserObject>(handle);
        if (graph == nullptr || object == nullptr || count == 0)
            return CUDA_ERROR_INVALID_VALUE;
        const auto held = graph->user_objects.find(object);
        if (held == graph->user_objects.end() || held->second < count)
            return CUDA_ERROR_INVALID_VALUE;
        held->second -= count;
        if (held->second == 0)
            graph->user_objects.erase(held);
        let_go(object, count, &dead);
    }
    call_destroyers(dead);
    return CUDA_SUCCESS;
}
