// SPDX-License-Identifier: Apache-2.0
// Threads and fibres on memory of the test's.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace keepgraph::unit_tests {

/// Runs `work` on a thread whose stack is the mapped memory of this many bytes; nothing lies below it.
class OwnStack {
  public:
    explicit OwnStack(std::size_t bytes) : bytes_(bytes) {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(memory_, MAP_FAILED);
    }
    ~OwnStack() { munmap(memory_, bytes_); }
    OwnStack(const OwnStack&) = delete;
    OwnStack& operator=(const OwnStack&) = delete;

    bool holds(std::uintptr_t address) const { return address - reinterpret_cast<std::uintptr_t>(memory_) < bytes_; }
    void run(const std::function<void()>& work) {
        pthread_attr_t attributes;
        ASSERT_EQ(pthread_attr_init(&attributes), 0);
        ASSERT_EQ(pthread_attr_setstack(&attributes, memory_, bytes_), 0);
        pthread_t thread{};
        ASSERT_EQ(pthread_create(&thread, &attributes, enter, const_cast<std::function<void()>*>(&work)), 0);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
    }
    /// The same on a fibre of this thread.
    void run_as_fibre(const std::function<void()>& work) {
        static const std::function<void()>* current;
        current = &work;
        ucontext_t fibre, back;
        ASSERT_EQ(getcontext(&fibre), 0);
        fibre.uc_stack.ss_sp = memory_;
        fibre.uc_stack.ss_size = bytes_;
        fibre.uc_link = &back;
        makecontext(
            &fibre, [] { (*current)(); }, 0);
        ASSERT_EQ(swapcontext(&back, &fibre), 0);
    }

  private:
    static void* enter(void* work) {
        (*static_cast<std::function<void()>*>(work))();
        return nullptr;
    }

    std::size_t bytes_;
    void* memory_ = nullptr;
};

}  // namespace keepgraph::unit_tests
