// SPDX-License-Identifier: Apache-2.0
#include "memory/ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace keepgraph::memory {
namespace {

TEST(MemoryRanges, NothingIsInAnEmptySet) {
    const Ranges ranges;
    EXPECT_FALSE(ranges.contains(0));
    EXPECT_FALSE(ranges.contains(UINTPTR_MAX));
}

TEST(MemoryRanges, BeginIsInAndEndIsNot) {
    Ranges ranges;
    ranges.add(100, 200);
    EXPECT_FALSE(ranges.contains(99));
    EXPECT_TRUE(ranges.contains(100));
    EXPECT_TRUE(ranges.contains(199));
    EXPECT_FALSE(ranges.contains(200));
}

TEST(MemoryRanges, ShorterRangeAtTheSamePlaceTakesNothingAway) {
    Ranges ranges;
    ranges.add(100, 200);
    ranges.add(100, 150);
    ranges.add(120, 130);
    EXPECT_TRUE(ranges.contains(199));
}

TEST(MemoryRanges, OneRangeMaySwallowMany) {
    Ranges ranges;
    ranges.add(100, 200);
    ranges.add(300, 400);
    ranges.add(500, 600);
    ranges.add(150, 550);
    for (const std::uintptr_t address : {100, 250, 450, 599})
        EXPECT_TRUE(ranges.contains(address)) << address;
    EXPECT_FALSE(ranges.contains(99));
    EXPECT_FALSE(ranges.contains(600));
}

TEST(MemoryRanges, LastByteOfTheAddressSpaceHasNoEnd) {
    Ranges ranges;
    ranges.add(UINTPTR_MAX - 10, UINTPTR_MAX);
    EXPECT_TRUE(ranges.contains(UINTPTR_MAX - 1));
    EXPECT_FALSE(ranges.contains(UINTPTR_MAX));
}

// Against a set that keeps every address by itself.
TEST(MemoryRanges, AnyOrderOfAddsHoldsWhatWasAdded) {
    constexpr std::uintptr_t space = 256;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        Ranges ranges;
        std::vector<bool> expected(space + 1, false);
        for (int round = 0; round < 20; ++round) {
            const std::uintptr_t begin = random() % space;
            const std::uintptr_t end = begin + 1 + random() % std::min<std::uintptr_t>(32, space - begin);
            ranges.add(begin, end);
            std::fill(expected.begin() + static_cast<std::ptrdiff_t>(begin),
                      expected.begin() + static_cast<std::ptrdiff_t>(end), true);
            for (std::uintptr_t address = 0; address <= space; ++address)
                ASSERT_EQ(ranges.contains(address), expected[address])
                    << "seed " << seed << ", round " << round << ", address " << address;
        }
    }
}

}  // namespace
}  // namespace keepgraph::memory
