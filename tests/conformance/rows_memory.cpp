// SPDX-License-Identifier: Apache-2.0
// Success and error of the rows about memory and code.
#include "fixture.h"

using namespace conformance;

namespace {

const CUstream default_stream = nullptr;
constexpr size_t too_much = size_t{1} << 50;

CUmemoryPool default_pool() {
    CUmemoryPool pool = nullptr;
    MUST(CU(cuDeviceGetDefaultMemPool)(&pool, 0));
    return pool;
}

/// Physical memory and an address range, one granule each.
struct Virtual {
    Virtual() {
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop.location.id = 0;
        MUST(CU(cuMemGetAllocationGranularity)(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        MUST(CU(cuMemAddressReserve)(&start, size, size_t{0}, CUdeviceptr{0}, 0ull));
        MUST(CU(cuMemCreate)(&handle, size, &prop, 0ull));
    }
    ~Virtual() {
        CU(cuMemRelease)(handle);
        CU(cuMemAddressFree)(start, size);
    }
    CUmemAllocationProp prop = {};
    size_t size = 0;
    CUdeviceptr start = 0;
    CUmemGenericAllocationHandle handle = 0;
};

}  // namespace

PROBE("cuMemAlloc_v2.success") {
    CUdeviceptr p = 0;
    out("alloc", CU(cuMemAlloc_v2)(&p, size_t{256}));
    out("aligned", p != 0 && p % 256 == 0);
    out("free", CU(cuMemFree_v2)(p));
}
PROBE("cuMemAlloc_v2.error") {
    CUdeviceptr p = 0;
    out("zero", CU(cuMemAlloc_v2)(&p, size_t{0}));
    out("too_much", CU(cuMemAlloc_v2)(&p, too_much));
}
PROBE("cuMemAllocPitch_v2.success") {
    CUdeviceptr p = 0;
    size_t pitch = 0;
    out("alloc", CU(cuMemAllocPitch_v2)(&p, &pitch, size_t{100}, size_t{4}, 4u));
    out("wide_enough", pitch >= 100);
    out("free", CU(cuMemFree_v2)(p));
}
PROBE("cuMemAllocPitch_v2.error") {
    CUdeviceptr p = 0;
    size_t pitch = 0;
    out("no_width", CU(cuMemAllocPitch_v2)(&p, &pitch, size_t{0}, size_t{4}, 4u));
    out("element", CU(cuMemAllocPitch_v2)(&p, &pitch, size_t{100}, size_t{4}, 3u));
    if (p != 0)
        CU(cuMemFree_v2)(p);
}
PROBE("cuMemAllocManaged.success") {
    CUdeviceptr p = 0;
    out("alloc", CU(cuMemAllocManaged)(&p, size_t{256}, static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL)));
    out("free", CU(cuMemFree_v2)(p));
}
PROBE("cuMemAllocManaged.error") {
    CUdeviceptr p = 0;
    out("zero", CU(cuMemAllocManaged)(&p, size_t{0}, static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL)));
    out("flags", CU(cuMemAllocManaged)(&p, size_t{256}, 77u));
}

