// SPDX-License-Identifier: Apache-2.0
// Which addresses a scan finds in a graph, and where.
#include "liveness/scan.h"

#include "fake_driver.h"

namespace keepgraph::liveness {
namespace {

using config::Grade;
using unit_tests::FakeFunction;
using unit_tests::FakeGraph;
using unit_tests::FakeNode;

class LivenessScan : public unit_tests::OnFakeDriver {
  protected:
    static constexpr std::uintptr_t a = 0x7f0000001000, b = 0x7f0000002000, c = 0x7f0000003000;
    LivenessScan() { driver.memory = {{1, a, 0x100}, {2, b, 0x100}, {3, c, 0x100}}; }

    graph::Snapshot read() { return graph::Snapshot::read(graph.handle(), functions); }
    Scan found() { return scan(read(), seen); }
    std::uintptr_t input(const Scan& scan, std::size_t reference) {
        return scan.allocations.at(scan.references.at(reference).input).base;
    }

    graph::Functions functions;
    memory::Seen seen;
    FakeGraph graph;
    FakeFunction two{"two", {{0, 8}, {8, 8}}};
};

TEST_F(LivenessScan, WholeParameterIsLikely) {
    graph.add_kernel(two, a, b);
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 2u);
    for (std::uint16_t i = 0; i < 2; ++i) {
        EXPECT_EQ(scan.references[i].slot.kind, Slot::Kind::parameter);
        EXPECT_EQ(scan.references[i].slot.parameter, i);
        EXPECT_EQ(scan.references[i].slot.offset, 0u);
        EXPECT_EQ(scan.references[i].grade, Grade::likely);
    }
    EXPECT_EQ(input(scan, 0), a);
    EXPECT_EQ(input(scan, 1), b);
    EXPECT_EQ(to_string(scan.references[1].slot), "parameter 1 +0");
}

TEST_F(LivenessScan, InteriorPointerBelongsToItsAllocation) {
    graph.add_kernel(two, a + 0x40, a + 0xff);
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 2u);
    ASSERT_EQ(scan.allocations.size(), 1u) << "one allocation, twice";
    EXPECT_EQ(scan.references[0].address, a + 0x40);
    EXPECT_EQ(input(scan, 0), a);
    EXPECT_EQ(input(scan, 1), a);
    EXPECT_EQ(driver.ids_asked, 1u);
}

TEST_F(LivenessScan, AlignedWordsOfAStructAndNoOthers) {
    struct Struct {
        std::uint64_t number = 7;
        std::uintptr_t aligned = a;
        unsigned char bytes[8] = {};
        std::uint64_t last = b;
    } value;
    const std::uintptr_t unaligned = c;
    std::memcpy(value.bytes + 4, &unaligned, 4);  // an address across two words
    FakeFunction function{"takes_struct", {{0, 32}}};
    graph.add_kernel(function, value);
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 2u);
    EXPECT_EQ(to_string(scan.references[0].slot), "parameter 0 +8");
    EXPECT_EQ(to_string(scan.references[1].slot), "parameter 0 +24");
    EXPECT_EQ(scan.references[1].grade, Grade::likely);
}

TEST_F(LivenessScan, ShortParametersAndTheRestOfAStructAreNoAddresses) {
    // Two halves of an address in two parameters, and one across the end of a struct of 12 bytes.
    FakeFunction function{"short", {{0, 4}, {4, 4}, {8, 12}, {20, 4}, {24, 1}}};
    const auto low = static_cast<std::uint32_t>(a), high = static_cast<std::uint32_t>(a >> 32);
    struct Twelve {
        std::uint32_t words[3];
    };
    graph.add_kernel(function, low, high, Twelve{{0, 0, low}}, high, static_cast<unsigned char>(1));
    EXPECT_TRUE(found().references.empty());
    EXPECT_EQ(driver.ids_asked, 0u);
}

TEST_F(LivenessScan, ParameterAtAnOffsetOfFourIsRead) {
    FakeFunction function{"packed", {{0, 4}, {4, 8}}};
    graph.add_kernel(function, std::uint32_t{1}, a);
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 1u);
    EXPECT_EQ(to_string(scan.references[0].slot), "parameter 1 +0");
}

TEST_F(LivenessScan, CopiesAndSetsAreCertain) {
    FakeNode& copy = graph.add_copy();
    copy.copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.copy.srcDevice = a + 8;
    copy.copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.copy.dstHost = reinterpret_cast<void*>(b);
    graph.add_set(c);
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 3u);
    EXPECT_EQ(to_string(scan.references[0].slot), "src");
    EXPECT_EQ(input(scan, 0), a);
    EXPECT_EQ(to_string(scan.references[1].slot), "dst");
    EXPECT_EQ(input(scan, 1), b) << "pinned memory, named by its host address";
    EXPECT_EQ(scan.references[2].node, 1u);
    EXPECT_EQ(to_string(scan.references[2].slot), "dst");
    EXPECT_EQ(input(scan, 2), c);
    for (const Reference& reference : scan.references)
        EXPECT_EQ(reference.grade, Grade::certain);
}

