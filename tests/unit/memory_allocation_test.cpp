// SPDX-License-Identifier: Apache-2.0
#include "memory/allocation.h"

#include "fake_driver.h"

namespace keepgraph::memory {
namespace {

using unit_tests::Lacking;

class MemoryAllocation : public unit_tests::OnFakeDriver {
  protected:
    static constexpr std::uintptr_t first = 0x7f0000001000;
    static constexpr std::uintptr_t second = 0x7f0000009000;
};

TEST_F(MemoryAllocation, FateIsToldByTheBufferId) {
    Allocation allocation;
    allocation.id = 7;
    allocation.base = first;
    allocation.size = 0x100;
    CUresult answer = CUDA_SUCCESS;
    driver.memory = {{7, first, 0x100}};
    EXPECT_EQ(fate_of(allocation, answer), Fate::alive);
    driver.memory = {{8, first, 0x100}};
    EXPECT_EQ(fate_of(allocation, answer), Fate::replaced) << "the address belongs to other memory";
    driver.memory = {};
    EXPECT_EQ(fate_of(allocation, answer), Fate::gone);
    EXPECT_EQ(answer, CUDA_ERROR_INVALID_VALUE);
    driver.failing_attributes = 1;
    EXPECT_EQ(fate_of(allocation, answer), Fate::unknown) << "no answer is no death";
    EXPECT_EQ(answer, CUDA_ERROR_UNKNOWN);
    const Lacking no_attributes(&driver::Api::cuPointerGetAttribute);
    EXPECT_EQ(fate_of(allocation, answer), Fate::unknown);
}

TEST_F(MemoryAllocation, IdentifyTellsRangeKindAndDevice) {
    driver.memory = {{7, first, 0x100, CU_MEMORYTYPE_DEVICE, 0, 3},
                     {8, second, 0x200, CU_MEMORYTYPE_HOST, 0, 0},
                     {9, second + 0x1000, 0x300, CU_MEMORYTYPE_HOST, 1, 0}};
    Allocation found;
    ASSERT_EQ(identify(first + 0x80, found), Identity::known);
    EXPECT_EQ(found.id, 7u);
    EXPECT_EQ(found.base, first);
    EXPECT_EQ(found.size, 0x100u);
    EXPECT_EQ(found.end(), first + 0x100);
    EXPECT_EQ(found.kind, Kind::device);
    EXPECT_EQ(found.device, 3);
    ASSERT_EQ(identify(second, found), Identity::known);
    EXPECT_EQ(found.kind, Kind::pinned);
    ASSERT_EQ(identify(second + 0x1000, found), Identity::known);
    EXPECT_EQ(found.kind, Kind::managed) << "wherever its pages are at the moment";
    EXPECT_STREQ(to_string(Kind::device), "device");
    EXPECT_STREQ(to_string(Kind::managed), "managed");
    EXPECT_STREQ(to_string(Kind::pinned), "pinned");
}

TEST_F(MemoryAllocation, NothingIsIdentifiedWithoutARange) {
    driver.memory = {{7, first, 0x100}};
    driver.range_known = false;
    Allocation found;
    EXPECT_EQ(identify(first, found), Identity::unknown);
    driver.range_known = true;
    EXPECT_EQ(identify(first + 0x100, found), Identity::none);
    EXPECT_EQ(identify(first, found), Identity::known);
}

TEST_F(MemoryAllocation, DriverThatFailsToAnswerSaysNothing) {
    driver.memory = {{7, first, 0x100}};
    Allocation found;
    struct OneDead final : Dead {
        Held find(std::uintptr_t address, Allocation& out) const override {
            out = {8, second, 0x100, Kind::device, 0};
            return out.covers(address) ? Held::yes : Held::no;
        }
    };
    const OneDead dead;
    ScanCache cache, with_dead(&dead);
    driver.failing_attributes = 1;
    EXPECT_EQ(identify(first, found), Identity::unknown);
    driver.failing_attributes = 1;
    EXPECT_EQ(cache.find(first), ScanCache::unknown);
    EXPECT_EQ(cache.find(first), 0u) << "asked again, since the failure was not the word's";
    driver.failing_attributes = 2;
    EXPECT_EQ(with_dead.find(second + 8), 0u) << "known to be dead, whatever the driver says";
    EXPECT_EQ(with_dead.find(first), ScanCache::unknown);
    const Lacking no_attributes(&driver::Api::cuPointerGetAttribute);
    EXPECT_EQ(identify(first, found), Identity::unknown);
    EXPECT_EQ(ScanCache().find(first), ScanCache::unknown);
}

TEST_F(MemoryAllocation, WhatPerhapsWasInDeadMemoryIsDoubtful) {
    driver.memory = {{7, first, 0x100}};
    struct PerhapsDead final : Dead {
        Held find(std::uintptr_t address, Allocation& out) const override {
            out = {8, second, 0x100, Kind::pinned, 0};
            return out.covers(address) ? Held::perhaps : Held::no;
        }
    };
    const PerhapsDead dead;
    ScanCache cache(&dead);
    EXPECT_EQ(cache.find(first), 0u);
    EXPECT_EQ(cache.find(second), 1u);
    EXPECT_EQ(cache.find(second + 0x100), ScanCache::none);
    EXPECT_FALSE(cache.is_doubtful(0));
    EXPECT_TRUE(cache.is_doubtful(1));
}

TEST_F(MemoryAllocation, CoversItsBytesAndNoMore) {
    const Allocation allocation{1, first, 0x100, Kind::device, 0};
    EXPECT_TRUE(allocation.covers(first));
    EXPECT_TRUE(allocation.covers(first + 0xff));
    EXPECT_FALSE(allocation.covers(first + 0x100));
    EXPECT_FALSE(allocation.covers(first - 1));
    EXPECT_FALSE(allocation.covers(0));
}

TEST_F(MemoryAllocation, CacheNumbersAllocationsAsTheyAreMet) {
    driver.memory = {{7, first, 0x100}, {8, second, 0x100}};
    ScanCache cache;
    EXPECT_EQ(cache.find(second + 8), 0u);
    EXPECT_EQ(cache.find(first), 1u) << "below the one that is known";
    EXPECT_EQ(cache.find(second), 0u);
    EXPECT_EQ(cache.find(first + 0xff), 1u);
    EXPECT_EQ(cache.at(0).id, 8u);
    EXPECT_EQ(cache.at(1).id, 7u);
}

TEST_F(MemoryAllocation, CacheFindsThemInWhateverOrderTheyCame) {
    for (unsigned i = 0; i < 8; ++i)
        driver.memory.push_back({i + 1, first + i * 0x1000, 0x100});
    ScanCache cache;
    const unsigned order[] = {5, 2, 7, 0, 3, 6, 1, 4};
    for (unsigned round = 0; round < 2; ++round)
        for (std::uint32_t met = 0; met < 8; ++met)
            EXPECT_EQ(cache.find(first + order[met] * 0x1000 + 8), met);
    EXPECT_EQ(driver.ids_asked, 8u);
}

TEST_F(MemoryAllocation, CacheAsksOncePerAllocationAndPerNonAddress) {
    driver.memory = {{7, first, 0x100}, {8, second, 0x100}};
    ScanCache cache;
    for (int round = 0; round < 3; ++round)
        for (std::uintptr_t offset = 0; offset < 0x100; offset += 8) {
            EXPECT_EQ(cache.find(first + offset), 0u);
            EXPECT_EQ(round == 0 ? 1u : cache.find(second + offset), 1u);
        }
    EXPECT_EQ(driver.ids_asked, 2u);
    EXPECT_EQ(cache.find(first + 0x100), ScanCache::none);
    EXPECT_EQ(cache.find(first + 0x100), ScanCache::none);
    EXPECT_EQ(driver.ids_asked, 3u);
    EXPECT_EQ(cache.find(first + 0x108), ScanCache::none) << "another word, another question";
    EXPECT_EQ(driver.ids_asked, 4u);
}

TEST_F(MemoryAllocation, WordsThatCannotBeAddressesAreNotAskedAbout) {
    // A driver that says yes to everything.
    driver.memory = {{7, 0, UINTPTR_MAX}};
    ScanCache cache;
    for (const std::uintptr_t word : {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{65535},
                                      std::uintptr_t{1} << 48, UINTPTR_MAX, std::uintptr_t{0x3ff0000000000000}})
        EXPECT_EQ(cache.find(word), ScanCache::none) << word;
    EXPECT_EQ(driver.ids_asked, 0u);
    EXPECT_EQ(cache.find(65536), 0u);
    ScanCache other;
    EXPECT_EQ(other.find((std::uintptr_t{1} << 48) - 1), 0u);
}

}  // namespace
}  // namespace keepgraph::memory
