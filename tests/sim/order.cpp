// SPDX-License-Identifier: Apache-2.0
// The order of a launch: any that the edges allow, so that a program, or a check, which relies on more than the edges
// fails with some seed.
#include <atomic>
#include <cstdlib>
#include <random>
#include <unordered_map>

#include "graph.h"

namespace keepgraph::sim {
namespace {

/// Another stream of numbers for each graph, the same ones in each run.
std::minstd_rand new_generator() {
    static const unsigned seed = [] {
        const char* text = std::getenv("KEEPGRAPH_SIM_SEED");
        return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1u;
    }();
    static std::atomic<unsigned> drawn{0};
    return std::minstd_rand(seed * 2654435761u + ++drawn);
}

}  // namespace

std::vector<unsigned> draw_order(const Graph& graph) {
    std::minstd_rand random = new_generator();
    std::unordered_map<const Node*, unsigned> position;
    std::vector<size_t> missing(graph.nodes.size());
    std::vector<unsigned> ready, order;
    for (unsigned i = 0; i < graph.nodes.size(); ++i) {
        position[graph.nodes[i]] = i;
        missing[i] = graph.nodes[i]->after.size();
        if (missing[i] == 0)
            ready.push_back(i);
    }
    while (!ready.empty()) {
        std::swap(ready[random() % ready.size()], ready.back());
        const unsigned next = ready.back();
        ready.pop_back();
        order.push_back(next);
        for (const Dependency& edge : graph.nodes[next]->before) {
            const unsigned dependent = position[edge.node];
            if (--missing[dependent] == 0)
                ready.push_back(dependent);
        }
    }
    if (order.size() != graph.nodes.size())
        order.clear();
    return order;
}

}  // namespace keepgraph::sim