#define ASYNC(suffix)                                                                                      \
    PROBE("cuMemAllocAsync" #suffix ".success") {                                                          \
        CUdeviceptr p = 0;                                                                                 \
        out("alloc", CU(cuMemAllocAsync##suffix)(&p, size_t{256}, default_stream));                        \
        out("free", CU(cuMemFreeAsync##suffix)(p, default_stream));                                        \
    }                                                                                                      \
    PROBE("cuMemAllocAsync" #suffix ".error") {                                                            \
        CUdeviceptr p = 0;                                                                                 \
        out("too_much", CU(cuMemAllocAsync##suffix)(&p, too_much, default_stream));                        \
    }                                                                                                      \
    PROBE("cuMemAllocFromPoolAsync" #suffix ".success") {                                                  \
        CUdeviceptr p = 0;                                                                                 \
        const CUmemoryPool pool = default_pool();                                                          \
        out("alloc", CU(cuMemAllocFromPoolAsync##suffix)(&p, size_t{256}, pool, default_stream));          \
        out("free", CU(cuMemFreeAsync##suffix)(p, default_stream));                                        \
    }                                                                                                      \
    PROBE("cuMemAllocFromPoolAsync" #suffix ".error") {                                                    \
        CUdeviceptr p = 0;                                                                                 \
        const CUmemoryPool pool = default_pool();                                                          \
        out("too_much", CU(cuMemAllocFromPoolAsync##suffix)(&p, too_much, pool, default_stream));          \
    }                                                                                                      \
    PROBE("cuMemFreeAsync" #suffix ".success") {                                                           \
        CUdeviceptr p = 0;                                                                                 \
        MUST(CU(cuMemAllocAsync)(&p, size_t{256}, default_stream));                                        \
        out("free", CU(cuMemFreeAsync##suffix)(p, default_stream));                                        \
        CUdeviceptr ordinary = 0;                                                                          \
        MUST(CU(cuMemAlloc_v2)(&ordinary, size_t{256}));                                                   \
        out("of_cuMemAlloc", CU(cuMemFreeAsync##suffix)(ordinary, default_stream));                        \
    }                                                                                                      \
    PROBE("cuMemFreeAsync" #suffix ".error") {                                                             \
        out("null", CU(cuMemFreeAsync##suffix)(CUdeviceptr{0}, default_stream));                           \
        int not_ours = 0;                                                                                  \
        out("host", CU(cuMemFreeAsync##suffix)(reinterpret_cast<CUdeviceptr>(&not_ours), default_stream)); \
        CUdeviceptr p = 0;                                                                                 \
        MUST(CU(cuMemAllocAsync)(&p, size_t{256}, default_stream));                                        \
        MUST(CU(cuMemFreeAsync)(p, default_stream));                                                       \
        out("twice", CU(cuMemFreeAsync##suffix)(p, default_stream));                                       \
    }

ASYNC()
ASYNC(_ptsz)

PROBE("cuMemAllocHost_v2.success") {
    void* p = nullptr;
    out("alloc", CU(cuMemAllocHost_v2)(&p, size_t{256}));
    out("free", CU(cuMemFreeHost)(p));
}
PROBE("cuMemAllocHost_v2.error") {
    void* p = nullptr;
    out("zero", CU(cuMemAllocHost_v2)(&p, size_t{0}));
    out("null", CU(cuMemAllocHost_v2)(nullptr, size_t{256}));
}
PROBE("cuMemHostAlloc.success") {
    void* p = nullptr;
    out("alloc", CU(cuMemHostAlloc)(&p, size_t{256}, 0u));
    out("free", CU(cuMemFreeHost)(p));
}
PROBE("cuMemHostAlloc.error") {
    void* p = nullptr;
    out("flags", CU(cuMemHostAlloc)(&p, size_t{256}, 0xff00u));
    out("zero", CU(cuMemHostAlloc)(&p, size_t{0}, 0u));
}
PROBE("cuMemMap.success") {
    const Virtual v;
    out("map", CU(cuMemMap)(v.start, v.size, size_t{0}, v.handle, 0ull));
    out("unmap", CU(cuMemUnmap)(v.start, v.size));
}
PROBE("cuMemMap.error") {
    const Virtual v;
    out("no_size", CU(cuMemMap)(v.start, size_t{0}, size_t{0}, v.handle, 0ull));
    out("flags", CU(cuMemMap)(v.start, v.size, size_t{0}, v.handle, 1ull));
    out("too_large", CU(cuMemMap)(v.start, 2 * v.size, size_t{0}, v.handle, 0ull));
    MUST(CU(cuMemMap)(v.start, v.size, size_t{0}, v.handle, 0ull));
    out("twice", CU(cuMemMap)(v.start, v.size, size_t{0}, v.handle, 0ull));
    MUST(CU(cuMemUnmap)(v.start, v.size));
}
PROBE("cuMemUnmap.success") {
    const Virtual v;
    MUST(CU(cuMemMap)(v.start, v.size, size_t{0}, v.handle, 0ull));
    out("unmap", CU(cuMemUnmap)(v.start, v.size));
}
PROBE("cuMemUnmap.error") {
    const Virtual v;
    out("not_mapped", CU(cuMemUnmap)(v.start, v.size));
    out("no_size", CU(cuMemUnmap)(v.start, size_t{0}));
    out("unaligned", CU(cuMemUnmap)(v.start + 1, v.size));
}
PROBE("cuMemFree_v2.success") {
    CUdeviceptr p = 0;
    MUST(CU(cuMemAlloc_v2)(&p, size_t{256}));
    out("free", CU(cuMemFree_v2)(p));
    out("null", CU(cuMemFree_v2)(CUdeviceptr{0}));
    MUST(CU(cuMemAllocAsync)(&p, size_t{256}, default_stream));
    out("of_cuMemAllocAsync", CU(cuMemFree_v2)(p));
}
PROBE("cuMemFree_v2.error") {
    CUdeviceptr p = 0;
    MUST(CU(cuMemAlloc_v2)(&p, size_t{256}));
    out("interior", CU(cuMemFree_v2)(p + 4));
    MUST(CU(cuMemFree_v2)(p));
    out("twice", CU(cuMemFree_v2)(p));
    int not_ours = 0;
    out("host", CU(cuMemFree_v2)(reinterpret_cast<CUdeviceptr>(&not_ours)));
}
PROBE("cuMemFreeHost.success") {
    void* p = nullptr;
    MUST(CU(cuMemHostAlloc)(&p, size_t{256}, 0u));
    out("free", CU(cuMemFreeHost)(p));
}
PROBE("cuMemFreeHost.error") {
    int not_ours = 0;
    out("host", CU(cuMemFreeHost)(static_cast<void*>(&not_ours)));
    const Buffer buffer;
    out("device", CU(cuMemFreeHost)(reinterpret_cast<void*>(static_cast<CUdeviceptr>(buffer))));
}

PROBE("cuModuleUnload.success") {
    CUmodule module = nullptr;
    MUST(CU(cuModuleLoadData)(&module, static_cast<const void*>(ptx)));
    out("unload", CU(cuModuleUnload)(module));
}
PROBE("cuModuleUnload.error") {
    out("null", CU(cuModuleUnload)(nullptr));
}
PROBE("cuLibraryUnload.success") {
    CUlibrary library = nullptr;
    MUST(CU(cuLibraryLoadData)(&library, static_cast<const void*>(ptx), nullptr, nullptr, 0u, nullptr, nullptr, 0u));
    out("unload", CU(cuLibraryUnload)(library));
}
PROBE("cuLibraryUnload.error") {
    out("null", CU(cuLibraryUnload)(nullptr));
}
PROBE("cuDevicePrimaryCtxRelease.success") {
    CUcontext context = nullptr;
    MUST(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    out("release", CU(cuDevicePrimaryCtxRelease)(0));
}
PROBE("cuDevicePrimaryCtxRelease.error") {
    out("no_device", CU(cuDevicePrimaryCtxRelease)(4711));
}
PROBE("cuDevicePrimaryCtxRelease_v2.success") {
    CUcontext context = nullptr;
    MUST(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    out("release", CU(cuDevicePrimaryCtxRelease_v2)(0));
}
PROBE("cuDevicePrimaryCtxRelease_v2.error") {
    out("no_device", CU(cuDevicePrimaryCtxRelease_v2)(4711));
}
PROBE("cuDevicePrimaryCtxReset.success") {
    out("reset", CU(cuDevicePrimaryCtxReset)(0));
    context_ended();
}
PROBE("cuDevicePrimaryCtxReset.error") {
    out("no_device", CU(cuDevicePrimaryCtxReset)(4711));
}
PROBE("cuDevicePrimaryCtxReset_v2.success") {
    out("reset", CU(cuDevicePrimaryCtxReset_v2)(0));
    context_ended();
}
PROBE("cuDevicePrimaryCtxReset_v2.error") {
    out("no_device", CU(cuDevicePrimaryCtxReset_v2)(4711));
}
PROBE("cuCtxDestroy_v2.success") {
    CUcontext context = nullptr;
    MUST(CU(cuCtxCreate_v2)(&context, 0u, 0));
    out("destroy", CU(cuCtxDestroy_v2)(context));
    MUST(CU(cuCtxSetCurrent)(primary()));
}
PROBE("cuCtxDestroy_v2.error") {
    out("null", CU(cuCtxDestroy_v2)(nullptr));
}
