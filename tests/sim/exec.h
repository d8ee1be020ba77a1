// SPDX-License-Identifier: Apache-2.0
// Executable graphs: a copy of a template, made at instantiation.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "graph.h"

namespace keepgraph::sim {

struct ExecBody;

struct ExecNode {
    Work work;
    bool enabled = true;
    std::vector<unsigned> after;  // positions
    std::shared_ptr<ExecBody> child;
};

struct ExecBody {
    std::vector<ExecNode> nodes;  // in the template's order
    std::vector<unsigned> order;  // to run them in
    std::unordered_map<CUgraphNode, unsigned> position;
};

struct Exec : Object<Kind::exec> {
    std::shared_ptr<ExecBody> body;  // shared with launches on other threads
    cuuint64_t flags = 0;
    Graph* source = nullptr;  // set for graphs with memory nodes alone
    unsigned source_id = 0;
    UserObjects user_objects;
};

/// The node of an executable graph, or of a child graph in it, that was made from this template node.
ExecNode* find_node(ExecBody& body, CUgraphNode node);

}  // namespace keepgraph::sim
