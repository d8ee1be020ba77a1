// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace keepgraph::memory {

/// Addresses that ever belonged to a known allocation, as merged ranges. Tells a stale pointer from a plain number.
/// Any thread.
class Ranges {
  public:
    /// Adds [begin, end). May throw std::bad_alloc.
    void add(std::uintptr_t begin, std::uintptr_t end);
    bool contains(std::uintptr_t address) const noexcept;

  private:
    mutable std::mutex mutex_;
    std::map<std::uintptr_t, std::uintptr_t> ends_;  // by begin; no two touch
};

}  // namespace keepgraph::memory
