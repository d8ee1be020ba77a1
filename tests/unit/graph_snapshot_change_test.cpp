// SPDX-License-Identifier: Apache-2.0
// What becomes of a Snapshot when its exec is given new parameters, a new template, or no room.
#include <algorithm>

#include "fake_driver.h"
#include "graph/snapshot.h"

namespace keepgraph::graph {
namespace {

using unit_tests::FakeFunction;
using unit_tests::FakeGraph;
using unit_tests::FakeNode;

class GraphSnapshotChange : public unit_tests::OnFakeDriver {
  protected:
    Snapshot read() { return Snapshot::read(graph.handle(), functions); }
    static std::uint64_t word(const Body& body, const Kernel& kernel) {
        std::uint64_t value = 0;
        std::memcpy(&value, body.arguments_of(kernel).data(), sizeof value);
        return value;
    }
    CUDA_KERNEL_NODE_PARAMS parameters_of(FakeFunction& function, std::uint64_t& value) {
        pointers_[0] = &value;
        CUDA_KERNEL_NODE_PARAMS params{};
        params.func = function.function();
        params.kernelParams = pointers_;
        return params;
    }

    Functions functions;
    Renumbering renumbered;
    FakeGraph graph;
    FakeFunction one{"one", {{0, 8}}};
    FakeFunction wider{"wider", {{8, 8}}};

    /// Of `one`, with 1 and 2.
    Snapshot two_kernels() {
        graph.add_kernel(one, std::uint64_t{1});
        graph.add_kernel(one, std::uint64_t{2});
        return read();
    }

  private:
    void* pointers_[1] = {nullptr};
};

TEST_F(GraphSnapshotChange, NodesAreFoundByTheirHandle) {
    FakeGraph inner;
    FakeNode& below = inner.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& second = graph.add_child(inner);
    Snapshot snapshot = read();
    Place place;
    ASSERT_TRUE(snapshot.find(second.handle(), place));
    EXPECT_EQ(place, (Place{0, 1}));
    ASSERT_TRUE(snapshot.find(below.handle(), place)) << "the driver takes nodes of child graphs too";
    EXPECT_EQ(place, (Place{1, 0}));
    EXPECT_FALSE(snapshot.find(FakeGraph().add(CU_GRAPH_NODE_TYPE_EMPTY).handle(), place));
    EXPECT_EQ(place, (Place{1, 0}));
}

TEST_F(GraphSnapshotChange, KernelTakesNewParametersInPlace) {
    Snapshot snapshot = two_kernels();
    const std::size_t before = snapshot.bytes();
    for (std::uint64_t value = 10; value < 1010; ++value)
        ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(one, value), functions));
    const Body& body = snapshot.bodies()[0];
    EXPECT_EQ(word(body, body.kernels[0]), 1009u);
    EXPECT_EQ(word(body, body.kernels[1]), 2u);
    EXPECT_EQ(snapshot.bytes(), before) << "a program that sets parameters before each launch must not make it grow";
}

TEST_F(GraphSnapshotChange, KernelOfALargerLayoutOverwritesNoOther) {
    Snapshot snapshot = two_kernels();
    std::uint64_t value = 5;
    ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(wider, value), functions));
    const Body& body = snapshot.bodies()[0];
    EXPECT_EQ(body.kernels[0].function->mangled, "wider");
    std::memcpy(&value, body.arguments_of(body.kernels[0]).data() + 8, sizeof value);
    EXPECT_EQ(value, 5u);
    EXPECT_EQ(word(body, body.kernels[1]), 2u);
}

TEST_F(GraphSnapshotChange, KernelsInTurnNeedTheRoomOfTheLargestOne) {
    Snapshot snapshot = two_kernels();
    std::uint64_t value = 5;
    ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(wider, value), functions));
    const std::size_t before = snapshot.bytes();
    for (std::uint64_t turn = 10; turn < 1010; ++turn) {
        ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(one, turn), functions));
        ASSERT_EQ(word(snapshot.bodies()[0], snapshot.bodies()[0].kernels[0]), turn);
        ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(wider, turn), functions));
    }
    EXPECT_EQ(snapshot.bytes(), before);
    EXPECT_EQ(word(snapshot.bodies()[0], snapshot.bodies()[0].kernels[1]), 2u);
    snapshot.drop_data();
    ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(wider, value), functions)) << "the room went with the data";
    EXPECT_EQ(snapshot.bodies()[0].argument_bytes.size(), 16u);
}

