// SPDX-License-Identifier: Apache-2.0
#include "session/dead_memory.h"

namespace keepgraph::session {
namespace {

using Interval = boost::icl::interval<std::uintptr_t>;

auto key_of(const memory::Allocation& allocation) {
    return std::pair(allocation.base, allocation.id);
}

auto range_of(const memory::Allocation& allocation) {
    return Interval::right_open(allocation.base, allocation.end());
}

}  // namespace

void DeadMemory::add(const TrackedPtr& tracked) {
    if (!by_id_.emplace(key_of(tracked->allocation), tracked).second)
        return;
    tracked->death_number = ++deaths_;
    by_address_ += std::pair(range_of(tracked->allocation), Pile{tracked});
    unclaimed_ += !tracked->has_younger;
}

void DeadMemory::remove(const TrackedPtr& tracked) {
    const auto at = by_id_.find(key_of(tracked->allocation));
    if (at == by_id_.end() || at->second != tracked)
        return;
    by_address_ -= std::pair(range_of(tracked->allocation), Pile{tracked});
    unclaimed_ -= !tracked->has_younger;
    by_id_.erase(at);
}

void DeadMemory::claim(const TrackedPtr& tracked, const memory::Allocation& younger, const Event& birth) {
    if (tracked->has_younger || find(tracked->allocation) != tracked)
        return;
    tracked->has_younger = true;
    tracked->younger = younger;
    tracked->younger_birth = birth;
    --unclaimed_;
}

TrackedPtr DeadMemory::find(const memory::Allocation& allocation) const {
    const auto at = by_id_.find(key_of(allocation));
    return at != by_id_.end() ? at->second : nullptr;
}

TrackedPtr DeadMemory::last_at(std::uintptr_t address) const {
    const auto at = by_address_.find(address);
    return at != by_address_.end() ? *at->second.rbegin() : nullptr;
}

std::vector<TrackedPtr> DeadMemory::unclaimed_in(std::uintptr_t base, std::size_t size) const {
    std::vector<TrackedPtr> found;
    const auto [first, last] = by_address_.equal_range(Interval::right_open(base, base + size));
    for (auto at = first; at != last; ++at)
        // What died before one that has a younger owner has one too: a long pile is not walked to its end.
        for (auto tracked = at->second.rbegin(); tracked != at->second.rend() && !(*tracked)->has_younger; ++tracked)
            if (found.empty() || found.back() != *tracked)
                found.push_back(*tracked);
    return found;
}

}  // namespace keepgraph::session
