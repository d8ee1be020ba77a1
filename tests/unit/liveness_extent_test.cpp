// SPDX-License-Identifier: Apache-2.0
// Which bytes copies and memsets touch, and so which allocations they refer to.
#include "liveness/extent.h"

#include "fake_driver.h"
#include "liveness/scan.h"

namespace keepgraph::liveness {
namespace {

using unit_tests::FakeGraph;
using unit_tests::FakeNode;

TEST(LivenessExtent, IsTheFirstByteUntilTheLast) {
    const Extent extent{0x1000, 0x10};
    EXPECT_EQ(extent.next(0), 0x1000u);
    EXPECT_EQ(extent.next(0x1000), 0x1000u);
    EXPECT_EQ(extent.next(0x100f), 0x100fu);
    EXPECT_EQ(extent.next(0x1010), 0u);
    EXPECT_EQ(extent.next(UINTPTR_MAX), 0u);
}

TEST(LivenessExtent, OfNothingIsEmptyInEveryDimension) {
    EXPECT_EQ((Extent{0x1000, 0, 1, 1}.next(0)), 0u);
    EXPECT_EQ((Extent{0x1000, 1, 0, 1}.next(0)), 0u);
    EXPECT_EQ((Extent{0x1000, 1, 1, 0}.next(0)), 0u);
    EXPECT_EQ(Extent{}.next(0), 0u);
}

TEST(LivenessExtent, LeavesOutWhatLiesBetweenItsRowsAndSlices) {
    // Two slices of three rows of 0x10 bytes.
    const Extent extent{0x10000, 0x10, 3, 2, 0x100, 0x1000};
    EXPECT_EQ(extent.next(0x1000f), 0x1000fu);
    EXPECT_EQ(extent.next(0x10010), 0x10100u) << "the next row";
    EXPECT_EQ(extent.next(0x100ff), 0x10100u);
    EXPECT_EQ(extent.next(0x10205), 0x10205u);
    EXPECT_EQ(extent.next(0x10210), 0x11000u) << "the next slice";
    EXPECT_EQ(extent.next(0x10300), 0x11000u) << "where a fourth row would be";
    EXPECT_EQ(extent.next(0x10fff), 0x11000u);
    EXPECT_EQ(extent.next(0x1120f), 0x1120fu);
    EXPECT_EQ(extent.next(0x11210), 0u);
    EXPECT_EQ(extent.next(0x20000), 0u);
}

TEST(LivenessExtent, OfEveryByteIsTheOneCountedByHand) {
    for (const std::size_t row : {3u, 4u, 7u})
        for (const std::size_t slice : {2 * row, 3 * row}) {
            const Extent extent{100, 3, 2, 3, row, slice};
            for (std::uintptr_t address = 90; address < 200; ++address) {
                std::uintptr_t expected = 0;
                for (std::size_t z = 0; z < 3; ++z)
                    for (std::size_t y = 0; y < 2; ++y)
                        for (std::size_t x = 0; x < 3; ++x) {
                            const std::uintptr_t byte = 100 + z * slice + y * row + x;
                            if (byte >= address && (expected == 0 || byte < expected))
                                expected = byte;
                        }
                EXPECT_EQ(extent.next(address), expected) << row << " " << slice << " " << address;
            }
        }
}

TEST(LivenessExtent, EndsWithTheAddresses) {
    const Extent extent{UINTPTR_MAX - 0xff, 0x10, 3, 1, SIZE_MAX / 2, 0};
    EXPECT_EQ(extent.next(0), UINTPTR_MAX - 0xff);
    EXPECT_EQ(extent.next(UINTPTR_MAX - 0x10), 0u) << "the next row would be at a low address";
}

class LivenessExtentOfNodes : public unit_tests::OnFakeDriver {
  protected:
    static constexpr std::uintptr_t a = 0x7f0000001000, b = 0x7f0000001100, c = 0x7f0000001200;
    LivenessExtentOfNodes() { driver.memory = {{1, a, 0x100}, {2, b, 0x100}, {3, c, 0x100}}; }

