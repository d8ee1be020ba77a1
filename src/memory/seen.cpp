// SPDX-License-Identifier: Apache-2.0
#include "memory/seen.h"

#include <algorithm>
#include <new>

namespace keepgraph::memory {

Seen::~Seen() {
    for (const auto& leaf : leaves_)
        delete leaf.load();
}

Seen::Leaf* Seen::leaf(std::uintptr_t granule) noexcept {
    std::atomic<Leaf*>& place = leaves_[granule >> leaf_bits];
    Leaf* known = place.load(std::memory_order_acquire);
    if (known != nullptr)
        return known;
    Leaf* const made = new (std::nothrow) Leaf{};
    if (made == nullptr || place.compare_exchange_strong(known, made, std::memory_order_acq_rel))
        return made;
    delete made;  // another thread was first
    return known;
}

void Seen::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
    end = std::min(end, std::uintptr_t{1} << address_bits);
    if (begin >= end)
        return;
    const std::uintptr_t last = (end - 1) >> granule_bits;
    for (std::uintptr_t granule = begin >> granule_bits; granule <= last; ++granule) {
        Leaf* const in = leaf(granule);
        if (in == nullptr)
            return;
        auto& word = (*in)[granule % (std::uintptr_t{1} << leaf_bits) / 64];
        const std::uint64_t bit = std::uint64_t{1} << granule % 64;
        if ((word.load(std::memory_order_relaxed) & bit) == 0)  // a plain load as a rule: no cache line is fought for
            word.fetch_or(bit, std::memory_order_relaxed);
    }
}

bool Seen::contains(std::uintptr_t address) const noexcept {
    if (address >> address_bits != 0)
        return false;
    const std::uintptr_t granule = address >> granule_bits;
    const Leaf* const in = leaves_[granule >> leaf_bits].load(std::memory_order_acquire);
    return in != nullptr &&
           ((*in)[granule % (std::uintptr_t{1} << leaf_bits) / 64].load(std::memory_order_relaxed) >> granule % 64 &
            1) != 0;
}

}  // namespace keepgraph::memory
