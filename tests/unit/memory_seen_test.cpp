// SPDX-License-Identifier: Apache-2.0
#include "memory/seen.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace keepgraph::memory {
namespace {

constexpr std::uintptr_t granule = std::uintptr_t{2} << 20;

TEST(MemorySeen, NothingIsSeenAtFirst) {
    const Seen seen;
    for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{1} << 47, UINTPTR_MAX})
        EXPECT_FALSE(seen.contains(address)) << address;
}

TEST(MemorySeen, EveryGranuleOfARangeIsSeenAndNoOther) {
    Seen seen;
    const std::uintptr_t base = 0x7f0000000000 + 5 * granule;
    seen.add(base + 0x100, base + 3 * granule + 1);
    EXPECT_FALSE(seen.contains(base - 1));
    EXPECT_TRUE(seen.contains(base)) << "to the nearest 2 MB";
    EXPECT_TRUE(seen.contains(base + granule + 7));
    EXPECT_TRUE(seen.contains(base + 3 * granule)) << "the last byte's granule";
    EXPECT_TRUE(seen.contains(base + 4 * granule - 1));
    EXPECT_FALSE(seen.contains(base + 4 * granule)) << "the end is not in it";
}

TEST(MemorySeen, ARangeAcrossLeaves) {
    Seen seen;
    const std::uintptr_t leaf = std::uintptr_t{64} << 30;
    seen.add(leaf - granule, leaf + granule);
    EXPECT_TRUE(seen.contains(leaf - 1));
    EXPECT_TRUE(seen.contains(leaf));
    EXPECT_FALSE(seen.contains(leaf + granule));
    EXPECT_FALSE(seen.contains(leaf - granule - 1));
}

TEST(MemorySeen, EmptyRangesAndAddressesBeyondUserSpaceAreNotAdded) {
    Seen seen;
    seen.add(granule, granule);
    EXPECT_FALSE(seen.contains(granule));
    seen.add(2 * granule, granule);
    EXPECT_FALSE(seen.contains(granule));
    const std::uintptr_t end = std::uintptr_t{1} << 48;
    seen.add(end, end + granule);
    EXPECT_FALSE(seen.contains(end));
    seen.add(end - 1, UINTPTR_MAX);
    EXPECT_TRUE(seen.contains(end - 1));
    EXPECT_FALSE(seen.contains(0)) << "nothing wraps around";
}

TEST(MemorySeen, ThreadsThatAddAtOnceLoseNothing) {
    Seen seen;
    std::vector<std::thread> threads;
    for (std::uintptr_t t = 0; t < 4; ++t)
        threads.emplace_back([&seen, t] {
            for (std::uintptr_t i = 0; i < 40000; ++i)
                seen.add((4 * i + t) * granule, (4 * i + t) * granule + 1);
        });
    for (std::thread& thread : threads)
        thread.join();
    std::size_t missing = 0;
    for (std::uintptr_t i = 0; i < 160000; ++i)
        missing += seen.contains(i * granule) ? 0 : 1;
    EXPECT_EQ(missing, 0u);
}

}  // namespace
}  // namespace keepgraph::memory
