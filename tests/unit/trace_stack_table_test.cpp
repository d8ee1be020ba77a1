// SPDX-License-Identifier: Apache-2.0
#include "trace/stack_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace keepgraph::trace {
namespace {

NativeStack native(std::initializer_list<std::uintptr_t> frames) {
    NativeStack stack;
    for (const std::uintptr_t frame : frames) {
        stack.frames[stack.count++] = reinterpret_cast<void*>(frame);
    }
    return stack;
}

PythonStack python(const char* file, unsigned line) {
    return {{{file, line, "train"}, {"main.py", 3, "<module>"}}, ""};
}

TEST(StackTableTest, EqualStacksGetOneNumber) {
    StackTable table;
    const auto first = table.intern(native({1, 2, 3}), python("a.py", 7));
    const auto again = table.intern(native({1, 2, 3}), python("a.py", 7));
    EXPECT_EQ(first.id, 1u);
    EXPECT_TRUE(first.is_new);
    EXPECT_EQ(again.id, 1u);
    EXPECT_FALSE(again.is_new);
    EXPECT_EQ(table.size(), 1u);
}

TEST(StackTableTest, EveryPartMakesAStackDifferent) {
    StackTable table;
    PythonStack unavailable;
    unavailable.unavailable = "python frames unavailable: reason";
    std::set<std::uint32_t> ids{
        table.intern(native({1, 2, 3}), {}).id,
        table.intern(native({1, 2}), {}).id,
        table.intern(native({3, 2, 1}), {}).id,
        table.intern(native({}), {}).id,
        table.intern(native({1, 2, 3}), python("a.py", 7)).id,
        table.intern(native({1, 2, 3}), python("a.py", 8)).id,
        table.intern(native({1, 2, 3}), python("b.py", 7)).id,
        table.intern(native({1, 2, 3}), unavailable).id,
    };
    EXPECT_EQ(ids.size(), 8u);
    EXPECT_EQ(ids.count(0), 0u);
}

TEST(StackTableTest, FullTableSaysZeroButKnowsOldStacks) {
    StackTable table(2);
    table.intern(native({1}), {});
    table.intern(native({2}), {});
    const auto refused = table.intern(native({3}), {});
    EXPECT_EQ(refused.id, 0u);
    EXPECT_FALSE(refused.is_new);
    EXPECT_EQ(table.intern(native({2}), {}).id, 2u);
    EXPECT_EQ(table.refused(), 1u);
    EXPECT_EQ(table.size(), 2u);
}

TEST(StackTableTest, GivesBackWhatWasInterned) {
    StackTable table;
    const auto stack = native({10, 20, 30});
    const auto frames = python("dir/ü.py", 12);
    const auto id = table.intern(stack, frames).id;
    table.intern(native({1}), {});
    NativeStack native_out;
    PythonStack python_out;
    ASSERT_TRUE(table.find(id, native_out, python_out));
    ASSERT_EQ(native_out.count, 3u);
    EXPECT_EQ(native_out.frames[2], stack.frames[2]);
    EXPECT_EQ(python_out, frames);
    EXPECT_FALSE(table.find(0, native_out, python_out));
    EXPECT_FALSE(table.find(3, native_out, python_out));
}

TEST(StackTableTest, ConcurrentCallersAgreeAndExactlyOneIsFirst) {
    StackTable table;
    constexpr int stacks = 300;
    std::atomic<int> firsts{0};
    std::vector<std::vector<std::uint32_t>> seen(6, std::vector<std::uint32_t>(stacks));
    std::vector<std::thread> threads;
    for (auto& ids : seen) {
        threads.emplace_back([&] {
            for (int i = 0; i < stacks; ++i) {
                const auto result = table.intern(native({7, static_cast<std::uintptr_t>(i)}), python("a.py", i % 5));
                firsts += result.is_new ? 1 : 0;
                ids[i] = result.id;
                NativeStack native_out;
                PythonStack python_out;
                EXPECT_TRUE(table.find(result.id, native_out, python_out));
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(firsts, stacks);
    for (const auto& ids : seen) {
        EXPECT_EQ(ids, seen[0]);
    }
}

}  // namespace
}  // namespace keepgraph::trace