TEST_F(GraphSnapshotChange, ShorterBufferLeavesNoOlderAddressBehind) {
    FakeFunction two{"two", {{0, 8}, {8, 8}}};
    graph.add_kernel(two, std::uint64_t{1}, std::uint64_t{2});
    Snapshot snapshot = read();
    std::uint64_t packed = 3;
    std::size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = two.function();
    params.extra = extra;
    ASSERT_TRUE(snapshot.set_kernel({0, 0}, params, functions));
    const Body& body = snapshot.bodies()[0];
    std::uint64_t words[2];
    std::memcpy(words, body.arguments_of(body.kernels[0]).data(), sizeof words);
    EXPECT_EQ(words[0], 3u);
    EXPECT_EQ(words[1], 0u) << "what the program no longer passes";
}

TEST_F(GraphSnapshotChange, EachTypeTakesItsOwnParametersOnly) {
    for (const CUgraphNodeType type :
         {CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
          CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_EMPTY})
        graph.add(type).parameters_result = CUDA_ERROR_INVALID_VALUE;  // unreadable until they are set
    Snapshot snapshot = read();
    CUDA_MEMCPY3D copy{};
    copy.srcDevice = 0x1000;
    int data = 0;
    std::uint64_t value = 0;
    std::vector<std::uint32_t> moved;
    const auto event = reinterpret_cast<CUevent>(0x10);
    for (std::uint32_t i = 0; i < 6; ++i) {
        EXPECT_EQ(snapshot.set_copy({0, i}, copy), i == 0) << i;
        EXPECT_EQ(snapshot.set_memset({0, i}, {0x2000, 0, 0, 1, 1, 1}), i == 1) << i;
        EXPECT_EQ(snapshot.set_host({0, i}, {nullptr, &data}), i == 2) << i;
        EXPECT_EQ(snapshot.set_event({0, i}, event), i == 3 || i == 4) << i;
        EXPECT_FALSE(snapshot.set_kernel({0, i}, parameters_of(one, value), functions)) << i;
        EXPECT_FALSE(snapshot.set_child({0, i}, Snapshot::read(graph.handle(), functions), moved)) << i;
    }
    const Body& body = snapshot.bodies()[0];
    EXPECT_EQ(body.copies.at(0).srcDevice, 0x1000u);
    EXPECT_EQ(body.sets.at(0).dst, 0x2000u);
    EXPECT_EQ(body.hosts.at(0).userData, &data);
    EXPECT_EQ(body.events.at(0), event);
    EXPECT_EQ(body.events.at(1), event);
    for (std::uint32_t i = 0; i < 5; ++i)
        EXPECT_TRUE(body.nodes[i].readable) << i;
}

TEST_F(GraphSnapshotChange, DisabledNodesStayIn) {
    graph.add_kernel(one, std::uint64_t{1});
    Snapshot snapshot = read();
    snapshot.set_enabled({0, 0}, false);
    EXPECT_FALSE(snapshot.bodies()[0].nodes[0].enabled);
    EXPECT_TRUE(snapshot.bodies()[0].nodes[0].readable);
    snapshot.set_enabled({0, 0}, true);
    EXPECT_TRUE(snapshot.bodies()[0].nodes[0].enabled);
}

