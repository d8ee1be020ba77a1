// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "driver/cuda_types.h"

namespace keepgraph::memory {

enum class Kind : unsigned char { device, managed, pinned };
const char* to_string(Kind kind) noexcept;

/// One allocation as the driver knows it. `id` is CU_POINTER_ATTRIBUTE_BUFFER_ID: unique per allocation and process, so
/// memory that is freed and allocated again at the same address has another one.
struct Allocation {
    std::uint64_t id = 0;
    std::uintptr_t base = 0;
    std::size_t size = 0;  ///< bytes
    Kind kind = Kind::device;
    int device = 0;       ///< ordinal
    bool mapped = false;  ///< by cuMemMap

    bool covers(std::uintptr_t address) const noexcept { return address - base < size; }
    std::uintptr_t end() const noexcept { return base + size; }
};

/// `unknown`: the driver failed to answer (it is shutting down, the context is lost, ...), which says nothing about the
/// memory.
enum class Fate : unsigned char { alive, gone, replaced, unknown };
/// What became of `allocation`; `answer` is what the driver returned. It is gone when nothing is allocated at its base
/// (CUDA_ERROR_INVALID_VALUE), replaced when something with another id is. About 40 ns. Any thread; the caller holds a
/// driver::RelaxedCapture.
Fate fate_of(const Allocation& allocation, CUresult& answer) noexcept;

/// `unknown`: the driver failed to answer, which says nothing about the address. Only CUDA_ERROR_INVALID_VALUE is its
/// "no allocation there".
enum class Identity : unsigned char { known, none, unknown };
/// The live allocation that holds `address`; `out` is set only when it is known. The caller holds a RelaxedCapture.
Identity identify(std::uintptr_t address, Allocation& out) noexcept;

/// Memory that is known to be gone, at addresses that the driver does not know.
class Dead {
  public:
    /// `perhaps`: it did, but the address may also be pageable memory's by now.
    enum class Held : unsigned char { no, yes, perhaps };
    /// Whether `address` was in such memory; `out` is which, the last one that was there.
    virtual Held find(std::uintptr_t address, Allocation& out) const = 0;

  protected:
    ~Dead() = default;
};

/// identify() for one scan of a graph: asks the driver once per distinct allocation, and once per distinct word that is
/// no address. It must not outlive the scan, since allocations come and go.
/// `dead` is asked about words that the driver does not know: one that points there was an address once, and is found
/// as one. Null: nothing is known to be dead.
class ScanCache {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t unknown = UINT32_MAX - 1;
    explicit ScanCache(const Dead* dead = nullptr) : dead_(dead) {}
    /// Number of the allocation that holds `word`, from 0 in the order in which they were first met; `none`, or
    /// `unknown` when the driver failed to answer: such a word is asked about again.
    std::uint32_t find(std::uintptr_t word) {
        // Words outside this window are never asked about: small integers, sizes, floating-point values, kernel-space
        // values. User space ends at 2^47 on x86-64 and at 2^48 on aarch64.
        if (word < lowest_address || word >= highest_address)
            return none;
        const Range& recent = recent_[place_of(word)];
        return recent.covers(word) ? recent.index : find_further(word);
    }
    const Allocation& at(std::uint32_t index) const noexcept { return met_[index]; }
    /// It is dead, and perhaps no address of it was meant.
    bool is_doubtful(std::uint32_t index) const noexcept { return !doubtful_.empty() && doubtful_.contains(index); }

  private:
    struct Range {
        std::uintptr_t base;
        std::size_t size;
        std::uint32_t index;
        bool covers(std::uintptr_t address) const noexcept { return address - base < size; }
    };
    static constexpr std::uintptr_t lowest_address = std::uintptr_t{1} << 16;
    static constexpr std::uintptr_t highest_address = std::uintptr_t{1} << 48;

    std::size_t place_of(std::uintptr_t word) const noexcept { return (word >> 12 ^ word >> 21) % recent_.size(); }
    std::uint32_t find_further(std::uintptr_t word);

    const Dead* dead_;
    std::vector<Allocation> met_;
    std::unordered_set<std::uint32_t> doubtful_;
    std::map<std::uintptr_t, Range> by_base_;
    std::unordered_set<std::uintptr_t> no_address_;
    std::array<Range, 16> recent_{};  // kernels in turn use few allocations, at few offsets
};

}  // namespace keepgraph::memory
