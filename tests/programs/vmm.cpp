// SPDX-License-Identifier: Apache-2.0
// Memory by address reservation: mapped, captured, unmapped, and mapped again at the same address with another handle.
// The address is live at every replay (a GPU faults otherwise), but it is not the memory that was captured.
#include "common.h"
#include "driver_entry.h"

namespace {

CUmemAllocationProp properties() {
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.location.id = 0;
    return wanted;
}

CUmemGenericAllocationHandle create(std::size_t size) {
    const CUmemAllocationProp wanted = properties();
    CUmemGenericAllocationHandle handle = 0;
    MUST(CU(cuMemCreate)(&handle, size, &wanted, 0ull));
    return handle;
}

void map(CUdeviceptr address, std::size_t size, CUmemGenericAllocationHandle handle) {
    CUmemAccessDesc access = {};
    access.location = properties().location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUmemAccessDesc* pointer = &access;
    show("cuMemMap", CU(cuMemMap)(address, size, std::size_t{0}, handle, 0ull));
    MUST(CU(cuMemSetAccess)(address, size, pointer, std::size_t{1}));
}

}  // namespace

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    const CUmemAllocationProp wanted = properties();
    std::size_t size = 0;
    MUST(CU(cuMemGetAllocationGranularity)(&size, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr address = 0;
    MUST(CU(cuMemAddressReserve)(&address, size, std::size_t{0}, CUdeviceptr{0}, 0ull));
    const CUmemGenericAllocationHandle first = create(size);
    const CUmemGenericAllocationHandle second = create(size);
    map(address, size, first);

    float* input = reinterpret_cast<float*>(address);
    float* output = allocate();
    fill(input, 1, stream);
    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_scale", stream, input, output, 2.0f, count)); });
    replay("first mapping", exec, stream);
    show_value("output", output, stream);

    show("cuMemUnmap", CU(cuMemUnmap)(address, size));
    map(address, size, second);
    fill(input, 8, stream);
    replay("second mapping", exec, stream);
    show_value("output", output, stream);

    MUST(gpu::exec_destroy(exec));
    show("cuMemUnmap", CU(cuMemUnmap)(address, size));
    MUST(CU(cuMemRelease)(first));
    MUST(CU(cuMemRelease)(second));
    MUST(CU(cuMemAddressFree)(address, size));
    MUST(gpu::free(output));
    return 0;
}
