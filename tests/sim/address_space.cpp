// SPDX-License-Identifier: Apache-2.0
#include "address_space.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <vector>

#include "closed.h"
#include "context.h"
#include "pools.h"

namespace keepgraph::sim {
namespace {

constexpr size_t small_unit = 512;              // what cuMemAlloc aligns to
constexpr size_t page_unit = 64 << 10;          // the largest page of a CPU that this runs on
constexpr size_t large_unit = size_t{2} << 20;  // blocks from 1 MiB on begin a page of their own
constexpr size_t large_from = size_t{1} << 20;

size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

/// A piece of address space that hands out ranges: first the range of this very size that came back last, else new.
class Region {
  public:
    explicit Region(size_t unit) : unit_(unit) {
        // Halves until the machine's limits allow it; untouched pages cost nothing.
        for (size_ = size_t{128} << 30; size_ >= (size_t{64} << 20); size_ /= 2) {
            void* start =
                mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (start == MAP_FAILED)
                continue;
            start_ = round_up(reinterpret_cast<CUdeviceptr>(start), large_unit);
            // Small and large blocks grow towards each other from the two ends of the region.
            small_ = start_;
            large_ = (reinterpret_cast<CUdeviceptr>(start) + size_) / large_unit * large_unit;
            end_ = large_;
            return;
        }
        std::fprintf(stderr, "libcuda double: no address space\n");
        std::abort();
    }

    CUdeviceptr take(size_t size) {
        size = rounded(size);
        auto& free = free_[size];
        if (!free.empty()) {
            const CUdeviceptr start = free.back();
            free.pop_back();
            open_addresses(start, size);
            return start;
        }
        if (large_ - small_ < size)
            return 0;
        if (size >= large_from)
            return large_ -= size;
        const CUdeviceptr start = small_;
        small_ += size;
        return start;
    }

    void give(CUdeviceptr start, size_t size) {
        size = rounded(size);
        // Large blocks would keep memory of the machine for ever; the addresses, if readable, give zeros.
        if (size >= large_from)
            madvise(reinterpret_cast<void*>(start), size, MADV_DONTNEED);
        free_[size].push_back(start);
    }

    bool holds(CUdeviceptr address, size_t size) const { return address >= start_ && address + size <= end_; }

  private:
    size_t rounded(size_t size) const { return round_up(size, size >= large_from ? large_unit : unit_); }

    const size_t unit_;  // of small blocks
    size_t size_ = 0;
    CUdeviceptr start_ = 0, small_ = 0, large_ = 0, end_ = 0;
    std::unordered_map<size_t, std::vector<CUdeviceptr>> free_;
};

Region& region(Space space) {
    static auto* device = new Region(small_unit);
    static auto* host = new Region(small_unit);
    if (space != Space::pool)
        return space == Space::host ? *host : *device;
    static auto* pool = new Region(page_unit);
    return *pool;
}

std::map<CUdeviceptr, Block>& blocks() {
    static auto* table = new std::map<CUdeviceptr, Block>;
    return *table;
}

size_t in_use = 0;

bool is_on_host(Origin origin) {
    return origin == Origin::host || origin == Origin::registered;
}

Space space_of(Origin origin) {
    if (is_on_host(origin))
        return Space::host;
    return origin == Origin::stream_ordered ? Space::pool : Space::device;
}

}  // namespace

CUdeviceptr take_addresses(size_t size, Space space) {
    return region(space).take(size);
}
void give_addresses(CUdeviceptr start, size_t size, Space space) {
    region(space).give(start, size);
}

Block& add_block(CUdeviceptr start, size_t size, Origin origin, Context* context) {
    Block& block = blocks()[start];
    block = {start,   size,  next_id(), origin, context, context != nullptr ? context->device : 0,
             nullptr, start, size,      true};
    if (!is_on_host(origin))
        in_use += size;
    return block;
}

const Block* block_at(CUdeviceptr address) {
    auto after = blocks().upper_bound(address);
    if (after == blocks().begin())
        return nullptr;
    const Block& block = std::prev(after)->second;
    return address - block.start < block.size ? &block : nullptr;
}

const Block* block_starting_at(CUdeviceptr start) {
    const auto found = blocks().find(start);
    return found != blocks().end() ? &found->second : nullptr;
}

void remove_block(CUdeviceptr start) {
    const auto found = blocks().find(start);
    if (found == blocks().end())
        return;
    if (!is_on_host(found->second.origin))
        in_use -= found->second.size;
    blocks().erase(found);
}

void set_accessible(CUdeviceptr start) {
    blocks()[start].accessible = true;
}

void forget_blocks_of(const Context* context) {
    std::vector<CUdeviceptr> starts;
    for (const auto& [start, block] : blocks()) {
        // Mapped ranges belong to the process, registered memory to the program.
        if (block.context == context && block.origin != Origin::mapped)
            starts.push_back(start);
    }
    for (const CUdeviceptr start : starts) {
        if (blocks()[start].origin == Origin::registered) {
            remove_block(start);
        } else {
            release(start);
        }
    }
}

size_t bytes_in_use() {
    return in_use;
}

CUdeviceptr allocate(size_t size, Origin origin, Context* context) {
    if (size > device_memory || (!is_on_host(origin) && in_use + size > device_memory))
        return 0;
    const CUdeviceptr start = take_addresses(size, space_of(origin));
    if (start != 0)
        add_block(start, size, origin, context);
    return start;
}

void release(CUdeviceptr start, uint64_t stream) {
    const Block block = blocks()[start];
    remove_block(start);
    give_addresses(start, block.size, space_of(block.origin));
    if (block.origin == Origin::stream_ordered)
        pool_memory_freed(block, stream);
    else if (block.origin == Origin::managed && block.size >= large_unit)
        close_addresses(start, block.size);
    else if (block.origin == Origin::host && block.size >= large_unit)
        close_addresses(start, block.size, CUDA_ERROR_LAUNCH_FAILED);
}

bool is_memory(CUdeviceptr address, size_t size) {
    for (const Space space : {Space::device, Space::pool, Space::host}) {
        if (region(space).holds(address, size))
            return true;
    }
    const Block* block = block_at(address);
    return block != nullptr && address + size <= block->start + block->size;
}

}  // namespace keepgraph::sim
