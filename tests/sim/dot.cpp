// SPDX-License-Identifier: Apache-2.0
// cuGraphDebugDotPrint: the names and shapes of the real driver's output, and a part of its labels.
#include <cstdio>

#include "graph.h"

namespace keepgraph::sim {
namespace {

std::string label(const Node& node, bool verbose) {
    static constexpr const char* names[] = {"KERNEL",    "MEMCPY",   "MEMSET",      "HOST",
                                            "GRAPH",     "EMPTY",    "EVENT WAIT",  "EVENT RECORD",
                                            "MEM ALLOC", "MEM FREE", "BATCH MEM OP"};
    static_assert(std::size(names) == std::variant_size_v<Work>);
    std::string text = std::to_string(node.index) + "\\n";
    if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
        text += kernel->code->name;
        if (verbose) {
            text += "\\n<<<" + std::to_string(kernel->grid[0]) + "," + std::to_string(kernel->block[0]) + "," +
                    std::to_string(kernel->shared) + ">>>";
        }
        return text;
    }
    return text + names[node.work.index()];
}

void print(const Graph& graph, bool verbose, std::string& out) {
    const std::string name = "graph_" + std::to_string(graph.id);
    out += "subgraph cluster_" + std::to_string(graph.id) + " {\nlabel=\"" + name + "\" graph[style=\"dashed\"];\n";
    auto node_name = [&](const Node& node) { return "\"" + name + "_node_" + std::to_string(node.index) + "\""; };
    for (const Node* node : graph.nodes) {
        const bool is_kernel = std::holds_alternative<KernelWork>(node->work);
        out += node_name(*node) + "[style=\"" + (is_kernel ? "bold" : "solid") + "\" shape=\"" +
               (is_kernel ? "octagon" : "rectangle") + "\" label=\"" + label(*node, verbose) + "\"];\n";
    }
    for (const Node* node : graph.nodes) {
        for (const Dependency& edge : node->before) {
            out += node_name(*node) + " -> " + node_name(*edge.node) +
                   " [headlabel=" + std::to_string(edge.edge.to_port) + "];\n";
        }
    }
    for (const Node* node : graph.nodes) {
        if (const auto* child = std::get_if<ChildWork>(&node->work))
            print(*child->graph, verbose, out);
    }
    out += "}\n";
}

}  // namespace

std::string to_dot(const Graph& graph, unsigned flags) {
    std::string out = "digraph dot {\n";
    print(graph, (flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) != 0, out);
    return out + "}\n";
}

}  // namespace keepgraph::sim
