// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory and its pools.
#include <map>

#include "pools.h"

#include "capture.h"
#include "closed.h"
#include "context.h"
#include "function.h"
#include "graph.h"

namespace keepgraph::sim {

struct Freed {
    size_t size;
    uint64_t stream;  // its id; 0: the free is over
};

struct MemoryPool : Object<Kind::pool> {
    int device = 0;
    bool is_default = false;
    cuuint64_t used = 0, used_high = 0;
    size_t blocks = 0;                     // in use
    std::map<CUdeviceptr, Freed> freed;    // and still mapped
    std::map<int, cuuint64_t> attributes;  // what was set
};

namespace {

MemoryPool* default_pool(int device) {
    static auto* pools = new std::vector<MemoryPool*>(device_count(), nullptr);
    MemoryPool*& default_of_device = (*pools)[device];
    if (default_of_device == nullptr) {
        default_of_device = pool<MemoryPool>().take();
        default_of_device->device = device;
        default_of_device->is_default = true;
    }
    return default_of_device;
}

std::map<int, MemoryPool*>& current_pools() {
    static auto* chosen = new std::map<int, MemoryPool*>;
    return *chosen;
}

MemoryPool* current_pool(int device) {
    MemoryPool*& chosen = current_pools()[device];
    if (chosen == nullptr || chosen->kind != Kind::pool)
        chosen = default_pool(device);
    return chosen;
}

CUresult allocate_async(CUdeviceptr* out, size_t size, MemoryPool* from, CUstream handle) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    const Locked lock;
    Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (from == nullptr)
        from = current_pool(context->device);
    if (stream->capture != nullptr) {
        if (stream->capture->invalidated)
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        AllocWork alloc;
        alloc.context = context;
        alloc.params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        alloc.params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        alloc.params.poolProps.location.id = context->device;
        alloc.params.bytesize = size;
        alloc.params.dptr = take_addresses(size);
        if (alloc.params.dptr == 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *out = alloc.params.dptr;
        Work work = alloc;
        bool captured;
        return capture_work(stream, work, &captured);
    }
    if (const CUresult code = check_legacy(stream); code != CUDA_SUCCESS)
        return code;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    const CUdeviceptr start = allocate(size, Origin::stream_ordered, context);
    if (start == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const_cast<Block*>(block_starting_at(start))->pool = from;
    pool<MemoryPool>().for_each([&](MemoryPool* other) { other->freed.erase(start); });
    ++from->blocks;
    from->used += size;
    from->used_high = std::max(from->used_high, from->used);
    *out = start;
    return CUDA_SUCCESS;
}

CUresult free_async(CUdeviceptr dptr, CUstream handle) {
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (dptr == 0)
        return CUDA_SUCCESS;
    if (stream->capture != nullptr) {
        Work work = FreeWork{dptr};
        bool captured;
        return capture_work(stream, work, &captured);
    }
    if (const CUresult code = check_legacy(stream); code != CUDA_SUCCESS)
        return code;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    const Block* block = block_starting_at(dptr);
    if (block == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (block->origin == Origin::graph) {
        remove_block(dptr);
        return CUDA_SUCCESS;
    }
    if (block->origin != Origin::stream_ordered && block->origin != Origin::device)
        return CUDA_ERROR_INVALID_VALUE;
    release(dptr, stream->id);
    return CUDA_SUCCESS;
}

CUresult device_pool(CUmemoryPool* out, CUdevice device, MemoryPool* (*which)(int)) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    *out = handle_of<CUmemoryPool>(which(device));
    return CUDA_SUCCESS;
}

bool is_pool_attribute(CUmemPool_attribute attribute) {
    return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES && attribute <= CU_MEMPOOL_ATTR_USED_MEM_HIGH;
}

/// The first three attributes are ints, the others 64 bits wide.
bool is_int(CUmemPool_attribute attribute) {
    return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

/// The frees in `stream` are over. Memory goes only when the pool has nothing in use and holds more than it is to keep.
void give_back(MemoryPool& of, uint64_t stream) {
    cuuint64_t held = 0;
    for (auto& [start, freed] : of.freed) {
        held += freed.size;
        if (stream == any_stream || freed.stream == stream || freed.stream == any_stream)
            freed.stream = 0;
    }
    if (of.blocks != 0 || held <= of.attributes[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD])
        return;
    std::erase_if(of.freed, [](const auto& entry) {
        const auto& [start, freed] = entry;
        if (freed.stream != 0)
            return false;
        close_addresses(start, freed.size);
        return true;
    });
}

/// What is left of a pool that was destroyed.
void end(MemoryPool& of) {
    of.attributes.clear();
    give_back(of, any_stream);
    of.freed.clear();  // nobody asks it any more when its addresses are handed out again
    if (of.blocks == 0)
        pool<MemoryPool>().give(&of);
}

}  // namespace

void pool_memory_freed(const Block& block, uint64_t stream) {
    MemoryPool& of = *block.pool;
    of.used -= block.size;
    --of.blocks;
    of.freed[block.start] = {block.size, stream};
    if (of.kind != Kind::pool)
        end(of);
    else if (stream == 0)
        give_back(of, stream);
}

void give_back_pool_memory(uint64_t stream) {
    const Locked lock;
    pool<MemoryPool>().for_each([&](MemoryPool* each) { give_back(*each, stream); });
}

}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream stream) {
    SIM_ENTER(cuMemAllocAsync);
    return allocate_async(dptr, bytesize, nullptr, stream);
}

SIM_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool handle, CUstream stream) {
    SIM_ENTER(cuMemAllocFromPoolAsync);
    auto* from = find<MemoryPool>(handle);
    if (from == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate_async(dptr, bytesize, from, stream);
}

SIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream stream) {
    SIM_ENTER(cuMemFreeAsync);
    return free_async(dptr, stream);
}

