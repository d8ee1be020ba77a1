// SPDX-License-Identifier: Apache-2.0
#include "graph/pairing.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace keepgraph::graph {
namespace {

constexpr std::uint32_t nobody = UINT32_MAX;

// The edges of a body by node.
class Incoming {
  public:
    explicit Incoming(const Body& body)
        : edges_(body.edges), starts_(body.nodes.size() + 1), inner_(body.nodes.size()) {
        for (const Edge& edge : edges_) {
            ++starts_[edge.to + 1];
            inner_[edge.from] = true;
        }
        for (std::size_t node = 1; node < starts_.size(); ++node)
            starts_[node] += starts_[node - 1];
    }
    std::span<const Edge> of(std::uint32_t node) const {
        return std::span(edges_).subspan(starts_[node], starts_[node + 1] - starts_[node]);
    }
    std::vector<std::uint32_t> sinks() const {
        std::vector<std::uint32_t> found;
        for (std::uint32_t node = 0; node < inner_.size(); ++node)
            if (!inner_[node])
                found.push_back(node);
        return found;
    }

  private:
    const std::vector<Edge>& edges_;
    std::vector<std::size_t> starts_;
    std::vector<bool> inner_;  // has an outgoing edge
};

bool match_nodes(const Body& first, const Body& later, std::vector<std::uint32_t>& nodes) {
    if (first.edges_known && later.edges_known) {
        if (auto pairs = pair_nodes(first, later)) {
            nodes = std::move(*pairs);
            if (std::is_sorted(nodes.begin(), nodes.end()))
                nodes.clear();
            return true;
        }
    }
    return same_types(first, later);
}

void adopt(Body& fresh, Body& old, const std::vector<std::uint32_t>& nodes) {
    if (!nodes.empty()) {
        std::vector<Node> in_order(fresh.nodes.size());
        for (std::size_t node = 0; node < nodes.size(); ++node)
            in_order[nodes[node]] = fresh.nodes[node];
        fresh.nodes = std::move(in_order);
    }
    fresh.edges = std::move(old.edges);
    fresh.edges_known = old.edges_known;
    for (std::size_t node = 0; node < fresh.nodes.size(); ++node) {
        fresh.nodes[node].handle = old.nodes[node].handle;
        fresh.nodes[node].enabled = old.nodes[node].enabled;
    }
}

}  // namespace

bool same_types(const Body& a, const Body& b) noexcept {
    return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                      [](const Node& x, const Node& y) { return x.type == y.type; });
}

bool same_kernels(const Body& a, const Body& b) noexcept {
    return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                      [&](const Node& x, const Node& y) {
                          return x.type == y.type && (x.type != CU_GRAPH_NODE_TYPE_KERNEL ||
                                                      a.kernels[x.detail].function == b.kernels[y.detail].function);
                      });
}

std::optional<std::vector<std::uint32_t>> pair_nodes(const Body& first, const Body& later) {
    if (first.nodes.size() != later.nodes.size() || first.edges.size() != later.edges.size())
        return std::nullopt;
    const Incoming incoming_first(first);
    const Incoming incoming_later(later);
    std::vector<std::uint32_t> pair(later.nodes.size(), nobody);   // of each node of `later`
    std::vector<std::uint32_t> taken(first.nodes.size(), nobody);  // the other way round
    std::vector<std::uint32_t> found;                              // nodes of `later` in the order of their pairing
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
        if (pair[b] == nobody && taken[a] == nobody && first.nodes[a].type == later.nodes[b].type) {
            pair[b] = a;
            taken[a] = b;
            found.push_back(b);
        }
        return pair[b] == a;
    };
    const auto join_all = [&](const auto& as, const auto& bs, auto node_of) {
        return std::equal(as.begin(), as.end(), bs.begin(), bs.end(),
                          [&](const auto& a, const auto& b) { return join(node_of(a), node_of(b)); });
    };
    if (!join_all(incoming_first.sinks(), incoming_later.sinks(), [](std::uint32_t node) { return node; }))
        return std::nullopt;
    for (std::size_t next = 0; next < found.size(); ++next) {
        const std::uint32_t node = found[next];
        if (!join_all(incoming_first.of(pair[node]), incoming_later.of(node),
                      [](const Edge& edge) { return edge.from; }))
            return std::nullopt;
    }
    if (found.size() != pair.size())
        return std::nullopt;  // the rest is part of a cycle
    return pair;
}

std::vector<Match> match_bodies(const std::vector<Body>& first, std::uint32_t root, const std::vector<Body>& later) {
    std::map<Place, std::uint32_t> children;
    for (std::uint32_t i = root + 1; i < first.size(); ++i)
        children.emplace(Place{first[i].parent, first[i].node}, i);
    std::vector<Match> matches(later.size());
    for (std::uint32_t i = 0; i < later.size(); ++i) {
        std::uint32_t body = root;
        if (i > 0) {
            const Match& parent = matches[later[i].parent];
            const auto found =
                parent.found() ? children.find({parent.body, parent.node(later[i].node)}) : children.end();
            if (found == children.end())
                continue;
            body = found->second;
        }
        if (match_nodes(first[body], later[i], matches[i].nodes))
            matches[i].body = body;
    }
    return matches;
}

void adopt(std::vector<Body>& fresh, std::vector<Body>& old, const std::vector<Match>& matches) {
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (matches[i].found())
            adopt(fresh[i], old[matches[i].body], matches[i].nodes);
        if (i > 0)
            fresh[i].node = matches[fresh[i].parent].node(fresh[i].node);
    }
}

}  // namespace keepgraph::graph
