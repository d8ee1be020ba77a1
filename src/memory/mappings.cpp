// SPDX-License-Identifier: Apache-2.0
#include "memory/mappings.h"

#include <atomic>
#include <iterator>
#include <map>
#include <mutex>

namespace keepgraph::memory {
namespace {

struct Table {
    std::mutex mutex;
    std::map<std::uintptr_t, std::size_t> sizes;  // by base; none overlap
};

// Never destroyed: static destructors of the program may still unmap.
Table& table() {
    static Table& made = *new Table;
    return made;
}

std::atomic<bool> any{false};  // most programs map nothing, and their scans ask this only

}  // namespace

void note_mapped(std::uintptr_t base, std::size_t size) {
    const std::lock_guard lock(table().mutex);
    table().sizes.insert_or_assign(base, size);
    any.store(true, std::memory_order_release);
}

void note_unmapped(std::uintptr_t base, std::size_t size) noexcept {
    if (!any.load(std::memory_order_acquire))
        return;
    auto& [mutex, sizes] = table();
    const std::lock_guard lock(mutex);
    auto last = sizes.lower_bound(base);
    while (last != sizes.end() && last->first - base < size)
        ++last;
    sizes.erase(sizes.lower_bound(base), last);
}

bool find_mapping(std::uintptr_t address, std::uintptr_t& base, std::size_t& size) noexcept {
    if (!any.load(std::memory_order_acquire))
        return false;
    auto& [mutex, sizes] = table();
    const std::lock_guard lock(mutex);
    const auto after = sizes.upper_bound(address);
    if (after == sizes.begin() || address - std::prev(after)->first >= std::prev(after)->second)
        return false;
    base = std::prev(after)->first;
    size = std::prev(after)->second;
    return true;
}

}  // namespace keepgraph::memory