SIM_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
    SIM_ENTER(cuDeviceGetDefaultMemPool);
    return device_pool(out, device, default_pool);
}

SIM_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
    SIM_ENTER(cuDeviceGetMemPool);
    return device_pool(out, device, current_pool);
}

SIM_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
    SIM_ENTER(cuDeviceSetMemPool);
    if (device < 0 || device >= device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    auto* chosen = find<MemoryPool>(handle);
    if (chosen == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    current_pools()[device] = chosen;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
    SIM_ENTER(cuMemPoolCreate);
    if (out == nullptr || props == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        props->location.id < 0 || props->location.id >= device_count()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Locked lock;
    auto* created = pool<MemoryPool>().take();
    created->device = props->location.id;
    *out = handle_of<CUmemoryPool>(created);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    SIM_ENTER(cuMemPoolDestroy);
    const Locked lock;
    auto* dying = find<MemoryPool>(handle);
    if (dying == nullptr || dying->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    // Blocks in use know their pool to the end, although nobody finds it any more.
    dying->kind = Kind::dead;
    end(*dying);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
    SIM_ENTER(cuMemPoolTrimTo);
    const Locked lock;
    return find<MemoryPool>(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    SIM_ENTER(cuMemPoolSetAttribute);
    const Locked lock;
    auto* target = find<MemoryPool>(handle);
    if (target == nullptr || value == nullptr || !is_pool_attribute(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    target->attributes[attribute] = is_int(attribute) ? *static_cast<int*>(value) : *static_cast<cuuint64_t*>(value);
    if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        target->used_high = target->used;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    SIM_ENTER(cuMemPoolGetAttribute);
    const Locked lock;
    auto* asked = find<MemoryPool>(handle);
    if (asked == nullptr || value == nullptr || !is_pool_attribute(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    if (is_int(attribute)) {
        const auto set = asked->attributes.find(attribute);
        *static_cast<int*>(value) = set != asked->attributes.end() ? static_cast<int>(set->second) : 1;
        return CUDA_SUCCESS;
    }
    cuuint64_t result = 0;
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            result = asked->attributes[attribute];
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            result = asked->used;
            break;
        default:
            result = asked->used_high;
    }
    *static_cast<cuuint64_t*>(value) = result;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
    SIM_ENTER(cuMemPoolSetAccess);
    const Locked lock;
    return find<MemoryPool>(handle) != nullptr && (map != nullptr || count == 0) ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE;
}
