// SPDX-License-Identifier: Apache-2.0
// Memory that is had at once: device, pitched, managed, pinned and registered host memory.
#include <cstring>

#include "address_space.h"
#include "capture.h"
#include "context.h"
#include "function.h"

using namespace keepgraph::sim;

namespace {

CUresult allocate_into(CUdeviceptr* out, size_t size, Origin origin) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    const Locked lock;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    if (size == 0 && origin == Origin::host) {
        *out = 0;
        return CUDA_SUCCESS;
    }
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const CUdeviceptr start = allocate(size, origin, context);
    if (start == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = start;
    return CUDA_SUCCESS;
}

CUresult free_host(void* pointer) {
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    if (pointer == nullptr)
        return CUDA_SUCCESS;
    const Block* block = block_starting_at(reinterpret_cast<CUdeviceptr>(pointer));
    if (block == nullptr || block->origin != Origin::host)
        return CUDA_ERROR_INVALID_VALUE;
    release(block->start);
    return CUDA_SUCCESS;
}

CUresult register_host(void* pointer, size_t size, unsigned flags) {
    if (pointer == nullptr || size == 0 || flags > 15)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    const Locked lock;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    const auto start = reinterpret_cast<CUdeviceptr>(pointer);
    if (block_at(start) != nullptr)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    add_block(start, size, Origin::registered, context);
    return CUDA_SUCCESS;
}

CUmemorytype memory_type(const Block& block) {
    return block.origin == Origin::host || block.origin == Origin::registered ? CU_MEMORYTYPE_HOST
                                                                              : CU_MEMORYTYPE_DEVICE;
}

bool is_of_device(const Block& block) {
    return block.origin == Origin::mapped || block.origin == Origin::stream_ordered || block.origin == Origin::graph;
}

template <class T>
CUresult store(void* out, T value) {
    std::memcpy(out, &value, sizeof value);
    return CUDA_SUCCESS;
}

CUresult attribute_of(void* out, CUpointer_attribute attribute, const Block& block, CUdeviceptr pointer) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            // Memory of pools and mapped memory belong to a device, to no context.
            return store(out, handle_of<CUcontext>(is_of_device(block) ? nullptr : block.context));
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return store(out, memory_type(block));
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            if (!block.accessible)
                return CUDA_ERROR_INVALID_VALUE;
            return store(out, pointer);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            // Only host and managed memory has one, although ours could be followed.
            if (memory_type(block) != CU_MEMORYTYPE_HOST && block.origin != Origin::managed) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            return store(out, reinterpret_cast<void*>(pointer));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return store(out, 0u);
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return store(out, static_cast<unsigned long long>(block.id));
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return store(out, static_cast<unsigned>(block.origin == Origin::managed));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return store(out, block.device);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return store(out, block.range_start);
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return store(out, block.range);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return store(out, 1);
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return store(out, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return store(out, handle_of<CUmemoryPool>(block.pool));
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

SIM_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    SIM_ENTER(cuMemGetInfo_v2);
    if (free == nullptr && total == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    if (free != nullptr)
        *free = device_memory - bytes_in_use();
    if (total != nullptr)
        *total = device_memory;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
    SIM_ENTER(cuMemAlloc_v2);
    return allocate_into(dptr, bytesize, Origin::device);
}

SIM_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pitch, size_t width, size_t height,
                                       unsigned int element_size) {
    SIM_ENTER(cuMemAllocPitch_v2);
    if (dptr == nullptr || pitch == nullptr || width == 0 || height == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (element_size != 4 && element_size != 8 && element_size != 16)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t row = (width + 511) / 512 * 512;
    const CUresult code = allocate_into(dptr, row * height, Origin::device);
    if (code == CUDA_SUCCESS)
        *pitch = row;
    return code;
}

SIM_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
    SIM_ENTER(cuMemAllocManaged);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate_into(dptr, bytesize, Origin::managed);
}

SIM_EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr) {
    SIM_ENTER(cuMemFree_v2);
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    if (dptr == 0)
        return CUDA_SUCCESS;
    const Block* block = block_starting_at(dptr);
    if (block == nullptr || memory_type(*block) == CU_MEMORYTYPE_HOST || block->origin == Origin::mapped) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    release(dptr);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr dptr) {
    SIM_ENTER(cuMemGetAddressRange_v2);
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    const Block* block = block_at(dptr);
    if (block == nullptr)
        return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr)
        *base = block->start;
    if (size != nullptr)
        *size = block->size;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) {
    SIM_ENTER(cuMemAllocHost_v2);
    return allocate_into(reinterpret_cast<CUdeviceptr*>(pp), bytesize, Origin::host);
}

SIM_EXPORT CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int flags) {
    SIM_ENTER(cuMemHostAlloc);
    if (flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return allocate_into(reinterpret_cast<CUdeviceptr*>(pp), bytesize, Origin::host);
}

SIM_EXPORT CUresult cuMemFreeHost(void* p) {
    SIM_ENTER(cuMemFreeHost);
    return free_host(p);
}

SIM_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* p, unsigned int flags) {
    SIM_ENTER(cuMemHostGetDevicePointer_v2);
    if (out == nullptr || p == nullptr || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Block* block = block_at(reinterpret_cast<CUdeviceptr>(p));
    if (block == nullptr || memory_type(*block) != CU_MEMORYTYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUdeviceptr>(p);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemHostGetFlags(unsigned int* flags, void* p) {
    SIM_ENTER(cuMemHostGetFlags);
    if (flags == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Block* block = block_at(reinterpret_cast<CUdeviceptr>(p));
    if (block == nullptr || memory_type(*block) != CU_MEMORYTYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int flags) {
    SIM_ENTER(cuMemHostRegister);
    return register_host(p, bytesize, flags);
}

SIM_EXPORT CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int flags) {
    SIM_ENTER(cuMemHostRegister_v2);
    return register_host(p, bytesize, flags);
}

SIM_EXPORT CUresult cuMemHostUnregister(void* p) {
    SIM_ENTER(cuMemHostUnregister);
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    const Block* block = block_starting_at(reinterpret_cast<CUdeviceptr>(p));
    if (block == nullptr || block->origin != Origin::registered)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    remove_block(block->start);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    SIM_ENTER(cuPointerGetAttribute);
    if (data == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Block* block = block_at(ptr);
    if (block == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return attribute_of(data, attribute, *block, ptr);
}

/// Unknown pointers are no error here: outputs are zero then, but for the range, which stays what it was.
SIM_EXPORT CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                           CUdeviceptr ptr) {
    SIM_ENTER(cuPointerGetAttributes);
    if (count == 0 || attributes == nullptr || data == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Block* block = block_at(ptr);
    for (unsigned i = 0; i < count; ++i) {
        if (attributes[i] <= 0 || attributes[i] > CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID)
            return CUDA_ERROR_INVALID_VALUE;
        if (data[i] == nullptr)
            continue;
        if (block != nullptr && attribute_of(data[i], attributes[i], *block, ptr) == CUDA_SUCCESS)
            continue;
        switch (attributes[i]) {
            case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            case CU_POINTER_ATTRIBUTE_MAPPED:
            case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
                std::memset(data[i], 0, 4);
                break;
            case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                store(data[i], -2);  // CU_DEVICE_INVALID
                break;
            case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
                break;
            default:
                std::memset(data[i], 0, 8);
        }
    }
    return CUDA_SUCCESS;
}