TEST_F(GraphSnapshotChange, NewChildTakesThePlaceOfTheOldOneAndAllBelowIt) {
    FakeGraph leaf, middle, other, replacement;
    leaf.add(CU_GRAPH_NODE_TYPE_MEMSET).set.dst = 1;
    middle.add_child(leaf);
    other.add(CU_GRAPH_NODE_TYPE_MEMSET).set.dst = 2;
    FakeGraph other_middle;
    other_middle.add_child(other);
    replacement.add(CU_GRAPH_NODE_TYPE_MEMSET).set.dst = 3;
    graph.add_child(middle);
    graph.add_child(other_middle);
    Snapshot snapshot = read();
    ASSERT_EQ(snapshot.bodies().size(), 5u);
    std::vector<std::uint32_t> moved;
    ASSERT_TRUE(snapshot.set_child({0, 0}, Snapshot::read(replacement.handle(), functions), moved));
    EXPECT_EQ(moved, (std::vector<std::uint32_t>{0, UINT32_MAX, UINT32_MAX, 1, 2}));
    const auto& bodies = snapshot.bodies();
    ASSERT_EQ(bodies.size(), 4u);
    const auto at = [&](const std::string& path) {
        auto found = bodies.begin();
        while (found != bodies.end() && snapshot.path(static_cast<std::uint32_t>(found - bodies.begin())) != path)
            ++found;
        EXPECT_NE(found, bodies.end()) << path;
        return found;
    };
    EXPECT_EQ(at("child#0")->sets.at(0).dst, 3u);
    EXPECT_EQ(at("child#0")->parent, 0u);
    EXPECT_EQ(at("child#1")->parent, 0u);
    EXPECT_EQ(at("child#1/child#0")->sets.at(0).dst, 2u);
    EXPECT_EQ(snapshot.path(at("child#1/child#0")->parent), "child#1") << "the bodies were renumbered";
}

// The program names them by the template that the exec was made from, not by what the child was set to since.
TEST_F(GraphSnapshotChange, NodesOfAChildThatWasSetKeepTheirHandles) {
    FakeGraph inner, middle, other_inner, other_middle, wider;
    FakeNode& leaf = inner.add(CU_GRAPH_NODE_TYPE_MEMSET);
    middle.add_child(inner);
    FakeNode& holder = graph.add_child(middle);
    other_inner.add(CU_GRAPH_NODE_TYPE_MEMSET);
    other_middle.add_child(other_inner);
    wider.add(CU_GRAPH_NODE_TYPE_MEMSET);
    wider.add(CU_GRAPH_NODE_TYPE_MEMSET);
    Snapshot snapshot = read();
    Place place;
    std::vector<std::uint32_t> moved;
    ASSERT_TRUE(snapshot.find(leaf.handle(), place));
    ASSERT_TRUE(snapshot.find(holder.handle(), place));
    ASSERT_TRUE(snapshot.set_child(place, Snapshot::read(other_middle.handle(), functions), moved));
    ASSERT_TRUE(snapshot.find(leaf.handle(), place));
    EXPECT_EQ(place, (Place{2, 0}));
    ASSERT_TRUE(snapshot.set_memset(place, {5, 0, 0, 1, 1, 1}));
    EXPECT_EQ(snapshot.bodies()[2].sets.at(0).dst, 5u);
    ASSERT_TRUE(snapshot.find(holder.handle(), place));
    ASSERT_TRUE(snapshot.set_child(place, Snapshot::read(wider.handle(), functions), moved));
    EXPECT_FALSE(snapshot.find(leaf.handle(), place)) << "another shape: it is none of these";
}

TEST_F(GraphSnapshotChange, ShapeOfTheFirstTemplateIsKept) {
    FakeNode& first = graph.add_kernel(one, std::uint64_t{1});
    FakeNode& second = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.edges = {{&first, &second, {}}};
    Snapshot before = read();
    before.read_edges(graph.handle());
    before.set_enabled({0, 1}, false);

    FakeGraph later;
    FakeNode& again = later.add_kernel(one, std::uint64_t{2});
    later.add(CU_GRAPH_NODE_TYPE_EMPTY);
    Snapshot after = Snapshot::read(later.handle(), functions);
    Place place;
    EXPECT_TRUE(after.find(again.handle(), place));
    ASSERT_TRUE(after.take_shape(std::move(before), renumbered));
    EXPECT_TRUE(after.edges_known());
    EXPECT_EQ(after.bodies()[0].edges.size(), 1u);
    EXPECT_TRUE(after.find(first.handle(), place)) << "later calls name the nodes of the first template";
    EXPECT_FALSE(after.find(again.handle(), place));
    EXPECT_FALSE(after.bodies()[0].nodes[1].enabled);
    EXPECT_EQ(word(after.bodies()[0], after.bodies()[0].kernels[0]), 2u);
}

