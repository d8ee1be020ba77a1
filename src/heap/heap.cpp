// SPDX-License-Identifier: Apache-2.0
#include "heap/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <mutex>
#include <new>

namespace keepgraph::heap {
namespace {

// The pools keep blocks up to this size; bigger ones are mappings of their own.
constexpr std::size_t biggest_pooled = std::size_t{4} << 20;
constexpr std::size_t arena_bytes = std::size_t{256} << 10;
constexpr std::size_t usual_alignment = alignof(std::max_align_t);
constexpr std::size_t biggest_alignment = 4096;  // of a mapping

// Where the pools get memory: chunks for small blocks are cut from arenas and never come back (the pools ask for them
// as long as they live, which is as long as the process does); all else is mapped and unmapped.
class Mappings final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes > arena_bytes / 4)
            return map(bytes);
        auto at = (next_ + alignment - 1) & ~(alignment - 1);
        if (next_ == 0 || at + bytes > end_) {
            at = reinterpret_cast<std::uintptr_t>(map(arena_bytes));
            end_ = at + arena_bytes;
        }
        next_ = at + bytes;
        return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr): an address within a mapping
    }
    void do_deallocate(void* pointer, std::size_t bytes, std::size_t) override {
        if (bytes > arena_bytes / 4)
            munmap(pointer, bytes);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    static void* map(std::size_t bytes) {
        void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping == MAP_FAILED)
            throw std::bad_alloc();
        return mapping;
    }

    std::uintptr_t next_ = 0;
    std::uintptr_t end_ = 0;
};

struct Pools {
    std::mutex mutex;
    Mappings mappings;
    std::pmr::unsynchronized_pool_resource pool{{0, biggest_pooled}, &mappings};
};

// The pools are made anew in a forked child, where the old ones may be locked and half changed for ever.
std::uint32_t generation = 0;
bool closed = false;  // there was no memory to make them: nothing is given out any more
alignas(Pools) std::byte place[sizeof(Pools)];

// Never destroyed: other static destructors, and threads that outlive main, still release what they hold.
Pools& pools() {
    static Pools& made = *new (place) Pools;
    return made;
}

// In front of every block: operator delete is not always told its size.
struct Header {
    std::size_t bytes;  ///< of the whole, this header and what aligns it included
    std::uint32_t alignment;
    std::uint32_t generation;
};
static_assert(sizeof(Header) <= usual_alignment);

// libstdc++'s pools align a chunk of blocks, not each block: sizes that are no multiple of the
// alignment would shift the second block (heap_test.cpp shows it). All its pools from 16 bytes on hold multiples of 16,
// and every power of two is the size of one.
std::size_t whole_bytes(std::size_t bytes, std::size_t alignment) {
    const std::size_t whole = alignment + bytes;
    return alignment > usual_alignment ? std::bit_ceil(whole) : (whole + usual_alignment - 1) & ~(usual_alignment - 1);
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    try {
        alignment = std::max(alignment, usual_alignment);
        if (closed || bytes > std::numeric_limits<std::size_t>::max() / 2 || alignment > biggest_alignment)
            return nullptr;
        Pools& all = pools();
        const std::lock_guard lock(all.mutex);
        const std::size_t whole = whole_bytes(bytes, alignment);
        void* const start = all.pool.allocate(whole, alignment);
        auto* const block = static_cast<std::byte*>(start) + alignment;
        new (block - sizeof(Header)) Header{whole, static_cast<std::uint32_t>(alignment), generation};
        return block;
    } catch (...) {
        return nullptr;
    }
}

void release(void* pointer) noexcept {
    if (pointer == nullptr)
        return;
    auto* const block = static_cast<std::byte*>(pointer);
    const Header header = *reinterpret_cast<Header*>(block - sizeof(Header));
    if (header.generation != generation)
        return;
    Pools& all = pools();
    const std::lock_guard lock(all.mutex);
    all.pool.deallocate(block - header.alignment, header.bytes, header.alignment);
}

void abandon_in_child() noexcept {
    ++generation;
    try {
        new (place) Pools;
    } catch (...) {
        closed = true;
    }
}

}  // namespace keepgraph::heap