TEST_F(LivenessScan, OnlyTheFieldThatTheCopyUsesIsRead) {
    FakeNode& arrays = graph.add_copy();
    arrays.copy.srcMemoryType = arrays.copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    arrays.copy.srcDevice = a;
    arrays.copy.dstHost = reinterpret_cast<void*>(b);
    FakeNode& host = graph.add_copy();
    host.copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    host.copy.srcDevice = a;  // srcHost is pageable memory, which the driver does not know
    host.copy.srcHost = &host;
    host.copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    host.copy.dstDevice = c;
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 1u);
    EXPECT_EQ(input(scan, 0), c);
    EXPECT_EQ(scan.references[0].slot.kind, Slot::Kind::destination);
}

TEST_F(LivenessScan, MemoryNodesOfTheGraphAreItsOwn) {
    FakeNode& allocated = graph.add(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    allocated.allocated.dptr = a, allocated.allocated.bytesize = 0x100;
    graph.add_kernel(two, a + 0x10, b);
    graph.add_set(a + 0xff);
    graph.add(CU_GRAPH_NODE_TYPE_MEM_FREE).freed = a;
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 1u);
    EXPECT_EQ(input(scan, 0), b);
    EXPECT_EQ(scan.opaque, 0u);
}

TEST_F(LivenessScan, NodesThatCannotBeReadAreOpaque) {
    graph.add(static_cast<CUgraphNodeType>(15));
    graph.add(CU_GRAPH_NODE_TYPE_CONDITIONAL);
    graph.add(CU_GRAPH_NODE_TYPE_MEMSET).parameters_result = CUDA_ERROR_INVALID_VALUE;
    graph.add_kernel(two, a, b).argument_pointers[0] = nullptr;
    graph.add(CU_GRAPH_NODE_TYPE_EMPTY);
    graph.add(CU_GRAPH_NODE_TYPE_HOST);
    const Scan scan = found();
    EXPECT_EQ(scan.opaque, 4u);
    EXPECT_TRUE(scan.references.empty());
}

TEST_F(LivenessScan, NodeWithAnAddressThatTheDriverSaysNothingAboutIsOpaque) {
    graph.add_set(c);
    graph.add_kernel(two, a, b);
    const graph::Snapshot snapshot = read();
    driver.failing_attributes = 1;
    Scan first = scan(snapshot, seen);
    EXPECT_EQ(first.opaque, 1u);
    ASSERT_EQ(first.unanswered.size(), 1u);
    EXPECT_EQ(first.unanswered[0].body, 0u);
    EXPECT_EQ(first.unanswered[0].node, 0u);
    EXPECT_EQ(first.references.size(), 2u) << "the other node is not concerned";
    driver.failing_attributes = 2;
    const Scan kernel = scan_node(snapshot, {0, 1}, seen);
    EXPECT_EQ(kernel.opaque, 1u) << "once for both of its addresses";
    EXPECT_TRUE(kernel.references.empty());
    const Scan later = scan(snapshot, seen);
    EXPECT_EQ(later.opaque, 0u);
    ASSERT_EQ(later.references.size(), 3u);
    EXPECT_EQ(grade_now(snapshot, later.references[1]), Grade::likely) << "no answer does not make it a plain number";
}

TEST_F(LivenessScan, DroppedArgumentsAreNotRead) {
    graph.add_kernel(two, a, b);
    graph::Snapshot snapshot = read();
    snapshot.drop_data();
    EXPECT_TRUE(scan(snapshot, seen).references.empty());
}

TEST_F(LivenessScan, ChildGraphsAreScannedInTheOrderOfTheirBodies) {
    FakeGraph inner, middle;
    inner.add_set(c);
    middle.add_child(inner);
    middle.add_set(b);
    graph.add_child(middle);
    graph.add_set(a);
    const Scan scan = found();
    ASSERT_EQ(scan.references.size(), 3u);
    const std::uint32_t bodies[] = {0, 1, 2}, nodes[] = {1, 1, 0};
    const std::uintptr_t inputs[] = {a, b, c};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(scan.references[i].body, bodies[i]) << i;
        EXPECT_EQ(scan.references[i].node, nodes[i]) << i;
        EXPECT_EQ(input(scan, i), inputs[i]) << i;
    }
}

TEST_F(LivenessScan, OneNodeIsScannedWithAllBelowIt) {
    FakeGraph inner, middle, other;
    inner.add_set(c);
    middle.add_child(inner);
    other.add_set(b);
    graph.add_child(other);
    graph.add_child(middle);
    graph.add_set(a);
    const graph::Snapshot snapshot = read();
    const Scan first = scan_node(snapshot, {0, 0}, seen), second = scan_node(snapshot, {0, 1}, seen),
               third = scan_node(snapshot, {0, 2}, seen);
    for (const Scan* const scan : {&first, &second, &third})
        ASSERT_EQ(scan->references.size(), 1u);
    EXPECT_EQ(input(first, 0), b);
    EXPECT_EQ(input(second, 0), c);
    EXPECT_EQ(snapshot.path(second.references[0].body), "child#1/child#0");
    EXPECT_EQ(input(third, 0), a);
    EXPECT_EQ(third.references[0].node, 2u);
}

TEST_F(LivenessScan, WhatWasFoundIsRemembered) {
    graph.add_kernel(two, a + 0x40, std::uint64_t{0});
    (void)found();
    EXPECT_TRUE(seen.contains(a));
    EXPECT_TRUE(seen.contains(a + 0xff));
    EXPECT_FALSE(seen.contains(a + (4u << 20)));
}

}  // namespace
}  // namespace keepgraph::liveness
