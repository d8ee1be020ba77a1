// SPDX-License-Identifier: Apache-2.0
// What Snapshot::read() copies out of a template.
#include "graph/snapshot.h"

#include <array>

#include "fake_driver.h"
#include "graph/node_type.h"

namespace keepgraph::graph {
namespace {

using unit_tests::FakeFunction;
using unit_tests::FakeGraph;
using unit_tests::FakeNode;
using unit_tests::Lacking;

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    EXPECT_LE(offset + sizeof value, bytes.size());
    if (offset + sizeof value <= bytes.size())
        std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

class GraphSnapshot : public unit_tests::OnFakeDriver {
  protected:
    Snapshot read() { return Snapshot::read(graph.handle(), functions); }

    Functions functions;
    FakeGraph graph;
    FakeFunction scale{"kg_scale", {{0, 8}, {8, 4}, {16, 8}}};
};

// The packed parameters of kg_scale, as `extra` passes them.
struct Packed {
    std::uint64_t input = 0x7f0000001000;
    std::uint32_t number = 7;
    std::uint64_t output = 0x7f0000002000;
};
static_assert(sizeof(Packed) == 24 && offsetof(Packed, output) == 16);

void expect_packed(const Body& body, const Kernel& kernel) {
    ASSERT_TRUE(kernel.arguments_known);
    const auto bytes = body.arguments_of(kernel);
    EXPECT_EQ(value_at<std::uint64_t>(bytes, 0), Packed{}.input);
    EXPECT_EQ(value_at<std::uint32_t>(bytes, 8), Packed{}.number);
    EXPECT_EQ(value_at<std::uint64_t>(bytes, 16), Packed{}.output);
}

TEST_F(GraphSnapshot, EmptyGraphIsOneEmptyBody) {
    const Snapshot snapshot = read();
    ASSERT_EQ(snapshot.bodies().size(), 1u);
    EXPECT_TRUE(snapshot.bodies()[0].nodes.empty());
    EXPECT_EQ(snapshot.path(0), "");
}

TEST_F(GraphSnapshot, KernelParamsAreCopiedToTheirOffsets) {
    FakeNode& node = graph.add_kernel(scale, Packed{}.input, Packed{}.number, Packed{}.output);
    node.kernel.gridDimX = 1, node.kernel.gridDimY = 2, node.kernel.gridDimZ = 3;
    node.kernel.blockDimX = 4, node.kernel.blockDimY = 5, node.kernel.blockDimZ = 6;
    node.kernel.sharedMemBytes = 77;
    const Snapshot snapshot = read();
    node.arguments[0].assign(8, std::byte{0xff});  // the program uses its variables again
    const Body& body = snapshot.bodies()[0];
    ASSERT_EQ(body.nodes.size(), 1u);
    EXPECT_EQ(body.nodes[0].handle, node.handle());
    EXPECT_TRUE(body.nodes[0].readable);
    EXPECT_TRUE(body.nodes[0].enabled);
    const Kernel& kernel = body.kernels[body.nodes[0].detail];
    EXPECT_EQ(kernel.function->mangled, "kg_scale");
    EXPECT_EQ((std::array{kernel.grid[0], kernel.grid[1], kernel.grid[2]}), (std::array{1u, 2u, 3u}));
    EXPECT_EQ((std::array{kernel.block[0], kernel.block[1], kernel.block[2]}), (std::array{4u, 5u, 6u}));
    EXPECT_EQ(kernel.shared_bytes, 77u);
    expect_packed(body, kernel);
}

TEST_F(GraphSnapshot, ExtraIsReadByKeyInEitherOrder) {
    Packed packed;
    std::size_t size = sizeof packed;
    void* pointer_first[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                             CU_LAUNCH_PARAM_END};
    void* size_first[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
                          CU_LAUNCH_PARAM_END};
    for (void** extra : {pointer_first, size_first}) {
        FakeNode& node = graph.add_kernel(scale);
        node.kernel.kernelParams = nullptr;
        node.kernel.extra = extra;
    }
    const Snapshot snapshot = read();
    const Body& body = snapshot.bodies()[0];
    ASSERT_EQ(body.kernels.size(), 2u);
    EXPECT_NE(body.kernels[0].arguments, body.kernels[1].arguments);
    for (const Kernel& kernel : body.kernels)
        expect_packed(body, kernel);
}

TEST_F(GraphSnapshot, ExtraLongerOrShorterThanTheLayout) {
    struct Long {
        Packed packed;
        std::uint64_t behind = UINT64_MAX;
    } longer;
    std::size_t long_size = sizeof longer;
    std::size_t short_size = 12;  // without the last parameter
    void* long_extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &longer, CU_LAUNCH_PARAM_BUFFER_SIZE, &long_size,
                          CU_LAUNCH_PARAM_END};
    void* short_extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &longer, CU_LAUNCH_PARAM_BUFFER_SIZE, &short_size,
                           CU_LAUNCH_PARAM_END};
    for (void** extra : {long_extra, short_extra}) {
        FakeNode& node = graph.add_kernel(scale);
        node.kernel.kernelParams = nullptr;
        node.kernel.extra = extra;
    }
    const Snapshot snapshot = read();
    const Body& body = snapshot.bodies()[0];
    EXPECT_EQ(body.argument_bytes.size(), 2 * sizeof(Packed)) << "each kernel has the room of its layout";
    expect_packed(body, body.kernels[0]);
    const auto bytes = body.arguments_of(body.kernels[1]);
    EXPECT_EQ(value_at<std::uint32_t>(bytes, 8), 7u);
    EXPECT_EQ(value_at<std::uint64_t>(bytes, 16), 0u) << "nothing is read behind what the program passed";
}

