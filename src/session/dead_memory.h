// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/icl/interval_map.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "session/tracked.h"

namespace keepgraph::session {

/// What is dead and still referred to, by address. Several may have died at one address, one after the other, each with
/// an exec that refers to it: all are kept, since the last one may be forgotten first. No lock: the session's guards
/// it.
///
/// Rejected: only the last one at each address. When nobody referred to that any more, a node that was set again to the
/// address referred to nothing.
class DeadMemory {
  public:
    /// `tracked` died, later than all that are here. May throw std::bad_alloc.
    void add(const TrackedPtr& tracked);
    /// Nobody refers to it any more; nothing happens when it is not here.
    void remove(const TrackedPtr& tracked);
    /// The address of `tracked` was given to `younger`; nothing happens when it had been given away before, or when
    /// `tracked` is not here.
    void claim(const TrackedPtr& tracked, const memory::Allocation& younger, const Event& birth);

    /// Of this base and id; null: none.
    TrackedPtr find(const memory::Allocation& allocation) const;
    /// Of those that held `address` the one that died last; null: none did.
    TrackedPtr last_at(std::uintptr_t address) const;
    /// What held a part of [base, base + size) and has no younger owner. May throw std::bad_alloc.
    std::vector<TrackedPtr> unclaimed_in(std::uintptr_t base, std::size_t size) const;

    std::size_t size() const noexcept { return by_id_.size(); }
    std::size_t unclaimed() const noexcept { return unclaimed_; }

  private:
    struct ByDeath {
        bool operator()(const TrackedPtr& a, const TrackedPtr& b) const noexcept {
            return a->death_number < b->death_number;
        }
    };
    using Pile = std::set<TrackedPtr, ByDeath>;

    std::map<std::pair<std::uintptr_t, std::uint64_t>, TrackedPtr> by_id_;
    boost::icl::interval_map<std::uintptr_t, Pile> by_address_;
    std::uint64_t deaths_ = 0;
    std::size_t unclaimed_ = 0;
};

}  // namespace keepgraph::session
