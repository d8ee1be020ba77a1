// SPDX-License-Identifier: Apache-2.0
// Dead memory by address, where several died at one, one after the other.
#include "session/dead_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace keepgraph::session {
namespace {

TrackedPtr allocation(std::uint64_t id, std::uintptr_t base, std::size_t size) {
    auto tracked = std::make_shared<Tracked>();
    tracked->allocation = {id, base, size};
    return tracked;
}

const memory::Allocation younger{99, 0x1000, 0x100};

TEST(SessionDeadMemory, IsFoundByItsBytesAndByItsId) {
    DeadMemory dead;
    const TrackedPtr one = allocation(1, 0x1000, 0x100);
    dead.add(one);
    EXPECT_EQ(dead.last_at(0xfff), nullptr);
    EXPECT_EQ(dead.last_at(0x1000), one);
    EXPECT_EQ(dead.last_at(0x10ff), one);
    EXPECT_EQ(dead.last_at(0x1100), nullptr);
    EXPECT_EQ(dead.find({1, 0x1000, 0x100}), one);
    EXPECT_EQ(dead.find({2, 0x1000, 0x100}), nullptr);
    EXPECT_EQ(dead.find({1, 0x1001, 0x100}), nullptr);
}

TEST(SessionDeadMemory, LastOfSeveralAtAnAddressIsTheOneThatDiedLast) {
    DeadMemory dead;
    const TrackedPtr large = allocation(1, 0x1000, 0x1000), small = allocation(2, 0x1800, 0x100);
    dead.add(large);
    dead.add(small);
    EXPECT_EQ(dead.last_at(0x17ff), large);
    EXPECT_EQ(dead.last_at(0x1800), small);
    EXPECT_EQ(dead.last_at(0x18ff), small);
    EXPECT_EQ(dead.last_at(0x1900), large);
    dead.remove(small);
    EXPECT_EQ(dead.last_at(0x1800), large) << "the one before it is still there";
    EXPECT_EQ(dead.find(small->allocation), nullptr);
    dead.remove(large);
    EXPECT_EQ(dead.last_at(0x1800), nullptr);
    EXPECT_EQ(dead.size(), 0u);
}

TEST(SessionDeadMemory, UnclaimedUntilAYoungerOwnerComes) {
    DeadMemory dead;
    const TrackedPtr low = allocation(1, 0x1000, 0x100), high = allocation(2, 0x1100, 0x100);
    dead.add(low);
    dead.add(high);
    EXPECT_EQ(dead.unclaimed(), 2u);
    EXPECT_EQ(dead.unclaimed_in(0x10ff, 2), (std::vector{low, high}));
    EXPECT_EQ(dead.unclaimed_in(0x1000, 0x100), std::vector{low});
    EXPECT_EQ(dead.unclaimed_in(0x0, 0x1000), std::vector<TrackedPtr>{});
    dead.claim(low, younger, {});
    EXPECT_TRUE(low->has_younger);
    EXPECT_EQ(low->younger.id, 99u);
    EXPECT_EQ(dead.unclaimed(), 1u);
    EXPECT_EQ(dead.unclaimed_in(0x10ff, 2), std::vector{high});
    EXPECT_EQ(dead.last_at(0x1000), low) << "it is as dead as before";
    dead.claim(low, {100, 0x1000, 0x100}, {});
    EXPECT_EQ(low->younger.id, 99u) << "the first owner stays";
    EXPECT_EQ(dead.unclaimed(), 1u);
    dead.remove(low);
    EXPECT_EQ(dead.unclaimed(), 1u);
    dead.remove(high);
    EXPECT_EQ(dead.unclaimed(), 0u);
}

TEST(SessionDeadMemory, OneThatWasForgottenIsNotClaimed) {
    DeadMemory dead;
    const TrackedPtr tracked = allocation(1, 0x1000, 0x100);
    dead.add(tracked);
    dead.remove(tracked);
    dead.remove(tracked);
    dead.claim(tracked, younger, {});
    EXPECT_FALSE(tracked->has_younger);
    EXPECT_EQ(dead.unclaimed(), 0u);
}

TEST(SessionDeadMemory, PileOfClaimedOnesIsNotUnclaimed) {
    DeadMemory dead;
    for (std::uint64_t id = 1; id <= 3; ++id) {
        const TrackedPtr tracked = allocation(id, 0x1000, 0x100);
        dead.add(tracked);
        EXPECT_EQ(dead.unclaimed_in(0x1000, 1), std::vector{tracked});
        dead.claim(tracked, younger, {});
    }
    EXPECT_EQ(dead.size(), 3u);
    EXPECT_EQ(dead.unclaimed(), 0u);
    EXPECT_EQ(dead.unclaimed_in(0x1000, 0x100), std::vector<TrackedPtr>{});
    EXPECT_EQ(dead.last_at(0x1000)->allocation.id, 3u);
}

TEST(SessionDeadMemory, AgreesWithAListThatIsWalked) {
    DeadMemory dead;
    std::vector<TrackedPtr> list;  // in the order of their deaths
    std::mt19937 random(1);
    for (std::uint64_t id = 1; id <= 2000; ++id) {
        if (random() % 3 != 0 || list.empty()) {
            list.push_back(allocation(id, 0x1000 + random() % 64, 1 + random() % 16));
            dead.add(list.back());
        } else {
            const auto at = list.begin() + static_cast<std::ptrdiff_t>(random() % list.size());
            dead.remove(*at);
            list.erase(at);
        }
        const std::uintptr_t address = 0x1000 + random() % 80;
        const auto last = std::find_if(list.rbegin(), list.rend(),
                                       [&](const auto& tracked) { return tracked->allocation.covers(address); });
        ASSERT_EQ(dead.last_at(address), last != list.rend() ? *last : nullptr) << id;
        ASSERT_EQ(dead.size(), list.size());
    }
}

}  // namespace
}  // namespace keepgraph::session