TEST_F(GraphSnapshot, ArgumentsThatAreNotThereMakeTheNodeUnreadable) {
    std::size_t size = 24;
    void* no_pointer[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    FakeNode& half = graph.add_kernel(scale, Packed{}.input, Packed{}.number, Packed{}.output);
    half.argument_pointers[1] = nullptr;
    graph.add_kernel(scale).kernel.kernelParams = nullptr;
    FakeNode& extra = graph.add_kernel(scale);
    extra.kernel.kernelParams = nullptr;
    extra.kernel.extra = no_pointer;
    const Snapshot snapshot = read();
    const Body& body = snapshot.bodies()[0];
    ASSERT_EQ(body.nodes.size(), 3u);
    for (const Node& node : body.nodes) {
        EXPECT_FALSE(node.readable);
        EXPECT_FALSE(body.kernels[node.detail].arguments_known);
        EXPECT_EQ(body.kernels[node.detail].function->mangled, "kg_scale") << "its name is known all the same";
    }
}

TEST_F(GraphSnapshot, KernelWithoutParametersNeedsNone) {
    FakeFunction empty{"empty", {}};
    graph.add_kernel(empty).kernel.kernelParams = nullptr;
    const Snapshot snapshot = read();
    EXPECT_TRUE(snapshot.bodies()[0].nodes[0].readable);
    EXPECT_TRUE(snapshot.bodies()[0].kernels[0].arguments_known);
    EXPECT_TRUE(snapshot.bodies()[0].arguments_of(snapshot.bodies()[0].kernels[0]).empty());
}

TEST_F(GraphSnapshot, UnknownLayoutMakesTheKernelUnreadable) {
    const Lacking no_layout(&driver::Api::cuFuncGetParamInfo);
    graph.add_kernel(scale, Packed{}.input, Packed{}.number, Packed{}.output);
    const Snapshot snapshot = read();
    EXPECT_FALSE(snapshot.bodies()[0].nodes[0].readable);
    EXPECT_EQ(snapshot.bodies()[0].kernels[0].function->mangled, "kg_scale");
}

TEST_F(GraphSnapshot, EachTypeKeepsItsParameters) {
    FakeNode& copy = graph.add(CU_GRAPH_NODE_TYPE_MEMCPY);
    copy.copy.srcDevice = 0x1000, copy.copy.dstDevice = 0x2000, copy.copy.WidthInBytes = 64;
    graph.add(CU_GRAPH_NODE_TYPE_MEMSET).set = {0x3000, 0, 5, 4, 16, 1};
    int data = 0;
    graph.add(CU_GRAPH_NODE_TYPE_HOST).host = {[](void*) {}, &data};
    graph.add(CU_GRAPH_NODE_TYPE_WAIT_EVENT).event = reinterpret_cast<CUevent>(0x10);
    graph.add(CU_GRAPH_NODE_TYPE_EVENT_RECORD).event = reinterpret_cast<CUevent>(0x20);
    FakeNode& allocated = graph.add(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    allocated.allocated.dptr = 0x5000, allocated.allocated.bytesize = 256;
    graph.add(CU_GRAPH_NODE_TYPE_MEM_FREE).freed = 0x6000;
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    const Snapshot snapshot = read();
    const Body& body = snapshot.bodies()[0];
    for (const Node& node : body.nodes)
        EXPECT_TRUE(node.readable) << node_type_name(node.type);
    EXPECT_EQ(body.copies.at(body.nodes[0].detail).srcDevice, 0x1000u);
    EXPECT_EQ(body.copies.at(body.nodes[0].detail).dstDevice, 0x2000u);
    EXPECT_EQ(body.copies.at(body.nodes[0].detail).WidthInBytes, 64u);
    EXPECT_EQ(body.sets.at(body.nodes[1].detail).dst, 0x3000u);
    EXPECT_EQ(body.sets.at(body.nodes[1].detail).width, 16u);
    EXPECT_EQ(body.hosts.at(body.nodes[2].detail).userData, &data);
    EXPECT_EQ(body.events.at(body.nodes[3].detail), reinterpret_cast<CUevent>(0x10));
    EXPECT_EQ(body.events.at(body.nodes[4].detail), reinterpret_cast<CUevent>(0x20));
    EXPECT_EQ(body.memories.at(body.nodes[5].detail).address, 0x5000u);
    EXPECT_EQ(body.memories.at(body.nodes[5].detail).size, 256u);
    EXPECT_EQ(body.memories.at(body.nodes[6].detail).address, 0x6000u);
    EXPECT_EQ(body.memories.at(body.nodes[6].detail).size, 0u) << "a free tells no size";
}

TEST_F(GraphSnapshot, GetterThatFailsLeavesTheNodeInUnreadable) {
    for (const CUgraphNodeType type :
         {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST,
          CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
          CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_GRAPH})
        graph.add(type).parameters_result = CUDA_ERROR_INVALID_VALUE;
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    const Snapshot snapshot = read();
    const Body& body = snapshot.bodies()[0];
    ASSERT_EQ(body.nodes.size(), 10u);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_FALSE(body.nodes[i].readable) << node_type_name(body.nodes[i].type);
        EXPECT_EQ(body.nodes[i].type, graph.nodes[i].type);
    }
    EXPECT_TRUE(body.nodes[9].readable);
    EXPECT_EQ(snapshot.bodies().size(), 1u) << "the child graph that nobody told of";
    EXPECT_NE(body.kernels[0].function, nullptr) << "readers do not test for null";
}

TEST_F(GraphSnapshot, DriverWithoutAGetterLeavesTheNodeInUnreadable) {
    graph.add_kernel(scale, Packed{}.input, Packed{}.number, Packed{}.output);
    graph.add(CU_GRAPH_NODE_TYPE_MEMCPY);
    const Lacking no_kernels(&driver::Api::cuGraphKernelNodeGetParams_v2);
    const Lacking no_copies(&driver::Api::cuGraphMemcpyNodeGetParams);
    const Snapshot snapshot = read();
    ASSERT_EQ(snapshot.bodies()[0].nodes.size(), 2u);
    EXPECT_FALSE(snapshot.bodies()[0].nodes[0].readable);
    EXPECT_FALSE(snapshot.bodies()[0].nodes[1].readable);
}

TEST_F(GraphSnapshot, UnknownTypeIsItsNumber) {
    const auto newest = static_cast<CUgraphNodeType>(15);  // the largest that the enum can hold
    graph.add(newest);
    graph.add(CU_GRAPH_NODE_TYPE_CONDITIONAL);
    graph.add(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    const Snapshot snapshot = read();
    const auto& nodes = snapshot.bodies()[0].nodes;
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_EQ(nodes[0].type, newest);
    EXPECT_EQ(node_type_name(nodes[0].type), "unknown (15)");
    EXPECT_EQ(node_type_name(nodes[1].type), "conditional");
    EXPECT_EQ(node_type_name(nodes[2].type), "batch_mem_op");
    EXPECT_EQ(node_type_name(static_cast<CUgraphNodeType>(14)), "unknown (14)") << "the first after the last known";
    for (const Node& node : nodes)
        EXPECT_FALSE(node.readable) << node_type_name(node.type);
}

TEST_F(GraphSnapshot, GraphThatCannotBeListedIsEmpty) {
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.nodes_result = CUDA_ERROR_INVALID_VALUE;
    EXPECT_TRUE(read().bodies()[0].nodes.empty());
}

TEST_F(GraphSnapshot, ChildGraphsAreBodiesWithAPath) {
    FakeGraph inner;
    inner.add(CU_GRAPH_NODE_TYPE_MEMSET).set.dst = 0x3000;
    FakeGraph middle;
    middle.add(CU_GRAPH_NODE_TYPE_EMPTY);
    middle.add_child(inner);
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.add_child(middle);
    graph.add_child(inner);
    const Snapshot snapshot = read();
    const auto& bodies = snapshot.bodies();
    ASSERT_EQ(bodies.size(), 4u);
    EXPECT_EQ(snapshot.path(1), "child#1");
    EXPECT_EQ(bodies[1].parent, 0u);
    EXPECT_EQ(bodies[1].node, 1u);
    EXPECT_EQ(snapshot.path(2), "child#1/child#1");
    EXPECT_EQ(bodies[2].parent, 1u);
    EXPECT_EQ(snapshot.path(3), "child#2");
    EXPECT_EQ(bodies[3].parent, 0u);
    EXPECT_EQ(bodies[3].node, 2u);
    for (const std::size_t body : {2u, 3u})
        EXPECT_EQ(bodies[body].sets.at(0).dst, 0x3000u);
}

TEST_F(GraphSnapshot, DeepNestingIsReadDownwardsFirst) {
    // Each level holds an empty node, the next level and a leaf.
    constexpr std::uint32_t depth = 2000;
    FakeGraph leaf;
    leaf.add(CU_GRAPH_NODE_TYPE_MEMSET).set.dst = 0x3000;
    std::vector<FakeGraph> levels(depth);
    FakeGraph* around = &graph;
    for (FakeGraph& level : levels) {
        around->add(CU_GRAPH_NODE_TYPE_EMPTY);
        around->add_child(level);
        around->add_child(leaf);
        around = &level;
    }
    const Snapshot snapshot = read();
    const auto& bodies = snapshot.bodies();
    ASSERT_EQ(bodies.size(), 1u + depth + depth);
    std::string path;
    for (std::uint32_t level = 1; level <= depth; ++level) {
        EXPECT_EQ(bodies[level].parent, level - 1);
        EXPECT_EQ(bodies[level].node, 1u);
        path += level == 1 ? "child#1" : "/child#1";
        // The leaf of the innermost level follows it, then that of the level around, up to the graph's own.
        const Body& its_leaf = bodies[depth + level];
        EXPECT_EQ(its_leaf.parent, depth - level);
        EXPECT_EQ(its_leaf.node, 2u);
        EXPECT_EQ(its_leaf.sets.at(0).dst, 0x3000u);
    }
    EXPECT_EQ(snapshot.path(depth), path);
    EXPECT_EQ(snapshot.path(depth + 1), path.substr(0, path.size() - std::string("/child#1").size()) + "/child#2");
    EXPECT_EQ(snapshot.path(2 * depth), "child#2");
}

TEST_F(GraphSnapshot, EdgesAreReadWhenAskedForAndSorted) {
    FakeNode& first = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& second = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& third = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.edges = {{&first, &third, {}}, {&second, &third, {1, 2, 1, {}}}, {&first, &second, {}}};
    third.dependencies = {&second, &first};
    Snapshot snapshot = read();
    EXPECT_FALSE(snapshot.edges_known());
    snapshot.read_edges(graph.handle());
    ASSERT_TRUE(snapshot.edges_known());
    const auto& edges = snapshot.bodies()[0].edges;
    ASSERT_EQ(edges.size(), 3u);
    EXPECT_EQ(edges[0].from, 0u);
    EXPECT_EQ(edges[0].to, 1u);
    EXPECT_EQ(edges[1].from, 1u) << "that edge was added first";
    EXPECT_EQ(edges[1].to, 2u);
    EXPECT_EQ(edges[1].from_port, 1u);
    EXPECT_EQ(edges[1].to_port, 2u);
    EXPECT_EQ(edges[1].type, 1u);
    EXPECT_EQ(edges[2].from, 0u);
    EXPECT_EQ(edges[2].to, 2u);
}

TEST_F(GraphSnapshot, OrderOfEdgesIsAskedOfOlderDriversTooAndMayStayUnknown) {
    FakeNode& first = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& second = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& third = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.edges = {{&first, &third, {}}, {&second, &third, {}}};
    third.dependencies = {&second, &first};
    const auto first_from = [&] {
        Snapshot snapshot = read();
        snapshot.read_edges(graph.handle());
        EXPECT_TRUE(snapshot.edges_known());
        return snapshot.bodies()[0].edges.at(0).from;
    };
    const Lacking no_ports(&driver::Api::cuGraphNodeGetDependencies_v2);
    EXPECT_EQ(first_from(), 1u);
    const Lacking nothing(&driver::Api::cuGraphNodeGetDependencies);
    EXPECT_EQ(first_from(), 0u) << "as cuGraphGetEdges gives them";
}

TEST_F(GraphSnapshot, OlderDriverTellsEdgesWithoutPorts) {
    FakeNode& first = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& second = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.edges = {{&first, &second, {}}};
    const Lacking no_ports(&driver::Api::cuGraphGetEdges_v2);
    Snapshot snapshot = read();
    snapshot.read_edges(graph.handle());
    ASSERT_TRUE(snapshot.edges_known());
    ASSERT_EQ(snapshot.bodies()[0].edges.size(), 1u);
    EXPECT_EQ(snapshot.bodies()[0].edges[0].to, 1u);

    driver.ports_in_old_form = false;  // it refuses to leave a port out
    Snapshot refused = read();
    refused.read_edges(graph.handle());
    EXPECT_FALSE(refused.edges_known());
    const Lacking no_edges(&driver::Api::cuGraphGetEdges);
    refused.read_edges(graph.handle());
    EXPECT_FALSE(refused.edges_known());
}

TEST_F(GraphSnapshot, EdgesOfAChangedTemplateAreNotTaken) {
    FakeNode& first = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    Snapshot snapshot = read();
    FakeNode& later = graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.edges = {{&first, &later, {}}};
    snapshot.read_edges(graph.handle());
    EXPECT_FALSE(snapshot.edges_known());
    EXPECT_TRUE(snapshot.bodies()[0].edges.empty());
}

TEST_F(GraphSnapshot, EdgesOfChildGraphsToo) {
    FakeGraph inner;
    FakeNode& first = inner.add(CU_GRAPH_NODE_TYPE_EMPTY);
    FakeNode& second = inner.add(CU_GRAPH_NODE_TYPE_EMPTY);
    inner.edges = {{&first, &second, {}}};
    FakeGraph middle;
    middle.add_child(inner);
    graph.add_child(middle);
    Snapshot snapshot = read();
    snapshot.read_edges(graph.handle());
    ASSERT_EQ(snapshot.bodies().size(), 3u);
    for (const Body& body : snapshot.bodies())
        EXPECT_TRUE(body.edges_known) << body.node;
    EXPECT_TRUE(snapshot.bodies()[1].edges.empty());
    EXPECT_EQ(snapshot.bodies()[2].edges.size(), 1u);
}

}  // namespace
}  // namespace keepgraph::graph
