// SPDX-License-Identifier: Apache-2.0
#include "heap/heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace keepgraph::heap {
namespace {

struct Block {
    unsigned char* at;
    std::size_t bytes;
    unsigned char fill;
    bool intact() const {
        for (std::size_t i = 0; i < bytes; ++i)
            if (at[i] != fill)
                return false;
        return true;
    }
};

// Takes and gives back in random order; false when a block was damaged, misaligned or refused.
bool hammer(unsigned seed, int steps) {
    std::mt19937 random(seed);
    std::vector<Block> held;
    for (int step = 0; step < steps; ++step) {
        if (held.size() > 200 || (!held.empty() && random() % 3 == 0)) {
            const std::size_t which = random() % held.size();
            if (!held[which].intact())
                return false;
            release(held[which].at);
            held[which] = held.back();
            held.pop_back();
            continue;
        }
        const std::size_t bytes = random() % 100 == 0 ? random() % 300000 : random() % 600;
        const std::size_t alignment = std::size_t{1} << random() % 13;
        auto* const at = static_cast<unsigned char*>(allocate(bytes, alignment));
        if (at == nullptr || reinterpret_cast<std::uintptr_t>(at) % alignment != 0)
            return false;
        const auto fill = static_cast<unsigned char>(random());
        std::memset(at, fill, bytes);
        held.push_back({at, bytes, fill});
    }
    bool all = true;
    for (const Block& block : held) {
        all = all && block.intact();
        release(block.at);
    }
    return all;
}

TEST(Heap, BlocksDoNotOverlapAndAreAligned) {
    EXPECT_TRUE(hammer(1, 50000));
}

TEST(Heap, ThreadsShareIt) {
    bool intact[4] = {};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
        threads.emplace_back([&intact, i] { intact[i] = hammer(100 + i, 20000); });
    for (std::thread& thread : threads)
        thread.join();
    for (const bool one : intact)
        EXPECT_TRUE(one);
}

TEST(Heap, AReleasedBlockIsUsedAgain) {
    std::set<void*> seen;
    for (int i = 0; i < 100000; ++i) {
        void* const block = allocate(100, 16);
        ASSERT_NE(block, nullptr);
        seen.insert(block);
        release(block);
    }
    EXPECT_LT(seen.size(), 100u);
}

TEST(Heap, ABigBlockGoesBackToTheKernel) {
    void* const block = allocate(std::size_t{8} << 20, 16);
    ASSERT_NE(block, nullptr);
    auto* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{4095});
    unsigned char resident = 0;
    EXPECT_EQ(mincore(page, 4096, &resident), 0);
    release(block);
    EXPECT_EQ(mincore(page, 4096, &resident), -1);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(Heap, GivesNullWhenThereIsNoMemory) {
    EXPECT_EQ(allocate(std::numeric_limits<std::size_t>::max(), 16), nullptr);
    EXPECT_EQ(allocate(std::numeric_limits<std::size_t>::max() / 2 + 1, 16), nullptr);
    EXPECT_EQ(allocate(16, 8192), nullptr);  // more than a mapping is aligned to
    EXPECT_EXIT(
        {
            rlimit none{};
            setrlimit(RLIMIT_AS, &none);
            std::size_t got = 0;
            while (got < 1000 && allocate(std::size_t{60} << 10, 16) != nullptr)
                ++got;
            _exit(got < 1000 && allocate(std::size_t{1} << 20, 16) == nullptr ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

TEST(Heap, AForkedChildGoesOnWithNewPools) {
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
        threads.emplace_back([&done, i] {
            for (unsigned round = 0; !done; ++round)
                hammer(1000 * i + round, 500);
        });
    void* const before = allocate(100, 16);
    int failed = 0;
    for (int i = 0; i < 50 && failed == 0; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(5);  // a lock that is held for ever ends the child, and so the test fails
            abandon_in_child();
            release(before);
            void* const after = allocate(100, 16);
            std::memset(before, 1, 100);
            std::memset(after, 2, 100);
            _exit(after != before && hammer(7, 1000) && static_cast<unsigned char*>(before)[99] == 1 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    done = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(failed, 0);
    release(before);
}

TEST(Heap, AForkedChildWithoutMemoryForPoolsGoesOnWithNone) {
    void* const before = allocate(100, 16);
    EXPECT_EXIT(
        {
            rlimit none{};
            setrlimit(RLIMIT_AS, &none);
            abandon_in_child();
            release(before);
            _exit(allocate(100, 16) == nullptr ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
    release(before);
}

TEST(Heap, NullIsReleased) {
    release(nullptr);
    EXPECT_NE(allocate(0, 1), nullptr);
}

}  // namespace
}  // namespace keepgraph::heap