TEST_F(GraphSnapshotChange, NodesAreKnownAgainByTheirEdges) {
    // A chain of two kernels, made in the other order.
    FakeNode& first = graph.add_kernel(one, std::uint64_t{1});
    FakeNode& last = graph.add_kernel(wider, std::uint64_t{2});
    graph.edges = {{&first, &last, {}}};
    FakeGraph later;
    FakeNode& later_last = later.add_kernel(wider, std::uint64_t{20});
    FakeNode& later_first = later.add_kernel(one, std::uint64_t{10});
    later.edges = {{&later_first, &later_last, {}}};
    for (const bool known : {true, false}) {
        Snapshot before = read();
        if (known)
            before.read_edges(graph.handle());
        before.set_enabled({0, 1}, false);
        Snapshot after = Snapshot::read(later.handle(), functions);
        EXPECT_FALSE(before.runs_the_same(after));
        EXPECT_TRUE(before.runs_the_same(before));
        after.read_edges(later.handle());
        ASSERT_TRUE(after.take_shape(std::move(before), renumbered));
        const Body& body = after.bodies()[0];
        Place place;
        ASSERT_TRUE(after.find(first.handle(), place));
        EXPECT_EQ(place, (Place{0, 0})) << "numbers stay";
        EXPECT_EQ(body.kernels[body.nodes[0].detail].function->mangled, known ? "one" : "wider");
        EXPECT_TRUE(body.nodes[0].enabled);
        EXPECT_FALSE(body.nodes[1].enabled);
        EXPECT_EQ(renumbered.at(0), known ? (std::vector<std::uint32_t>{1, 0}) : std::vector<std::uint32_t>{});
        if (known) {
            EXPECT_EQ(body.edges.at(0).from, 0u);
        }
    }
}

TEST_F(GraphSnapshotChange, NodesOfAChildThatIsSetStayOffAndKeepTheirEdges) {
    FakeGraph inner, same;
    FakeNode& first = inner.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& second = inner.add(CU_GRAPH_NODE_TYPE_MEMSET);
    inner.edges = {{&first, &second, {}}};
    same.add(CU_GRAPH_NODE_TYPE_EMPTY);
    same.add(CU_GRAPH_NODE_TYPE_MEMSET);
    FakeNode& holder = graph.add_child(inner);
    Snapshot snapshot = read();
    snapshot.read_edges(graph.handle());
    Place place;
    ASSERT_TRUE(snapshot.find(second.handle(), place));
    snapshot.set_enabled(place, false);
    std::vector<std::uint32_t> moved;
    ASSERT_TRUE(snapshot.find(holder.handle(), place));
    ASSERT_TRUE(snapshot.set_child(place, Snapshot::read(same.handle(), functions), moved));
    ASSERT_EQ(snapshot.bodies().size(), 2u);
    EXPECT_TRUE(snapshot.bodies()[1].nodes[0].enabled);
    EXPECT_FALSE(snapshot.bodies()[1].nodes[1].enabled);
    EXPECT_TRUE(snapshot.bodies()[1].edges_known);
    EXPECT_EQ(snapshot.bodies()[1].edges.size(), 1u);
}

TEST_F(GraphSnapshotChange, WhatAChangeBringsBackIsDroppedAgain) {
    FakeNode& first = graph.add_kernel(one, std::uint64_t{1});
    graph.add_kernel(one, std::uint64_t{2});
    Snapshot snapshot = read();
    snapshot.drop_data();
    const std::size_t bytes = snapshot.bytes();
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(snapshot.set_kernel({0, 0}, first.kernel, functions));
        EXPECT_EQ(word(snapshot.bodies()[0], snapshot.bodies()[0].kernels[0]), 1u);
        snapshot.drop_data_of({0, 0});
        EXPECT_FALSE(snapshot.bodies()[0].kernels[0].arguments_known);
        EXPECT_EQ(snapshot.bytes(), bytes);
    }
}

