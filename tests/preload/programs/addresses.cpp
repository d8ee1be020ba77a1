// SPDX-License-Identifier: Apache-2.0
// Addresses that come to belong to other memory, or to the same memory anew. `second`, `across` and the two that end in
// `_gone` have one mistake, the others none:
//   second      a graph reads two mappings of one reservation, the second of which is unmapped
//   across      a graph sets memory from the first of them into the second, which is unmapped
//   first       the first is unmapped, after its node was pointed at the second
//   managed     managed memory of a graph is freed, and its addresses become pageable memory, which another graph reads
//   mapped      the same with memory that is unmapped
//   managed_gone, mapped_gone  nothing takes the addresses, and the other graph is made to read what is gone
//   registered  host memory of a graph is unregistered and registered again, and another graph made on it
#include <sys/mman.h>

#include <cstring>

#include "made_graph.h"

namespace {

constexpr size_t mapping_bytes = size_t{2} << 20;

CUmemAllocationProp properties() {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return wanted;
}

/// A reservation, with `count` mappings side by side.
CUdeviceptr map(size_t count) {
    const auto reserve = driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
    const auto create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
    const auto map_at = driver_function<decltype(cuMemMap)>("cuMemMap");
    const auto set_access = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");
    const CUmemAllocationProp wanted = properties();
    CUmemAccessDesc access{};
    access.location = wanted.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUdeviceptr base = 0;
    must("cuMemAddressReserve", reserve(&base, count * mapping_bytes, 0, 0, 0));
    for (size_t i = 0; i < count; ++i) {
        CUmemGenericAllocationHandle handle = 0;
        must("cuMemCreate", create(&handle, mapping_bytes, &wanted, 0));
        must("cuMemMap", map_at(base + i * mapping_bytes, mapping_bytes, 0, handle, 0));
    }
    must("cuMemSetAccess", set_access(base, count * mapping_bytes, &access, 1));
    return base;
}

void unmap(CUdeviceptr base) {
    say("cuMemUnmap", driver_function<decltype(cuMemUnmap)>("cuMemUnmap")(base, mapping_bytes));
}

void* map_pages(void* at, int further_flags) {
    void* const got =
        mmap(at, mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | further_flags, -1, 0);
    if (got == MAP_FAILED)
        std::exit(93);
    return got;
}

CUgraphExec graph_that_copies(const Scene& scene, const void* from) {
    const CUgraph graph = empty_graph();
    add_copy(graph, scene, from);
    return exec_of(scene, graph);
}

void two_mappings(Scene& scene, bool second_goes) {
    const CUdeviceptr first = map(2), second = first + mapping_bytes;
    const CUgraph graph = empty_graph();
    const CUgraphNode node = add_kernel(graph, Scale(scene, first));
    add_kernel(graph, Scale(scene, second + 64));
    scene.exec = exec_of(scene, graph);
    scene.replay("both mapped");
    if (second_goes) {
        unmap(second);
    } else {
        set_kernel(scene.exec, node, Scale(scene, second));
        unmap(first);
    }
    scene.replay("one mapped");
}

void set_across(Scene& scene) {
    const auto add = driver_function<decltype(cuGraphAddMemsetNode)>("cuGraphAddMemsetNode");
    const CUdeviceptr first = map(2), second = first + mapping_bytes;
    const CUgraph graph = empty_graph();
    CUDA_MEMSET_NODE_PARAMS set{};
    set.dst = second - Scene::bytes;
    set.elementSize = 1;
    set.width = 2 * Scene::bytes;
    set.height = 1;
    CUgraphNode node = nullptr;
    must("cuGraphAddMemsetNode", add(&node, graph, nullptr, 0, &set, scene.context));
    scene.exec = exec_of(scene, graph);
    scene.replay("both mapped");
    unmap(second);
    say("cuGraphLaunch", scene.cu.launch(scene.exec, scene.stream));
}

void lose(Scene& scene, bool by_mapping, bool become_pageable) {
    CUdeviceptr base = 0;
    if (by_mapping)
        base = map(1);
    else
        must("cuMemAllocManaged", driver_function<decltype(cuMemAllocManaged)>("cuMemAllocManaged")(
                                      &base, mapping_bytes, CU_MEM_ATTACH_GLOBAL));
    scene.exec = scene.graph_of(base, scene.output, scene.stream);
    scene.replay("the graph of the driver's memory");
    if (by_mapping) {
        unmap(base);
        say("cuMemAddressFree", driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree")(base, mapping_bytes));
    } else {
        say("cuMemFree", scene.cu.free(base));
    }
    if (!become_pageable) {
        const CUgraph graph = empty_graph();
        add_kernel(graph, Scale(scene, base));
        scene.exec = exec_of(scene, graph);
        scene.replay("the graph of what is gone");
        return;
    }
    void* const pages = map_pages(reinterpret_cast<void*>(base), MAP_FIXED);
    std::memset(pages, 0, mapping_bytes);
    scene.exec = graph_that_copies(scene, pages);
    scene.replay("the graph of the pages");
}

void register_again(Scene& scene) {
    const auto enter = driver_function<decltype(cuMemHostRegister_v2)>("cuMemHostRegister_v2");
    const auto leave = driver_function<decltype(cuMemHostUnregister)>("cuMemHostUnregister");
    void* const pages = map_pages(nullptr, 0);
    must("cuMemHostRegister", enter(pages, mapping_bytes, 0));
    scene.exec = graph_that_copies(scene, pages);
    const CUgraphExec before = scene.exec;
    scene.replay("the first graph");
    say("cuMemHostUnregister", leave(pages));
    say("cuMemHostRegister", enter(pages, mapping_bytes, 0));
    scene.exec = graph_that_copies(scene, pages);
    scene.replay("the second graph");
    scene.exec = before;
    scene.replay("the first graph");
}

}  // namespace

int main(int argc, char** argv) {
    const Way way(argc, argv, "second");
    static Scene scene;
    scene.open();
    scene.output = scene.buffer(0.0f);
    if (way.is("first") || way.is("second"))
        two_mappings(scene, way.is("second"));
    else if (way.is("across"))
        set_across(scene);
    else if (way.is("registered"))
        register_again(scene);
    else
        lose(scene, way.is("mapped") || way.is("mapped_gone"), way.is("managed") || way.is("mapped"));
    return 0;
}
