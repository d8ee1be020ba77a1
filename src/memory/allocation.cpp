// SPDX-License-Identifier: Apache-2.0
#include "memory/allocation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "driver/api.h"
#include "memory/mappings.h"

namespace keepgraph::memory {
namespace {

// A program may put millions of different non-addresses into parameters; the set is a shortcut, not a record.
constexpr std::size_t most_non_addresses = 1u << 16;

}  // namespace

const char* to_string(Kind kind) noexcept {
    switch (kind) {
        case Kind::device:
            return "device";
        case Kind::managed:
            return "managed";
        case Kind::pinned:
            return "pinned";
    }
    return "device";
}

Fate fate_of(const Allocation& allocation, CUresult& answer) noexcept {
    unsigned long long id = 0;
    const auto ask = driver::api().cuPointerGetAttribute;
    answer = ask != nullptr ? ask(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, allocation.base) : CUDA_ERROR_NOT_FOUND;
    if (answer == CUDA_SUCCESS)
        return id == allocation.id ? Fate::alive : Fate::replaced;
    return answer == CUDA_ERROR_INVALID_VALUE ? Fate::gone : Fate::unknown;
}

Identity identify(std::uintptr_t address, Allocation& out) noexcept {
    const auto ask = driver::api().cuPointerGetAttribute;
    if (ask == nullptr)
        return Identity::unknown;
    unsigned long long id = 0;
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CUresult result = ask(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
    if (result == CUDA_SUCCESS)
        result = ask(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
    if (result == CUDA_SUCCESS)
        result = ask(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
    if (result != CUDA_SUCCESS)
        return result == CUDA_ERROR_INVALID_VALUE ? Identity::none : Identity::unknown;
    if (id == 0)
        return Identity::none;
    out.id = id;
    out.mapped = find_mapping(address, out.base, out.size);
    if (!out.mapped) {
        out.base = base;
        out.size = size;
    }
    unsigned int type = CU_MEMORYTYPE_DEVICE;
    unsigned int managed = 0;
    int device = 0;
    (void)ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    (void)ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    (void)ask(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    out.kind = managed != 0 ? Kind::managed : type == CU_MEMORYTYPE_HOST ? Kind::pinned : Kind::device;
    out.device = device;
    return out.covers(address) ? Identity::known : Identity::none;
}

std::uint32_t ScanCache::find_further(std::uintptr_t word) {
    Range& recent = recent_[place_of(word)];
    const auto after = by_base_.upper_bound(word);
    if (after != by_base_.begin() && std::prev(after)->second.covers(word)) {
        recent = std::prev(after)->second;
        return recent.index;
    }
    if (no_address_.contains(word))
        return none;
    Allocation found;
    const Identity identity = identify(word, found);
    const Dead::Held dead = identity == Identity::known || dead_ == nullptr ? Dead::Held::no : dead_->find(word, found);
    if (identity != Identity::known && dead == Dead::Held::no) {
        if (identity == Identity::unknown)
            return unknown;
        if (no_address_.size() < most_non_addresses)
            no_address_.insert(word);
        return none;
    }
    recent = {found.base, found.size, static_cast<std::uint32_t>(met_.size())};
    if (dead == Dead::Held::perhaps)
        doubtful_.insert(recent.index);
    met_.push_back(found);
    by_base_.insert_or_assign(found.base, recent);
    return recent.index;
}

}  // namespace keepgraph::memory