TEST_F(GraphSnapshotChange, OtherOrderOrOtherChildrenAreNotTheSameShape) {
    FakeGraph inner, deeper;
    deeper.add_child(inner);
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.add_child(inner);
    Snapshot before = read();
    FakeGraph turned, shorter, deep, other_type;
    other_type.add(CU_GRAPH_NODE_TYPE_MEMSET);
    other_type.add_child(inner);
    turned.add_child(inner);
    turned.add(CU_GRAPH_NODE_TYPE_EMPTY);
    shorter.add(CU_GRAPH_NODE_TYPE_EMPTY);
    deep.add(CU_GRAPH_NODE_TYPE_EMPTY);
    deep.add_child(deeper);
    for (FakeGraph* const other : {&turned, &shorter, &deep, &other_type}) {
        Snapshot after = Snapshot::read(other->handle(), functions);
        EXPECT_FALSE(after.take_shape(std::move(before), renumbered));
        EXPECT_EQ(after.bodies()[0].nodes[0].handle, other->nodes[0].handle()) << "nothing is taken";
        EXPECT_TRUE(after.handles_lost());
    }
}

TEST_F(GraphSnapshotChange, DroppedDataGoesAndNamesStay) {
    FakeNode& first = graph.add_kernel(one, std::uint64_t{1});
    FakeNode& second = graph.add_kernel(one, std::uint64_t{2});
    graph.edges = {{&first, &second, {}}};
    Snapshot snapshot = read();
    snapshot.read_edges(graph.handle());
    const std::size_t before = snapshot.bytes();
    EXPECT_FALSE(snapshot.data_dropped());
    snapshot.drop_data();
    EXPECT_TRUE(snapshot.data_dropped());
    EXPECT_LT(snapshot.bytes(), before);
    const Body& body = snapshot.bodies()[0];
    EXPECT_TRUE(body.argument_bytes.empty());
    EXPECT_TRUE(body.edges.empty());
    EXPECT_FALSE(body.kernels[0].arguments_known);
    EXPECT_EQ(body.kernels[0].function->mangled, "one");
    snapshot.read_edges(graph.handle());
    EXPECT_FALSE(snapshot.edges_known()) << "what was dropped is not read again";

    std::uint64_t value = 7;
    ASSERT_TRUE(snapshot.set_kernel({0, 1}, parameters_of(one, value), functions))
        << "to be scanned, then dropped again";
    EXPECT_EQ(word(body, body.kernels[1]), 7u);
    std::uint64_t other = 9;
    ASSERT_TRUE(snapshot.set_kernel({0, 0}, parameters_of(one, other), functions));
    EXPECT_EQ(word(body, body.kernels[0]), 9u);
    EXPECT_EQ(word(body, body.kernels[1]), 7u) << "where its arguments stood before says nothing now";
}

TEST_F(GraphSnapshotChange, BytesGrowWithWhatIsHeld) {
    std::size_t before = read().bytes();
    const auto grows_by_at_least = [&](std::size_t size) {
        const std::size_t now = read().bytes();
        EXPECT_GE(now, before + size);
        before = now;
    };
    graph.add_kernel(one, std::uint64_t{1});
    grows_by_at_least(sizeof(Node) + sizeof(Kernel) + 8);
    graph.add(CU_GRAPH_NODE_TYPE_MEMCPY);
    grows_by_at_least(sizeof(Node) + sizeof(CUDA_MEMCPY3D));
    graph.add(CU_GRAPH_NODE_TYPE_MEMSET);
    grows_by_at_least(sizeof(Node) + sizeof(CUDA_MEMSET_NODE_PARAMS));
    FakeGraph inner;
    inner.add(CU_GRAPH_NODE_TYPE_MEMCPY);
    graph.add_child(inner);
    grows_by_at_least(2 * sizeof(Node) + sizeof(CUDA_MEMCPY3D));
    Snapshot snapshot = read();
    graph.edges = {{&graph.nodes[0], &graph.nodes[1], {}}};
    snapshot.read_edges(graph.handle());
    EXPECT_GE(snapshot.bytes(), before + sizeof(Edge));
}

}  // namespace
}  // namespace keepgraph::graph
