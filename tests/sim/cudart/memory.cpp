// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

using simrt::address;
using simrt::keep;

SIMRT_API cudaError_t cudaMalloc(void** pointer, size_t size) {
    if (size == 0 &&
        pointer != nullptr) {  // a success that the driver, for which 0 bytes are an error, does not hear of
        *pointer = nullptr;
        return keep(simrt::Ready().error);
    }
    SIMRT_FORWARD(driver->cuMemAlloc_v2, reinterpret_cast<CUdeviceptr*>(pointer), size);
}

SIMRT_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    SIMRT_FORWARD(driver->cuMemAllocPitch_v2, reinterpret_cast<CUdeviceptr*>(pointer), pitch, width, height, 4u);
}

SIMRT_API cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
    SIMRT_FORWARD(driver->cuMemAllocManaged, reinterpret_cast<CUdeviceptr*>(pointer), size, flags);
}

SIMRT_API cudaError_t cudaFree(void* pointer) {
    // Also of a null pointer, the well-known way to initialise: in a capture that is as unsafe as any other free.
    SIMRT_FORWARD(driver->cuMemFree_v2, address(pointer));
}

SIMRT_API cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
    SIMRT_FORWARD(driver->cuMemHostAlloc, pointer, size, flags);
}

// The real library asks the driver for cuMemHostAlloc only, never for cuMemAllocHost.
SIMRT_API cudaError_t cudaMallocHost(void** pointer, size_t size) {
    SIMRT_FORWARD(driver->cuMemHostAlloc, pointer, size, 0u);
}

SIMRT_API cudaError_t cudaFreeHost(void* pointer) {
    const simrt::Ready ready;
    if (ready.failed() || pointer == nullptr) {
        return keep(ready.error);
    }
    return keep(simrt::call(ready.driver->cuMemFreeHost, pointer));
}

SIMRT_TWIN(cudaMallocAsync, _ptsz, (void** pointer, size_t size, cudaStream_t stream), (pointer, size, stream)) {
    SIMRT_FORWARD(PICK(cuMemAllocAsync), reinterpret_cast<CUdeviceptr*>(pointer), size, stream);
}

SIMRT_TWIN(cudaFreeAsync, _ptsz, (void* pointer, cudaStream_t stream), (pointer, stream)) {
    SIMRT_FORWARD(PICK(cuMemFreeAsync), address(pointer), stream);
}

SIMRT_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    SIMRT_FORWARD(driver->cuMemGetInfo_v2, free, total);
}

SIMRT_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    SIMRT_FORWARD(driver->cuDeviceGetDefaultMemPool, reinterpret_cast<CUmemoryPool*>(pool), device);
}

SIMRT_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    SIMRT_FORWARD(driver->cuMemPoolSetAttribute, pool, static_cast<CUmemPool_attribute>(attribute), value);
}

SIMRT_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    SIMRT_FORWARD(driver->cuMemPoolTrimTo, pool, bytes);
}

SIMRT_TWIN(cudaMemcpy, _ptds, (void* to, const void* from, size_t count, cudaMemcpyKind kind),
           (to, from, count, kind)) {
    switch (kind) {
        case cudaMemcpyHostToDevice:
            SIMRT_FORWARD(PICK(cuMemcpyHtoD_v2), address(to), from, count);
        case cudaMemcpyDeviceToHost:
            SIMRT_FORWARD(PICK(cuMemcpyDtoH_v2), to, address(from), count);
        case cudaMemcpyDeviceToDevice:
            SIMRT_FORWARD(PICK(cuMemcpyDtoD_v2), address(to), address(from), count);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            SIMRT_FORWARD(PICK(cuMemcpy), address(to), address(from), count);
    }
    return keep(cudaErrorInvalidMemcpyDirection);
}

