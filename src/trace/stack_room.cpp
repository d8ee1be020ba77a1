// SPDX-License-Identifier: Apache-2.0
#include "trace/stack_room.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

extern "C" void* __libc_stack_end;  // NOLINT: the loader exports it under this name, and no header declares it

namespace keepgraph::trace {
namespace {

constexpr std::size_t side_stack_bytes = std::size_t{256} << 10;

struct Bounds {
    bool asked = false;
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
};
thread_local Bounds bounds;
thread_local bool moved = false;

void ask() noexcept {
    bounds.asked = true;
    // The main thread's stack grows down from __libc_stack_end up to its limit; pthread_getattr_np would read
    // /proc/self/maps to say the same. Of an unlimited stack a gigabyte is enough to tell it from a fibre's.
    if (getpid() == gettid()) {
        rlimit limit{};
        constexpr rlim_t most = 1u << 30;
        const rlim_t size = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < most ? limit.rlim_cur : most;
        bounds.high = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
        bounds.low = bounds.high - size;
        return;
    }
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    void* low = nullptr;
    std::size_t size = 0;
    std::size_t guard = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0) {
        bounds.low = reinterpret_cast<std::uintptr_t>(low) + guard;
        bounds.high = reinterpret_cast<std::uintptr_t>(low) + size;
    }
    pthread_attr_destroy(&attributes);
}

struct Move {
    void (*work)(void*);
    void* context;
    ucontext_t there;
    ucontext_t back;
};

// makecontext passes ints only; the pointer travels in two.
void enter(unsigned high, unsigned low) {
    auto* const move = reinterpret_cast<Move*>((static_cast<std::uintptr_t>(high) << 32) | low);
    move->work(move->context);
}

}  // namespace

std::size_t stack_room() noexcept {
    if (!bounds.asked) {
        const int saved = errno;
        ask();
        errno = saved;
    }
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return here > bounds.low && here < bounds.high ? here - bounds.low : 0;
}

bool run_with_room(void (*work)(void* context), void* context, std::size_t wanted) noexcept {
    if (moved || stack_room() >= wanted) {
        work(context);
        return true;
    }
    // Mapped, not allocated: it goes back at once, and the host's allocator is not asked for a large block. The
    // contexts (about 1 KB each) live there too.
    void* const memory =
        mmap(nullptr, side_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    auto* const move = static_cast<Move*>(memory);
    move->work = work;
    move->context = context;
    getcontext(&move->there);
    constexpr std::size_t head = (sizeof(Move) + 63) / 64 * 64;
    move->there.uc_stack.ss_sp = static_cast<char*>(memory) + head;
    move->there.uc_stack.ss_size = side_stack_bytes - head;
    move->there.uc_link = &move->back;
    const auto address = reinterpret_cast<std::uintptr_t>(move);
    makecontext(&move->there, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
    moved = true;
    swapcontext(&move->back, &move->there);
    moved = false;
    munmap(memory, side_stack_bytes);
    return true;
}

bool on_side_stack() noexcept {
    return moved;
}

}  // namespace keepgraph::trace
