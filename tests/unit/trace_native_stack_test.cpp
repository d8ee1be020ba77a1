// SPDX-License-Identifier: Apache-2.0
#include "trace/native_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

namespace keepgraph::trace {
namespace {

// Returns where it returns to.
__attribute__((noinline)) void* capture_and_tell(NativeStack& stack) {
    capture_native(stack);
    return __builtin_return_address(0);
}

__attribute__((noinline)) void capture_at_depth(int depth, NativeStack& stack) {
    if (depth == 0) {
        capture_native(stack);
    } else {
        capture_at_depth(depth - 1, stack);
    }
    asm volatile("" ::: "memory");  // no tail call
}

TEST(NativeStackTest, FirstFrameIsTheCaller) {
    NativeStack stack;
    const void* const here = capture_and_tell(stack);
    ASSERT_GT(stack.count, 2u);
    EXPECT_EQ(stack.frames[1], here);  // frame 0 is in capture_and_tell, capture_native itself is not shown
}

TEST(NativeStackTest, DeeperCallsGiveMoreFrames) {
    NativeStack shallow, deep;
    capture_at_depth(1, shallow);
    capture_at_depth(11, deep);
    EXPECT_EQ(deep.count, shallow.count + 10);
    EXPECT_EQ(deep.frames[3], deep.frames[4]);  // recursion returns to one place
}

TEST(NativeStackTest, KeepsTheInnermostFramesOfADeepStack) {
    NativeStack stack;
    capture_at_depth(500, stack);
    EXPECT_EQ(stack.count, max_frames);
    for (const void* frame : stack.frames) {
        EXPECT_NE(frame, nullptr);
    }
}

TEST(NativeStackTest, LeavesErrnoAlone) {
    NativeStack stack;
    errno = 4711;
    capture_native(stack);
    EXPECT_EQ(errno, 4711);
}

TEST(NativeStackTest, ManyThreadsCaptureAtOnce) {
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                NativeStack stack;
                capture_at_depth(5, stack);
                good += stack.count > 6 ? 1 : 0;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(good, 8 * 200);
}

// A thread-specific destructor runs when the thread is nearly gone: no thread-local object of ours may be needed.
TEST(NativeStackTest, WorksWhileAThreadEnds) {
    static std::atomic<unsigned> count;
    pthread_key_t key;
    ASSERT_EQ(pthread_key_create(&key,
                                 [](void*) {
                                     NativeStack stack;
                                     capture_native(stack);
                                     count = stack.count;
                                 }),
              0);
    std::thread([&] { pthread_setspecific(key, &count); }).join();
    pthread_key_delete(key);
    EXPECT_GT(count.load(), 0u);
}

}  // namespace
}  // namespace keepgraph::trace