SIMRT_TWIN(cudaMemcpyAsync, _ptsz, (void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t stream),
           (to, from, count, kind, stream)) {
    switch (kind) {
        case cudaMemcpyHostToDevice:
            SIMRT_FORWARD(PICK(cuMemcpyHtoDAsync_v2), address(to), from, count, stream);
        case cudaMemcpyDeviceToHost:
            SIMRT_FORWARD(PICK(cuMemcpyDtoHAsync_v2), to, address(from), count, stream);
        case cudaMemcpyDeviceToDevice:
            SIMRT_FORWARD(PICK(cuMemcpyDtoDAsync_v2), address(to), address(from), count, stream);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            SIMRT_FORWARD(PICK(cuMemcpyAsync), address(to), address(from), count, stream);
    }
    return keep(cudaErrorInvalidMemcpyDirection);
}

static bool from_host(cudaMemcpyKind kind) {
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
}
static bool to_host(cudaMemcpyKind kind) {
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
}

static CUDA_MEMCPY2D rectangle(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                               size_t height, cudaMemcpyKind kind) {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                         : from_host(kind)         ? CU_MEMORYTYPE_HOST
                                                   : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                         : to_host(kind)           ? CU_MEMORYTYPE_HOST
                                                   : CU_MEMORYTYPE_DEVICE;
    if (copy.srcMemoryType == CU_MEMORYTYPE_HOST) {
        copy.srcHost = from;
    } else {
        copy.srcDevice = address(from);
    }
    if (copy.dstMemoryType == CU_MEMORYTYPE_HOST) {
        copy.dstHost = to;
    } else {
        copy.dstDevice = address(to);
    }
    copy.srcPitch = from_pitch;
    copy.dstPitch = to_pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    return copy;
}

SIMRT_TWIN(cudaMemcpy2D, _ptds,
           (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
            cudaMemcpyKind kind),
           (to, to_pitch, from, from_pitch, width, height, kind)) {
    const CUDA_MEMCPY2D copy = rectangle(to, to_pitch, from, from_pitch, width, height, kind);
    SIMRT_FORWARD(PICK(cuMemcpy2DUnaligned_v2), &copy);
}

SIMRT_TWIN(cudaMemcpy2DAsync, _ptsz,
           (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
            cudaMemcpyKind kind, cudaStream_t stream),
           (to, to_pitch, from, from_pitch, width, height, kind, stream)) {
    const CUDA_MEMCPY2D copy = rectangle(to, to_pitch, from, from_pitch, width, height, kind);
    SIMRT_FORWARD(PICK(cuMemcpy2DAsync_v2), &copy, stream);
}

SIMRT_TWIN(cudaMemset, _ptds, (void* pointer, int value, size_t count), (pointer, value, count)) {
    SIMRT_FORWARD(PICK(cuMemsetD8_v2), address(pointer), static_cast<unsigned char>(value), count);
}

SIMRT_TWIN(cudaMemsetAsync, _ptsz, (void* pointer, int value, size_t count, cudaStream_t stream),
           (pointer, value, count, stream)) {
    SIMRT_FORWARD(PICK(cuMemsetD8Async), address(pointer), static_cast<unsigned char>(value), count, stream);
}

SIMRT_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const simrt::Ready ready;
    if (ready.failed()) {
        return keep(ready.error);
    }
    unsigned int type = 0;
    unsigned int managed = 0;
    int device = 0;
    CUdeviceptr on_device = 0;
    void* on_host = nullptr;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* where[] = {&type, &managed, &device, &on_device, &on_host};
    const cudaError_t error =
        simrt::call(ready.driver->cuPointerGetAttributes, 5u, &which[0], &where[0], address(pointer));
    if (error != cudaSuccess) {
        return keep(error);
    }
    *attributes = {};
    attributes->type = managed != 0                   ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                                      : cudaMemoryTypeUnregistered;
    const bool known = attributes->type != cudaMemoryTypeUnregistered;
    attributes->device = known ? device : -2;
    attributes->devicePointer = reinterpret_cast<void*>(on_device);
    attributes->hostPointer = known ? on_host : const_cast<void*>(pointer);
    return cudaSuccess;
}
