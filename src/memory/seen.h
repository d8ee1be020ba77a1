// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace keepgraph::memory {

/// Where memory of the driver's ever was, to the nearest 2 MB: tells a stale pointer from a plain number. Every
/// allocation of the program is added, so nothing here locks, and adding what is known costs one load.
/// Any thread. Never forgets; one bit per granule, in leaves made when they are needed (4 KB for 64 GB).
///
/// Rejected: exact ranges, which need a lock and grow with the number of allocations. A number that lies within 2 MB of
/// memory is then called stale, not a number, which keeps the grade of its slot.
class Seen {
  public:
    Seen() = default;
    ~Seen();
    Seen(const Seen&) = delete;
    Seen& operator=(const Seen&) = delete;

    /// [begin, end). What lies beyond 2^48, or finds no memory for its leaf, is not added.
    void add(std::uintptr_t begin, std::uintptr_t end) noexcept;
    bool contains(std::uintptr_t address) const noexcept;

  private:
    static constexpr unsigned granule_bits = 21;
    static constexpr unsigned leaf_bits = 15;  // granules in a leaf
    static constexpr unsigned address_bits = 48;
    using Leaf = std::array<std::atomic<std::uint64_t>, (std::size_t{1} << leaf_bits) / 64>;

    Leaf* leaf(std::uintptr_t granule) noexcept;

    std::array<std::atomic<Leaf*>, std::size_t{1} << (address_bits - granule_bits - leaf_bits)> leaves_{};
};

}  // namespace keepgraph::memory
