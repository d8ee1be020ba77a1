// SPDX-License-Identifier: Apache-2.0
// Which addresses are whose. Device memory is real host memory in reserved regions: a device pointer can be followed on
// the host, and the next allocation of the size that was freed last gets the same address. Freed memory of cuMemAlloc,
// and small managed and pinned memory, stays mapped (a replay that reads it gets stale data, as small blocks do on a
// GPU); the rest is closed (closed.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/cuda_types.h"

namespace keepgraph::sim {

struct Context;
struct MemoryPool;

enum class Origin { device, managed, host, registered, stream_ordered, mapped, graph };

struct Block {
    CUdeviceptr start = 0;
    size_t size = 0;
    uint64_t id = 0;  // CU_POINTER_ATTRIBUTE_BUFFER_ID
    Origin origin = Origin::device;
    Context* context = nullptr;
    int device = 0;
    MemoryPool* pool = nullptr;
    // RANGE_START_ADDR and RANGE_SIZE: the block's own, but those of a mapping are its reservation's.
    CUdeviceptr range_start = 0;
    size_t range = 0;
    bool accessible = true;  // a mapping is not until cuMemSetAccess
};

// ---- addresses only: nothing is known about them yet. All of this is called under the lock.
enum class Space { device, pool, host };                               // memory of pools is in whole pages
CUdeviceptr take_addresses(size_t size, Space space = Space::device);  // 0: no more
void give_addresses(CUdeviceptr start, size_t size, Space space = Space::device);
constexpr size_t vmm_granularity = size_t{2} << 20;

// ---- blocks: addresses with an identity
Block& add_block(CUdeviceptr start, size_t size, Origin origin, Context* context);
const Block* block_at(CUdeviceptr address);         // any interior address
const Block* block_starting_at(CUdeviceptr start);  // the start alone
void remove_block(CUdeviceptr start);
void set_accessible(CUdeviceptr start);
void forget_blocks_of(const Context* context);
size_t bytes_in_use();

/// New device memory with its identity; 0 when the device has no more.
CUdeviceptr allocate(size_t size, Origin origin, Context* context);
constexpr uint64_t any_stream = ~uint64_t{0};
/// Ends the identity and gives the addresses to the next allocation. `stream`: the id of the one in which memory of a
/// pool is freed; none: the caller does not return before it is free.
void release(CUdeviceptr start, uint64_t stream = 0);

/// Alive or dead: the program's own memory is none.
bool is_memory(CUdeviceptr address, size_t size);

}  // namespace keepgraph::sim
