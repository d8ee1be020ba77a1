// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/snapshot.h"

namespace keepgraph::graph {

/// Nodes of the same types in the same order.
bool same_types(const Body& a, const Body& b) noexcept;
/// The same, and kernel nodes of the same kernels.
bool same_kernels(const Body& a, const Body& b) noexcept;

/// For each node of `later` the node of `first` that an update by `later` changes. NVIDIA documents which: nodes
/// without outgoing edges are paired in their order, then the incoming edges of each pair in theirs; the order in which
/// other nodes were made does not count. Nothing when an update would have been refused: other edges, other types. The
/// edges of both must be known. May throw std::bad_alloc. Any thread.
std::optional<std::vector<std::uint32_t>> pair_nodes(const Body& first, const Body& later);

/// What a body takes the place of.
struct Match {
    std::uint32_t body = UINT32_MAX;   ///< UINT32_MAX: of none
    std::vector<std::uint32_t> nodes;  ///< what its nodes take the place of; empty: of those with the same numbers
    bool found() const noexcept { return body != UINT32_MAX; }
    std::uint32_t node(std::uint32_t number) const noexcept { return nodes.empty() ? number : nodes[number]; }
};
/// For each body of `later`, which are those of one graph, the body of `first`, at `root` or below, that an update by
/// it changes. Nodes are paired by pair_nodes() where the edges of both bodies are known, else, and when that gives
/// nothing, by their order if their types allow. May throw std::bad_alloc. Any thread.
std::vector<Match> match_bodies(const std::vector<Body>& first, std::uint32_t root, const std::vector<Body>& later);
/// The bodies of `later` take from what they match all that is of the nodes and not of their parameters: numbers,
/// edges, handles, and which of them are on. Numbers of bodies stay. May throw std::bad_alloc.
void adopt(std::vector<Body>& later, std::vector<Body>& first, const std::vector<Match>& matches);

}  // namespace keepgraph::graph
