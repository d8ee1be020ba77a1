// SPDX-License-Identifier: Apache-2.0
// Templates (CUgraph) and their nodes. All of this is called under the lock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "objects.h"
#include "stream.h"
#include "work.h"

namespace keepgraph::sim {

struct Graph;
struct UserObject;

struct Node : Object<Kind::node> {
    Graph* graph = nullptr;
    unsigned index = 0;  // order of creation in its graph, never used twice
    Work work;
    std::vector<Dependency> after, before;  // edges in and out
};

using UserObjects = std::map<UserObject*, unsigned>;

struct UserObject : Object<Kind::user_object> {
    void* pointer = nullptr;
    CUhostFn destroy = nullptr;
    unsigned references = 0;
};

struct Graph : Object<Kind::graph> {
    unsigned id = 0;
    std::vector<Node*> nodes;
    unsigned next_index = 0;
    Node* owner = nullptr;    // the child graph node it belongs to
    unsigned live_execs = 0;  // asked for graphs with memory nodes alone, which allow one
    bool being_captured = false;
    UserObjects user_objects;
};

Graph* new_graph();
void connect(Node* from, Node* to, const CUgraphEdgeData& edge);
void destroy_graph(Graph* graph);
CUresult clone_graph(const Graph& from, Graph** to);  // not supported: memory nodes
bool has_memory_nodes(const Graph& graph);

CUresult add_node(Graph* graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count, Work work,
                  Node** out);
/// The same with dependencies that are known to be right.
Node* append_node(Graph* graph, const std::vector<Dependency>& after, Work work);

void retain(const UserObjects& objects);
/// Takes references away and collects the objects that have none left: their callbacks run without the lock.
void let_go(UserObject* object, unsigned count, std::vector<UserObject>* dead);
void let_go(const UserObjects& objects, std::vector<UserObject>* dead);
void call_destroyers(const std::vector<UserObject>& dead);

/// An order that the edges allow, drawn with KEEPGRAPH_SIM_SEED. Empty for a graph that has nodes: it has a cycle.
std::vector<unsigned> draw_order(const Graph& graph);
std::string to_dot(const Graph& graph, unsigned flags);

}  // namespace keepgraph::sim
