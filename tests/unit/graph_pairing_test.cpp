// SPDX-License-Identifier: Apache-2.0
// Which nodes an update pairs, on bodies made by hand.
#include "graph/pairing.h"

#include <gtest/gtest.h>

namespace keepgraph::graph {
namespace {

using Ends = std::pair<std::uint32_t, std::uint32_t>;
using Pairs = std::vector<std::uint32_t>;

// Nodes are kernels; edges come by where they end, as a snapshot has them.
Body body_of(std::size_t nodes, const std::vector<Ends>& edges) {
    Body body;
    body.nodes.resize(nodes);
    for (const auto& [from, to] : edges)
        body.edges.push_back({from, to});
    body.edges_known = true;
    return body;
}

TEST(GraphPairing, OrderInWhichAChainWasMadeDoesNotCount) {
    const Body first = body_of(3, {{0, 1}, {1, 2}});
    EXPECT_EQ(pair_nodes(first, first), (Pairs{0, 1, 2}));
    EXPECT_EQ(pair_nodes(first, body_of(3, {{2, 0}, {1, 2}})), (Pairs{2, 0, 1}));
}

TEST(GraphPairing, NodesWithoutOutgoingEdgesArePairedInTheirOrder) {
    EXPECT_EQ(pair_nodes(body_of(2, {}), body_of(2, {})), (Pairs{0, 1}));
    // A root and two that follow it, made before it.
    EXPECT_EQ(pair_nodes(body_of(3, {{0, 1}, {0, 2}}), body_of(3, {{2, 0}, {2, 1}})), (Pairs{1, 2, 0}));
    EXPECT_EQ(pair_nodes(body_of(0, {}), body_of(0, {})), Pairs{});
}

TEST(GraphPairing, EdgesOfANodeArePairedInTheirOrder) {
    const Body first = body_of(3, {{0, 2}, {1, 2}});
    EXPECT_EQ(pair_nodes(first, body_of(3, {{0, 2}, {1, 2}})), (Pairs{0, 1, 2}));
    EXPECT_EQ(pair_nodes(first, body_of(3, {{1, 2}, {0, 2}})), (Pairs{1, 0, 2}));
}

TEST(GraphPairing, NodeThatIsReachedTwiceMustBeTheSameBothTimes) {
    // A diamond: 0 before 1 and 2, both before 3. In the other, what 2 follows is another root.
    const Body diamond = body_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
    EXPECT_EQ(pair_nodes(diamond, body_of(4, {{1, 0}, {3, 0}, {2, 1}, {2, 3}})), (Pairs{3, 1, 0, 2}));
    EXPECT_EQ(pair_nodes(diamond, body_of(4, {{0, 1}, {1, 2}, {1, 3}, {2, 3}})), std::nullopt);
    const Body two_roots = body_of(5, {{0, 1}, {4, 2}, {1, 3}, {2, 3}, {0, 3}});
    const Body one_root = body_of(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {4, 3}});
    EXPECT_EQ(pair_nodes(two_roots, one_root), std::nullopt);
    EXPECT_EQ(pair_nodes(one_root, two_roots), std::nullopt);
    // No graph holds a loop; were there one, two nodes could still not stand for the same.
    EXPECT_EQ(pair_nodes(body_of(5, {{4, 0}, {0, 1}, {0, 2}, {3, 3}}), body_of(5, {{4, 0}, {0, 1}, {3, 2}, {4, 3}})),
              std::nullopt);
}

TEST(GraphPairing, OtherTopologyIsNotPaired) {
    const Body chain = body_of(3, {{0, 1}, {1, 2}});
    EXPECT_EQ(pair_nodes(chain, body_of(2, {{0, 1}})), std::nullopt);
    EXPECT_EQ(pair_nodes(chain, body_of(3, {{0, 1}})), std::nullopt);
    EXPECT_EQ(pair_nodes(chain, body_of(3, {{0, 1}, {0, 2}})), std::nullopt) << "more ends";
    EXPECT_EQ(pair_nodes(body_of(3, {{0, 1}, {0, 2}}), chain), std::nullopt) << "fewer ends";
    EXPECT_EQ(pair_nodes(chain, body_of(3, {{0, 2}, {1, 2}})), std::nullopt);
    const Body cycle = body_of(3, {{1, 0}, {0, 1}});
    EXPECT_EQ(pair_nodes(cycle, cycle), std::nullopt) << "nothing in it has an end";
}

TEST(GraphPairing, OtherTypesAreNotPaired) {
    Body first = body_of(2, {{0, 1}}), turned = body_of(2, {{1, 0}});
    first.nodes[0].type = turned.nodes[1].type = CU_GRAPH_NODE_TYPE_MEMSET;
    EXPECT_EQ(pair_nodes(first, turned), (Pairs{1, 0}));
    std::swap(turned.nodes[0].type, turned.nodes[1].type);
    EXPECT_EQ(pair_nodes(first, turned), std::nullopt);
}

TEST(GraphPairing, BodiesWhoseEdgesAreUnknownArePairedByOrderIfTypesAllow) {
    std::vector<Body> first{body_of(2, {{0, 1}})}, turned{body_of(2, {{1, 0}})};
    EXPECT_EQ(match_bodies(first, 0, turned).at(0).nodes, (Pairs{1, 0}));
    first[0].edges_known = false;
    EXPECT_TRUE(match_bodies(first, 0, turned).at(0).found());
    EXPECT_EQ(match_bodies(first, 0, turned).at(0).nodes, Pairs{}) << "all as they are";
    first[0].nodes[0].type = CU_GRAPH_NODE_TYPE_MEMSET;
    EXPECT_FALSE(match_bodies(first, 0, turned).at(0).found());
}

TEST(GraphPairing, ChildGraphsFollowTheNodesThatHoldThem) {
    // Two child graphs, of two memsets and of one, in a chain that is made in the other order.
    const auto graph_of = [](std::uint32_t before, std::uint32_t after) {
        std::vector<Body> bodies{body_of(2, {{before, after}}), body_of(2, {}), body_of(1, {})};
        for (Node& node : bodies[0].nodes)
            node.type = CU_GRAPH_NODE_TYPE_GRAPH;
        bodies[1].node = before;
        bodies[2].node = after;
        return bodies;
    };
    std::vector<Body> first = graph_of(0, 1), later = graph_of(1, 0);
    for (std::size_t i = 0; i < 2; ++i)
        first[0].nodes[i].handle = reinterpret_cast<CUgraphNode>(0x10 * (i + 1));
    first[1].nodes[1].enabled = false;
    const std::vector<Match> matches = match_bodies(first, 0, later);
    ASSERT_EQ(matches.size(), 3u);
    EXPECT_EQ(matches[0].nodes, (Pairs{1, 0}));
    EXPECT_EQ(matches[1].body, 1u);
    EXPECT_EQ(matches[2].body, 2u);
    adopt(later, first, matches);
    EXPECT_EQ(later[0].nodes[0].handle, reinterpret_cast<CUgraphNode>(0x10));
    EXPECT_EQ(later[1].node, 0u);
    EXPECT_EQ(later[2].node, 1u);
    EXPECT_EQ(later[0].edges.at(0).from, 0u);
    EXPECT_TRUE(later[1].nodes[0].enabled);
    EXPECT_FALSE(later[1].nodes[1].enabled);
}

}  // namespace
}  // namespace keepgraph::graph