    struct Use {
        std::uint64_t allocation;
        std::string slot;
        std::uintptr_t address;
        bool operator==(const Use&) const = default;
    };
    std::vector<Use> uses(const memory::Dead* dead = nullptr) {
        const Scan found = scan(graph::Snapshot::read(graph.handle(), functions), seen, dead);
        std::vector<Use> result;
        for (const Reference& reference : found.references) {
            EXPECT_EQ(reference.grade, config::Grade::certain);
            result.push_back({found.allocations.at(reference.input).id, to_string(reference.slot), reference.address});
        }
        return result;
    }
    using Uses = std::vector<Use>;

    graph::Functions functions;
    memory::Seen seen;
    FakeGraph graph;
};

TEST_F(LivenessExtentOfNodes, SetThatRunsThroughThreeAllocationsRefersToAll) {
    graph.add_set(a + 0x80, 0x181);
    EXPECT_EQ(uses(), (Uses{{1, "dst", a + 0x80}, {2, "dst", b}, {3, "dst", c}}));
}

TEST_F(LivenessExtentOfNodes, LastByteDecides) {
    graph.add_set(a, 0x100);
    EXPECT_EQ(uses(), (Uses{{1, "dst", a}}));
}

TEST_F(LivenessExtentOfNodes, ElementsOfASetAreCountedInBytes) {
    FakeNode& node = graph.add_set(a, 0x41);
    EXPECT_EQ(uses().size(), 1u);
    node.set.elementSize = 4;
    EXPECT_EQ(uses().size(), 2u);
}

TEST_F(LivenessExtentOfNodes, RowsPassOverWhatLiesBetweenThem) {
    FakeNode& node = graph.add_set(a, 0x10);
    node.set.height = 2;
    node.set.pitch = 0x200;
    EXPECT_EQ(uses(), (Uses{{1, "dst", a}, {3, "dst", c}}));
}

TEST_F(LivenessExtentOfNodes, CopyBeginsWhereItsOffsetsSay) {
    FakeNode& node = graph.add_copy(0x10);
    CUDA_MEMCPY3D& copy = node.copy;
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = a;
    copy.srcPitch = 0x20, copy.srcHeight = 8;
    copy.srcZ = 1, copy.srcY = 2, copy.srcXInBytes = 3;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = reinterpret_cast<void*>(a);
    copy.dstPitch = 0x80, copy.dstY = 4;
    EXPECT_EQ(uses(), (Uses{{2, "src", b + 0x43}, {3, "dst", c}}));
    copy.srcHeight = 0;  // as high as the copy
    EXPECT_EQ(uses()[0], (Use{1, "src", a + 0x63}));
}

TEST_F(LivenessExtentOfNodes, CopyOfNothingRefersToNothing) {
    FakeNode& node = graph.add_copy(0);
    node.copy.srcMemoryType = node.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    node.copy.srcDevice = a, node.copy.dstDevice = b;
    EXPECT_EQ(uses(), Uses{});
    node.copy.WidthInBytes = 1;
    EXPECT_EQ(uses().size(), 2u);
}

TEST_F(LivenessExtentOfNodes, DeadMemoryOnTheWayIsReferredToAsWell) {
    struct BIsDead final : memory::Dead {
        Held find(std::uintptr_t address, memory::Allocation& out) const override {
            out = {2, b, 0x100, memory::Kind::device, 0};
            return out.covers(address) ? Held::yes : Held::no;
        }
    };
    std::erase_if(driver.memory, [](const auto& memory) { return memory.base == b; });
    graph.add_set(a, 0x300);
    EXPECT_EQ(uses(), (Uses{{1, "dst", a}})) << "it ends where nothing is known";
    const BIsDead dead;
    EXPECT_EQ(uses(&dead), (Uses{{1, "dst", a}, {2, "dst", b}, {3, "dst", c}}));
}

}  // namespace
}  // namespace keepgraph::liveness
