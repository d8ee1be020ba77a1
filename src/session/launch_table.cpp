// SPDX-License-Identifier: Apache-2.0
#include "session/launch_table.h"

#include <memory>
#include <utility>

namespace keepgraph::session {

LaunchTable::Slot* LaunchTable::slot_of(const Table& table, CUgraphExec handle) noexcept {
    for (std::uint64_t at = hash(handle);; ++at) {
        Slot& slot = table.slots[at & table.mask];
        const CUgraphExec key = slot.handle.load(std::memory_order_relaxed);
        if (key == handle || key == nullptr)
            return &slot;
    }
}

// At most half of the slots hold keys, so that a reader always finds an empty one. Graves are left behind.
void LaunchTable::rebuild() {
    Table* const old = table_.load(std::memory_order_relaxed);
    std::uint64_t live = 0;
    for (std::uint64_t i = 0; old != nullptr && i <= old->mask; ++i)
        live += old->slots[i].record.load(std::memory_order_relaxed) != nullptr;
    std::uint64_t size = old != nullptr ? old->mask + 1 : 256;
    while (size < (live + 1) * 4)
        size *= 2;
    if (other_ == nullptr || other_->mask + 1 != size) {
        auto slots = std::make_unique<Slot[]>(size);
        other_ = new Table{size - 1, slots.get()};
        (void)slots.release();
    }
    Table* const table = std::exchange(other_, old != nullptr && old->mask + 1 == size ? old : nullptr);
    for (std::uint64_t i = 0; i < size; ++i) {
        table->slots[i].handle.store(nullptr, std::memory_order_relaxed);
        table->slots[i].record.store(nullptr, std::memory_order_relaxed);
    }
    keys_ = 0;
    for (std::uint64_t i = 0; old != nullptr && i <= old->mask; ++i)
        if (LaunchRecord* const record = old->slots[i].record.load(std::memory_order_relaxed))
            store(*table, old->slots[i].handle.load(std::memory_order_relaxed), record);
    table_.store(table, std::memory_order_release);
}

void LaunchTable::store(const Table& table, CUgraphExec handle, LaunchRecord* record) noexcept {
    Slot* const slot = slot_of(table, handle);
    if (slot->handle.load(std::memory_order_relaxed) == nullptr)
        ++keys_;
    slot->record.store(record, std::memory_order_release);
    slot->handle.store(handle, std::memory_order_release);
}

LaunchRecord* LaunchTable::insert(CUgraphExec handle) {
    std::unique_ptr<LaunchRecord> made;
    if (spares_.empty())
        made = std::make_unique<LaunchRecord>();
    const Table* const table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || (keys_ + 1) * 2 > table->mask)
        rebuild();
    LaunchRecord* record = made.release();
    if (record == nullptr) {
        record = spares_.back();
        spares_.pop_back();
        record->attention.store(false, std::memory_order_relaxed);
        for (LaunchRecord::Shard& shard : record->launches)
            shard.count.store(0, std::memory_order_relaxed);
    }
    store(*table_.load(std::memory_order_relaxed), handle, record);
    return record;
}

LaunchRecord* LaunchTable::take(CUgraphExec handle) noexcept {
    const Table* const table = table_.load(std::memory_order_relaxed);
    if (table == nullptr)
        return nullptr;
    return slot_of(*table, handle)->record.exchange(nullptr, std::memory_order_acq_rel);
}

void LaunchTable::put_back(CUgraphExec handle, LaunchRecord* record) noexcept {
    store(*table_.load(std::memory_order_relaxed), handle, record);  // take() left its slot, or a rebuild made room
}

void LaunchTable::recycle(LaunchRecord* record) noexcept {
    try {
        spares_.push_back(record);
    } catch (...) {  // no memory to remember it: it is leaked
    }
}

}  // namespace keepgraph::session
