// SPDX-License-Identifier: Apache-2.0
// Which allocation an address belongs to, and when that changes.
#include <algorithm>
#include <list>

#include "fixture.h"

using namespace conformance;

namespace {

struct Identity {
    CUresult code;
    unsigned long long id = 0;
};

Identity identity(CUdeviceptr address) {
    Identity found;
    found.code = CU(cuPointerGetAttribute)(static_cast<void*>(&found.id), CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
    return found;
}

template <class T>
T attribute(CUdeviceptr address, CUpointer_attribute which, CUresult* code) {
    T value = {};
    *code = CU(cuPointerGetAttribute)(static_cast<void*>(&value), which, address);
    return value;
}

/// start, size and what else the shim asks for.
void describe(Out& out, CUdeviceptr start, size_t size, CUdeviceptr asked) {
    CUresult code;
    const auto found_start = attribute<CUdeviceptr>(asked, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, &code);
    out("start", code);
    out("is_start", found_start == start);
    const auto found_size = attribute<size_t>(asked, CU_POINTER_ATTRIBUTE_RANGE_SIZE, &code);
    out("size", code);
    out("is_size", found_size == size);
    const auto type = attribute<unsigned>(asked, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &code);
    out("type", code != CUDA_SUCCESS ? -static_cast<long long>(code) : type);
    const auto managed = attribute<unsigned>(asked, CU_POINTER_ATTRIBUTE_IS_MANAGED, &code);
    out("managed", code != CUDA_SUCCESS ? -static_cast<long long>(code) : managed);
    const auto ordinal = attribute<int>(asked, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, &code);
    out("ordinal", code != CUDA_SUCCESS ? -static_cast<long long>(code) : ordinal);
    const auto context = attribute<CUcontext>(asked, CU_POINTER_ATTRIBUTE_CONTEXT, &code);
    out("context", code);
    out("is_primary", context == primary());
    attribute<void*>(asked, CU_POINTER_ATTRIBUTE_HOST_POINTER, &code);
    out("host_pointer", code);
    attribute<CUdeviceptr>(asked, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, &code);
    out("device_pointer", code);
}

/// The rules that hold for every way to have memory: an id, the same inside, gone after the free, another one later.
template <class Allocate, class Free>
void life(Out& out, size_t size, Allocate allocate, Free free) {
    const CUdeviceptr p = allocate();
    const Identity first = identity(p);
    out("id", first.code);
    out("inside", identity(p + size / 2).id == first.id);
    out("last_byte", identity(p + size - 1).id == first.id);
    describe(out, p, size, p + size / 2);
    free(p);
    out("after_free", identity(p).code);
    const CUdeviceptr q = allocate();
    const Identity second = identity(q);
    out("again", second.code);
    out("other_id", second.id != first.id);
    out("same_address", q == p);
    free(q);
}

/// Addresses for two mappings of the least size, and memory for them. Nothing is mapped at first.
struct Reservation {
    CUmemAllocationProp properties = {};
    size_t size = 0;  // of one mapping
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle memory[2] = {};

    Reservation() {
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        MUST(CU(cuMemGetAllocationGranularity)(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        MUST(CU(cuMemAddressReserve)(&base, 2 * size, size_t{0}, CUdeviceptr{0}, 0ull));
        for (CUmemGenericAllocationHandle& handle : memory)
            MUST(CU(cuMemCreate)(&handle, size, &properties, 0ull));
    }
    /// Not by a destructor, which could not say that the driver refused.
    void release() {
        for (CUmemGenericAllocationHandle handle : memory)
            MUST(CU(cuMemRelease)(handle));
        MUST(CU(cuMemAddressFree)(base, 2 * size));
    }
    void map(size_t which) { MUST(CU(cuMemMap)(base + which * size, size, size_t{0}, memory[which], 0ull)); }
    void unmap(size_t which) { MUST(CU(cuMemUnmap)(base + which * size, size)); }
};

}  // namespace

PROBE("identity.cuMemAlloc") {
    life(
        out, 4096,
        [] {
            CUdeviceptr p = 0;
            MUST(CU(cuMemAlloc_v2)(&p, size_t{4096}));
            return p;
        },
        [](CUdeviceptr p) { MUST(CU(cuMemFree_v2)(p)); });
}
PROBE("identity.cuMemAllocManaged") {
    CUdeviceptr p = 0;
    MUST(CU(cuMemAllocManaged)(&p, size_t{4096}, 1u));
    out("id", identity(p).code);
    describe(out, p, 4096, p + 8);
    MUST(CU(cuMemFree_v2)(p));
    out("after_free", identity(p).code);
}
PROBE("identity.cuMemHostAlloc") {
    life(
        out, 4096,
        [] {
            void* p = nullptr;
            MUST(CU(cuMemHostAlloc)(&p, size_t{4096}, 0u));
            return reinterpret_cast<CUdeviceptr>(p);
        },
        [](CUdeviceptr p) { MUST(CU(cuMemFreeHost)(reinterpret_cast<void*>(p))); });
}
PROBE("identity.cuMemAllocAsync") {
    const Stream stream;
    CUdeviceptr p = 0;
    MUST(CU(cuMemAllocAsync)(&p, size_t{4096}, static_cast<CUstream>(stream)));
    const Identity first = identity(p);
    out("id", first.code);
    out("inside", identity(p + 100).id == first.id);
    describe(out, p, 4096, p + 100);
    MUST(CU(cuMemFreeAsync)(p, static_cast<CUstream>(stream)));
    out("after_free_before_sync", identity(p).code);
    CUdeviceptr q = 0;
    MUST(CU(cuMemAllocAsync)(&q, size_t{4096}, static_cast<CUstream>(stream)));
    out("same_address", p == q);
    out("other_id", identity(q).id != first.id);
    MUST(CU(cuMemFreeAsync)(q, static_cast<CUstream>(stream)));
    MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
}
PROBE("identity.virtual") {
    Reservation place;
    const CUdeviceptr p = place.base;
    const size_t size = place.size;
    out("reserved", identity(p).code);
    place.map(0);
    const Identity first = identity(p);
    out("mapped", first.code);
    out("inside", identity(p + size / 2).id == first.id);
    out("behind", identity(p + size).code);
    describe(out, p, size, p);
    CUresult code;
    const auto range = attribute<size_t>(p, CU_POINTER_ATTRIBUTE_RANGE_SIZE, &code);
    out("granules", static_cast<long long>(range / size));
    CUmemAccessDesc access = {};
    access.location = place.properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    out("set_access", CU(cuMemSetAccess)(p, size, static_cast<const CUmemAccessDesc*>(&access), size_t{1}));
    attribute<CUdeviceptr>(p, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, &code);
    out("device_pointer_then", code);
    out("same_id_then", identity(p).id == first.id);
    place.unmap(0);
    out("unmapped", identity(p).code);
    place.map(0);
    const Identity second = identity(p);
    out("mapped_again", second.code);
    out("other_id", second.id != first.id);
    place.unmap(0);
    place.release();
}
// Each mapping has an id of its own, and the range of the whole reservation.
PROBE("identity.two_mappings") {
    Reservation place;
    const CUdeviceptr p = place.base;
    const size_t size = place.size;
    place.map(0);
    place.map(1);
    const Identity first = identity(p);
    const Identity second = identity(p + size + 64);
    out("first", first.code);
    out("second", second.code);
    out("other_id", second.id != first.id);
    CUresult code;
    for (const size_t at : {size_t{0}, size + 64}) {
        out("start",
            static_cast<long long>(attribute<CUdeviceptr>(p + at, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, &code) - p));
        out("granules",
            static_cast<long long>(attribute<size_t>(p + at, CU_POINTER_ATTRIBUTE_RANGE_SIZE, &code) / size));
    }
    place.unmap(0);
    out("first_unmapped", identity(p).code);
    out("second_stays", identity(p + size).id == second.id);
    place.unmap(1);
    place.release();
}
PROBE("identity.registered") {
    alignas(4096) static char host[8192];
    const auto p = reinterpret_cast<CUdeviceptr>(host);
    out("before", identity(p).code);
    MUST(CU(cuMemHostRegister_v2)(static_cast<void*>(host), size_t{4096}, 0u));
    out("registered", identity(p).code);
    out("inside", identity(p + 100).code);
    out("twice", CU(cuMemHostRegister_v2)(static_cast<void*>(host), size_t{4096}, 0u));
    MUST(CU(cuMemHostUnregister)(static_cast<void*>(host)));
    out("after", identity(p).code);
    out("unregister_twice", CU(cuMemHostUnregister)(static_cast<void*>(host)));
}
PROBE("identity.graph_memory") {
    const Stream stream;
    begin(stream);
    CUdeviceptr p = 0;
    MUST(CU(cuMemAllocAsync)(&p, size_t{4096}, static_cast<CUstream>(stream)));
    out("in_capture", identity(p).code);
    MUST(launch_fill(stream, p, 1));
    CUgraph graph = nullptr;
    MUST(CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    out("captured", identity(p).code);
    CUgraphExec exec = nullptr;
    MUST(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0ull));
    out("instantiated", identity(p).code);
    MUST(CU(cuGraphLaunch)(exec, static_cast<CUstream>(stream)));
    MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    out("launched", identity(p).code);
    out("free", CU(cuMemFreeAsync)(p, static_cast<CUstream>(stream)));
    MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    out("freed", identity(p).code);
    MUST(CU(cuGraphExecDestroy)(exec));
    MUST(CU(cuGraphDestroy)(graph));
    out("destroyed", identity(p).code);
}
// Memory that a graph allocates anew at each launch: the address stays, the allocation does not.
PROBE("identity.graph_memory_again") {
    const Stream stream;
    begin(stream);
    CUdeviceptr p = 0;
    MUST(CU(cuMemAllocAsync)(&p, size_t{4096}, static_cast<CUstream>(stream)));
    MUST(launch_fill(stream, p, 1));
    CUgraph graph = nullptr;
    MUST(CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    CUgraphExec exec = nullptr;
    MUST(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0ull));
    MUST(CU(cuGraphLaunch)(exec, static_cast<CUstream>(stream)));
    MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    const auto first = identity(p);
    MUST(CU(cuMemFreeAsync)(p, static_cast<CUstream>(stream)));
    MUST(CU(cuGraphLaunch)(exec, static_cast<CUstream>(stream)));
    MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    const auto second = identity(p);
    out("launched_again", second.code);
    out("new_id", first.code == CUDA_SUCCESS && first.id != second.id);
    MUST(CU(cuMemFreeAsync)(p, static_cast<CUstream>(stream)));
    MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream)));
    MUST(CU(cuGraphExecDestroy)(exec));
    MUST(CU(cuGraphDestroy)(graph));
}
PROBE("identity.strangers") {
    int local = 0;
    out("stack", identity(reinterpret_cast<CUdeviceptr>(&local)).code);
    out("zero", identity(0).code);
    out("small", identity(4096).code);
    out("high", identity(0x7fffffffff000000ull).code);
    const Buffer buffer;
    unsigned long long value = 0;
    out("no_attribute", CU(cuPointerGetAttribute)(static_cast<void*>(&value), static_cast<CUpointer_attribute>(0),
                                                  static_cast<CUdeviceptr>(buffer)));
    out("unknown_attribute",
        CU(cuPointerGetAttribute)(static_cast<void*>(&value), static_cast<CUpointer_attribute>(999),
                                  static_cast<CUdeviceptr>(buffer)));
}
PROBE("identity.many_attributes") {
    const Buffer buffer;
    unsigned long long id = 7, local = 0;
    CUdeviceptr start = 7;
    size_t size = 7;
    unsigned type = 7;
    int ordinal = 7;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* data[] = {&id, &start, &size, &type, &ordinal};
    out("device", CU(cuPointerGetAttributes)(5u, which, data, static_cast<CUdeviceptr>(buffer) + 4));
    out("has_id", id != 0);
    out("is_start", start == static_cast<CUdeviceptr>(buffer));
    out("size", static_cast<long long>(size));
    out("type", type);
    out("ordinal", ordinal);
    id = start = size = type = 7;
    ordinal = 7;
    out("stack", CU(cuPointerGetAttributes)(5u, which, data, reinterpret_cast<CUdeviceptr>(&local)));
    out("id", static_cast<long long>(id));
    out("start", static_cast<long long>(start));
    out("size", static_cast<long long>(size));
    out("type", type);
    out("ordinal", ordinal);
    out("none", CU(cuPointerGetAttributes)(0u, which, data, static_cast<CUdeviceptr>(buffer)));
}
PROBE("identity.neighbours") {
    // Two small blocks side by side: the end of one is the start of the other, and still two ids. Several, since the
    // first fill the gaps that other probes left.
    std::list<Buffer> buffers;
    while (buffers.size() < 16)
        buffers.emplace_back(128);
    std::vector<CUdeviceptr> starts(buffers.begin(), buffers.end());
    std::sort(starts.begin(), starts.end());
    const auto low = std::adjacent_find(starts.begin(), starts.end(), [](auto a, auto b) { return b - a == 512; });
    out("adjacent", low != starts.end());
    if (low == starts.end())
        return;
    out("ids_differ", identity(low[0]).id != identity(low[1]).id);
    out("end_of_low_is_high", identity(low[0] + 512).id == identity(low[1]).id);
}
PROBE("identity.address_range") {
    const Buffer buffer;
    CUdeviceptr start = 0;
    size_t size = 0;
    out("code", CU(cuMemGetAddressRange_v2)(&start, &size, static_cast<CUdeviceptr>(buffer) + 8));
    out("is_start", start == static_cast<CUdeviceptr>(buffer));
    out("size", static_cast<long long>(size));
    int local = 0;
    out("stack", CU(cuMemGetAddressRange_v2)(&start, &size, reinterpret_cast<CUdeviceptr>(&local)));
}
