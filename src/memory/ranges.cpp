// SPDX-License-Identifier: Apache-2.0
#include "memory/ranges.h"

#include <algorithm>

namespace keepgraph::memory {

void Ranges::add(std::uintptr_t begin, std::uintptr_t end) {
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin()) {
        const auto previous = std::prev(next);
        if (previous->second >= end)
            return;
        if (previous->second >= begin) {
            begin = previous->first;
            next = ends_.erase(previous);
        }
    }
    while (next != ends_.end() && next->first <= end) {
        end = std::max(end, next->second);
        next = ends_.erase(next);
    }
    ends_.emplace_hint(next, begin, end);
}

bool Ranges::contains(std::uintptr_t address) const noexcept {
    const auto after = ends_.upper_bound(address);
    return after != ends_.begin() && address < std::prev(after)->second;
}

}  // namespace keepgraph::memory
