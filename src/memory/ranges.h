// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

namespace keepgraph::memory {

/// Addresses as merged ranges: those of the memory nodes of one graph. No lock: it belongs to one scan.
class Ranges {
  public:
    /// Adds [begin, end). May throw std::bad_alloc.
    void add(std::uintptr_t begin, std::uintptr_t end);
    bool contains(std::uintptr_t address) const noexcept;

  private:
    std::map<std::uintptr_t, std::uintptr_t> ends_;  // by begin; no two touch
};

}  // namespace keepgraph::memory
