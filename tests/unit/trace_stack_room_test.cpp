// SPDX-License-Identifier: Apache-2.0
#include "trace/stack_room.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>

#include "own_stack.h"
#include "scratch.h"

namespace keepgraph::trace {
namespace {

using unit_tests::OwnStack;

std::uintptr_t here() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

struct Seen {
    bool ran = false;
    bool side = false;
    std::uintptr_t at = 0;
};

bool look(Seen& seen) {
    return run_with_room(
        [](void* context) {
            auto& noted = *static_cast<Seen*>(context);
            noted.ran = true;
            noted.side = on_side_stack();
            noted.at = here();
        },
        &seen);
}

constexpr std::size_t small = std::size_t{32} << 10;
static_assert(small < ample_stack);

class StackRoom : public testing::Test {
  protected:
    void SetUp() override {
#ifdef __SANITIZE_THREAD__
        GTEST_SKIP() << "ThreadSanitizer itself wants a megabyte of each thread's stack";
#endif
    }
};

TEST_F(StackRoom, MainThreadHasWhatItsLimitLeaves) {
    const std::size_t room = stack_room();
    EXPECT_GT(room, ample_stack);
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
    EXPECT_LE(room, std::min<rlim_t>(limit.rlim_cur, 1u << 30));
}

[[gnu::noinline]] std::size_t room_below(std::size_t bytes) {
    auto* const block = static_cast<volatile char*>(__builtin_alloca(bytes));
    block[0] = 1;
    const std::size_t room = stack_room();
    block[bytes - 1] = 1;
    return room;
}

TEST_F(StackRoom, DeeperCallsHaveLess) {
    const std::size_t above = stack_room();
    const std::size_t below = room_below(std::size_t{100} << 10);
    EXPECT_LE(below + (std::size_t{100} << 10), above);
    EXPECT_GE(below + (std::size_t{110} << 10), above);
}

TEST_F(StackRoom, ThreadHasItsOwnStack) {
    constexpr std::size_t bytes = std::size_t{512} << 10;
    OwnStack stack(bytes);
    std::size_t room = 0;
    std::uintptr_t at = 0;
    stack.run([&] {
        room = stack_room();
        at = here();
    });
    EXPECT_GT(room, bytes - (std::size_t{64} << 10));
    EXPECT_LT(room, bytes);
    EXPECT_TRUE(stack.holds(at));
    EXPECT_TRUE(stack.holds(at - room));
}

TEST_F(StackRoom, GuardIsNoRoom) {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    constexpr std::size_t guard = std::size_t{128} << 10, bytes = std::size_t{512} << 10;
    ASSERT_EQ(pthread_attr_setguardsize(&attributes, guard), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    pthread_t thread{};
    std::size_t room = 0;
    ASSERT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void* out) -> void* {
                      *static_cast<std::size_t*>(out) = stack_room();
                      // All of it can be written to: past it is the guard, whose touch would end the process.
                      const std::size_t most = stack_room() - 4096;
                      std::memset(__builtin_alloca(most), 1, most);
                      return nullptr;
                  },
                  &room),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_GT(room, bytes - guard - (std::size_t{64} << 10));
    EXPECT_LT(room, bytes);
}

TEST_F(StackRoom, FibreHasNoneThatIsKnown) {
    OwnStack stack(std::size_t{512} << 10);
    std::size_t room = 1;
    stack.run_as_fibre([&] { room = stack_room(); });
    EXPECT_EQ(room, 0u);
    EXPECT_GT(stack_room(), 0u) << "the thread's own is still known";
}

TEST_F(StackRoom, FibreOnEitherSideOfTheThreadsStackHasNone) {
    OwnStack one(std::size_t{512} << 10), other(std::size_t{512} << 10);
    std::size_t rooms[] = {1, 1};
    one.run([&] { other.run_as_fibre([&] { rooms[0] = stack_room(); }); });
    other.run([&] { one.run_as_fibre([&] { rooms[1] = stack_room(); }); });
    EXPECT_EQ(rooms[0], 0u);
    EXPECT_EQ(rooms[1], 0u);
}

TEST_F(StackRoom, ErrnoStays) {
    OwnStack stack(std::size_t{512} << 10);
    int after = 0;
    stack.run([&] {
        errno = EXDEV;
        (void)stack_room();  // the first on this thread, which asks pthread
        after = errno;
    });
    EXPECT_EQ(after, EXDEV);
}

TEST_F(StackRoom, WorkWithRoomIsCalledDirectly) {
    Seen seen;
    EXPECT_TRUE(look(seen));
    EXPECT_TRUE(seen.ran);
    EXPECT_FALSE(seen.side);
    EXPECT_LT(here() - seen.at, std::size_t{64} << 10) << "just below this frame";
}

TEST_F(StackRoom, WorkWithoutRoomGetsAStackOfItsOwn) {
    OwnStack stack(small);
    Seen seen;
    bool ran = false, before = true, after = true;
    stack.run([&] {
        before = on_side_stack();
        ran = look(seen);
        after = on_side_stack();
    });
    EXPECT_TRUE(ran);
    EXPECT_TRUE(seen.ran);
    EXPECT_TRUE(seen.side);
    EXPECT_FALSE(stack.holds(seen.at));
    EXPECT_FALSE(before);
    EXPECT_FALSE(after);
}

TEST_F(StackRoom, SideStackHasAmpleRoom) {
    OwnStack stack(small);
    bool same = false;
    stack.run([&] {
        (void)run_with_room(
            [](void* context) {
                char block[2 * ample_stack];
                std::memset(block, 7, sizeof block);
                asm volatile("" : : "r"(block) : "memory");
                *static_cast<bool*>(context) = block[0] == 7 && block[sizeof block - 1] == 7;
            },
            &same);
    });
    EXPECT_TRUE(same);
}

TEST_F(StackRoom, FibreMovesToo) {
    OwnStack stack(std::size_t{512} << 10);
    Seen seen;
    stack.run_as_fibre([&] { (void)look(seen); });
    EXPECT_TRUE(seen.side) << "how much a fibre has left cannot be known";
    EXPECT_FALSE(stack.holds(seen.at));
    Seen later;
    (void)look(later);
    EXPECT_FALSE(later.side) << "the thread came back from the fibre to a stack that has room";
}

TEST_F(StackRoom, NestedWorkStaysOnTheSideStack) {
    OwnStack stack(small);
    struct Nested {
        std::uintptr_t outer = 0;
        Seen inner;
        bool still = false;
    } nested;
    stack.run([&] {
        (void)run_with_room(
            [](void* context) {
                auto& noted = *static_cast<Nested*>(context);
                noted.outer = here();
                (void)look(noted.inner);
                noted.still = on_side_stack();
            },
            &nested);
    });
    EXPECT_TRUE(nested.inner.side);
    EXPECT_TRUE(nested.still) << "the inner run did not end the outer one's";
    EXPECT_LT(nested.outer - nested.inner.at, std::size_t{64} << 10) << "one stack for both";
}

TEST_F(StackRoom, NothingIsRunWithoutMemoryForTheStack) {
    OwnStack stack(small);
    Seen seen;
    bool ran = true, side = true;
    stack.run([&] {
        const unit_tests::SoftLimit nothing_more(RLIMIT_AS, 0);
        ran = look(seen);
        side = on_side_stack();
    });
    EXPECT_FALSE(ran);
    EXPECT_FALSE(seen.ran);
    EXPECT_FALSE(side);
}

TEST_F(StackRoom, ThreadsMoveEachForItself) {
    OwnStack first(small), second(small);
    // The other thread looks while this one is on its side stack.
    Seen inner;
    struct Both {
        OwnStack& other;
        Seen& inner;
        bool side_after = false;
    } both{second, inner};
    first.run([&] {
        (void)run_with_room(
            [](void* context) {
                auto& noted = *static_cast<Both*>(context);
                noted.other.run([&] { noted.inner.side = on_side_stack(); });
                noted.side_after = on_side_stack();
            },
            &both);
    });
    EXPECT_FALSE(inner.side);
    EXPECT_TRUE(both.side_after);
}

}  // namespace
}  // namespace keepgraph::trace
