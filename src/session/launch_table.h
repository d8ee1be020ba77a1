// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/cuda_types.h"

namespace keepgraph::session {

/// What the launch path reads and writes of one exec. Never freed, only used again: a program that launches an exec
/// while another thread destroys it is wrong, but must not make us read freed memory.
struct LaunchRecord {
    static constexpr unsigned shards = 8;
    struct alignas(64) Shard {
        std::atomic<std::uint64_t> count{0};
    };
    /// Set while something about this exec has to be looked at before it is launched.
    alignas(64) std::atomic<bool> attention{false};
    Shard launches[shards];

    std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const Shard& shard : launches)
            sum += shard.count.load(std::memory_order_relaxed);
        return sum;
    }
};

/// Execs by handle for the launch path: a hash table that readers walk without a lock.
///
/// find() costs a multiplication and two or three loads, for one exec as for 64 in turn. Rejected: a thread-local cache
/// of the last exec, which misses when several execs take turns and needs a generation against reused handles; and a
/// shared count per launch, which 8 threads fight for (one shard per thread instead, 64 bytes each).
/// The others are called under the session's lock. Tables that were outgrown are leaked: a reader may still walk them,
/// and together they are smaller than the present one. A table full of graves is rebuilt into the one before it; a
/// reader that was stopped for all that time may miss its handle, so "not found" has to be confirmed under the lock. It
/// gets no other exec's record: the slot's handle is looked at again behind the record.
class LaunchTable {
  public:
    LaunchRecord* find(CUgraphExec handle) const noexcept {
        const Table* const table = table_.load(std::memory_order_acquire);
        if (table == nullptr)
            return nullptr;
        for (std::uint64_t at = hash(handle);; ++at) {
            const Slot& slot = table->slots[at & table->mask];
            const CUgraphExec key = slot.handle.load(std::memory_order_acquire);
            if (key == handle) {
                LaunchRecord* const record = slot.record.load(std::memory_order_acquire);
                // A rebuild may have given the slot to another exec in between: that record is not ours.
                return slot.handle.load(std::memory_order_relaxed) == handle ? record : nullptr;
            }
            if (key == nullptr)
                return nullptr;
        }
    }

    /// A record with no launches for `handle`; replaces an older one. May throw std::bad_alloc.
    LaunchRecord* insert(CUgraphExec handle);
    /// Takes the record out, null when there is none. It goes back with put_back() or recycle().
    LaunchRecord* take(CUgraphExec handle) noexcept;
    /// The destruction failed: the record counts again. The slot of `handle` is still there.
    void put_back(CUgraphExec handle, LaunchRecord* record) noexcept;
    void recycle(LaunchRecord* record) noexcept;

    /// Counts one launch of the calling thread.
    static void count(LaunchRecord& record) noexcept {
        record.launches[shard()].count.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    struct Slot {
        std::atomic<CUgraphExec> handle{nullptr};  // stays until a rebuild; without a record it is a grave
        std::atomic<LaunchRecord*> record{nullptr};
    };
    struct Table {
        std::uint64_t mask;
        Slot* slots;
    };
    static std::uint64_t hash(CUgraphExec handle) noexcept {
        return (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15ull) >> 32;
    }
    static unsigned shard() noexcept {
        static std::atomic<unsigned> threads{0};
        static thread_local constinit unsigned mine = 0;  // 0: not given yet
        if (mine == 0)
            mine = threads.fetch_add(1, std::memory_order_relaxed) % LaunchRecord::shards + 1;
        return mine - 1;
    }
    static Slot* slot_of(const Table& table, CUgraphExec handle) noexcept;
    void store(const Table& table, CUgraphExec handle, LaunchRecord* record) noexcept;
    void rebuild();

    std::atomic<Table*> table_{nullptr};
    Table* other_ = nullptr;  // of the same size, for the next rebuild
    std::uint64_t keys_ = 0;  // slots of the present table that hold a handle, graves too
    std::vector<LaunchRecord*> spares_;
};

}  // namespace keepgraph::session
