// SPDX-License-Identifier: Apache-2.0
// Address ranges and physical memory that are had apart. Physical memory is a memory file, so that it can be mapped at
// two places and keeps its contents between mappings.
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <tuple>

#include "address_space.h"
#include "closed.h"
#include "context.h"
#include "function.h"

using namespace keepgraph::sim;

namespace {

struct Physical {
    int file = -1;
    size_t size = 0;
    int device = 0;
    unsigned references = 0;  // the handle, and each mapping
};

struct Mapping {
    size_t size;
    CUmemGenericAllocationHandle handle;
};

std::map<CUmemGenericAllocationHandle, Physical>& physicals() {
    static auto* table = new std::map<CUmemGenericAllocationHandle, Physical>;
    return *table;
}

std::map<CUdeviceptr, size_t>& reservations() {
    static auto* table = new std::map<CUdeviceptr, size_t>;
    return *table;
}

std::map<CUdeviceptr, Mapping>& mappings() {
    static auto* table = new std::map<CUdeviceptr, Mapping>;
    return *table;
}

bool is_reserved(CUdeviceptr start, size_t size) {
    auto after = reservations().upper_bound(start);
    if (after == reservations().begin())
        return false;
    const auto& [begin, length] = *std::prev(after);
    return start >= begin && start + size <= begin + length;
}

bool is_free(CUdeviceptr start, size_t size) {
    auto after = mappings().lower_bound(start + size);
    if (after == mappings().begin())
        return true;
    const auto& [begin, mapping] = *std::prev(after);
    return begin + mapping.size <= start;
}

void drop(CUmemGenericAllocationHandle handle) {
    const auto found = physicals().find(handle);
    if (found == physicals().end() || --found->second.references != 0)
        return;
    close(found->second.file);
    physicals().erase(found);
}

}  // namespace

SIM_EXPORT CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                                  CUmemAllocationGranularity_flags) {
    SIM_ENTER(cuMemGetAllocationGranularity);
    if (granularity == nullptr || prop == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = vmm_granularity;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t, CUdeviceptr, unsigned long long flags) {
    SIM_ENTER(cuMemAddressReserve);
    if (ptr == nullptr || size == 0 || size % vmm_granularity != 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const CUdeviceptr start = take_addresses(size);
    if (start == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    close_addresses(start, size);
    reservations()[start] = size;
    *ptr = start;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    SIM_ENTER(cuMemAddressFree);
    const Locked lock;
    const auto found = reservations().find(ptr);
    if (found == reservations().end() || found->second != size || !is_free(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    reservations().erase(found);
    give_addresses(ptr, size);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                                unsigned long long flags) {
    SIM_ENTER(cuMemCreate);
    if (handle == nullptr || prop == nullptr || size == 0 || size % vmm_granularity != 0 || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (prop->location.id < 0 || prop->location.id >= device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    if (size > device_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const int file = memfd_create("libcuda-double", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const Locked lock;
    *handle = next_id();
    physicals()[*handle] = {file, size, prop->location.id, 1};
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIM_ENTER(cuMemRelease);
    const Locked lock;
    if (physicals().count(handle) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    drop(handle);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                             unsigned long long flags) {
    SIM_ENTER(cuMemMap);
    const Locked lock;
    const auto physical = physicals().find(handle);
    if (physical == physicals().end() || flags != 0 || offset != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (size == 0 || !is_free(ptr, 1))
        return CUDA_ERROR_INVALID_VALUE;
    if (size > physical->second.size)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (size != physical->second.size || !is_reserved(ptr, size) || !is_free(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    open_addresses(ptr, size);
    if (mmap(reinterpret_cast<void*>(ptr), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->second.file,
             0) == MAP_FAILED) {
        return CUDA_ERROR_UNKNOWN;
    }
    ++physical->second.references;
    mappings()[ptr] = {size, handle};
    Block& block = add_block(ptr, size, Origin::mapped, primary_context(physical->second.device));
    std::tie(block.range_start, block.range) = *std::prev(reservations().upper_bound(ptr));
    block.accessible = false;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    SIM_ENTER(cuMemUnmap);
    const Locked lock;
    // The range may cover several whole mappings and gaps between them, never a part of a mapping.
    if (size == 0 || ptr % vmm_granularity != 0 || !is_reserved(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    auto first = mappings().lower_bound(ptr);
    if (first != mappings().begin()) {
        const auto& [begin, mapping] = *std::prev(first);
        if (begin + mapping.size > ptr)
            return CUDA_ERROR_INVALID_VALUE;
    }
    auto last = first;
    while (last != mappings().end() && last->first < ptr + size) {
        if (last->first + last->second.size > ptr + size)
            return CUDA_ERROR_INVALID_VALUE;
        ++last;
    }
    for (auto mapping = first; mapping != last; ++mapping) {
        remove_block(mapping->first);
        drop(mapping->second.handle);
    }
    mappings().erase(first, last);
    close_addresses(ptr, size);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
    SIM_ENTER(cuMemSetAccess);
    if (desc == nullptr || count == 0 || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    auto mapping = mappings().find(ptr);
    if (mapping == mappings().end())
        return CUDA_ERROR_INVALID_VALUE;
    for (; mapping != mappings().end() && mapping->first < ptr + size; ++mapping)
        set_accessible(mapping->first);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
    SIM_ENTER(cuMemGetAccess);
    if (flags == nullptr || location == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    if (block_at(ptr) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
    SIM_ENTER(cuMemRetainAllocationHandle);
    if (handle == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Block* block = block_at(reinterpret_cast<CUdeviceptr>(address));
    if (block == nullptr || block->origin != Origin::mapped)
        return CUDA_ERROR_INVALID_VALUE;
    *handle = mappings()[block->start].handle;
    ++physicals()[*handle].references;
    return CUDA_SUCCESS;
}
