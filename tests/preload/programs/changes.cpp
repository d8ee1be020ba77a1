// SPDX-License-Identifier: Apache-2.0
// One graph that is looked at again after its memory died, and execs that change very often. By the first argument:
//   again          the template is instantiated again after the free of its input, and launched
//   update         the exec takes over a template that still refers to the freed memory
//   set            its node is given the address of freed memory
//   ..._recycled   each of these three after the address was given to a younger allocation, which was freed too
//   set_host       its node is given the address of freed pinned memory, as the source of a copy
//   destroy_node   the second of its two nodes is taken out of the template, which the exec does not mind
//   loop N         N times: the node is given a new buffer, which is freed before the launch
//   alternate N    N times: the node is given one buffer, then another; then one launch
//   replaced N     N times: the node is given a new buffer, and the one before is freed; then one launch
//   updates N      N times: the exec takes over a template with one buffer, then one with the other; then one launch
//   kernels N      as alternate, but between a kernel with 8 bytes of parameters and one with 1 KB: memory stays flat
//   many N         N execs of one template, alive at once, launched once each
//   renew N        N nodes with a buffer each: all buffers are freed, then each node is given a new one; then one
//   launch
#include <cstdint>
#include <vector>

#include "made_graph.h"

namespace {

CUgraph graph_of(const Scene& scene, CUdeviceptr in, CUgraphNode* node) {
    const CUgraph graph = empty_graph();
    *node = add_kernel(graph, Scale(scene, in));
    return graph;
}

void point_at(const Scene& scene, CUgraphNode node, CUdeviceptr in) {
    set_kernel(scene.exec, node, Scale(scene, in));
}

// The node copies from pinned memory, which is freed before the node is given the same address again. A neighbour
// lives: so the memory stays mapped, and only the allocator knows that it is gone.
void set_freed_host(Scene& scene) {
    const auto alloc_host = driver_function<decltype(cuMemAllocHost_v2)>("cuMemAllocHost_v2");
    const auto free_host = driver_function<decltype(cuMemFreeHost)>("cuMemFreeHost");
    const auto set = driver_function<decltype(cuGraphExecMemcpyNodeSetParams)>("cuGraphExecMemcpyNodeSetParams");
    void *neighbour = nullptr, *from = nullptr;
    must("cuMemAllocHost", alloc_host(&neighbour, Scene::bytes));
    must("cuMemAllocHost", alloc_host(&from, Scene::bytes));
    const CUgraph graph = empty_graph();
    const CUgraphNode node = add_copy(graph, scene, from);
    const CUDA_MEMCPY3D again = copy_to_output(scene, from);
    scene.exec = exec_of(scene, graph);
    say("cuMemFreeHost", free_host(from));
    say("cuGraphExecMemcpyNodeSetParams", set(scene.exec, node, &again, scene.context));
}

// Every buffer is freed before the first node is given another one.
void renew_all(Scene& scene, size_t count) {
    std::vector<CUdeviceptr> buffers(count);
    std::vector<CUgraphNode> nodes(count);
    const CUgraph graph = empty_graph();
    for (size_t i = 0; i < count; ++i) {
        must("cuMemAlloc", scene.cu.alloc(&buffers[i], Scene::bytes));
        nodes[i] = add_kernel(graph, Scale(scene, buffers[i]));
    }
    scene.exec = exec_of(scene, graph);
    must("cuGraphLaunch", scene.cu.launch(scene.exec, scene.stream));
    must("cuStreamSynchronize", scene.cu.synchronize(scene.stream));
    for (const CUdeviceptr buffer : buffers)
        must("cuMemFree", scene.cu.free(buffer));
    for (CUdeviceptr& buffer : buffers)  // too large for the places of those: they stay dead
        must("cuMemAlloc", scene.cu.alloc(&buffer, 64 * Scene::bytes));
    for (size_t i = 0; i < count; ++i)
        point_at(scene, nodes[i], buffers[i]);
}

long resident_pages() {
    long all = 0, resident = 0;
    if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &all, &resident) != 2)
            resident = 0;
        std::fclose(file);
    }
    return resident;
}

void alternate_kernels(const Scene& scene, CUgraphNode node, CUdeviceptr in, long rounds) {
    static const char large_ptx[] =
        ".version 7.0\n.target sm_52\n.address_size 64\n"
        ".visible .entry kg_small(\n.param .u64 kg_small_param_0\n)\n{\n ret;\n}\n"
        ".visible .entry kg_large(\n.param .align 8 .b8 kg_large_param_0[1024]\n)\n{\n ret;\n}\n";
    CUmodule module = nullptr;
    Scale small(scene, in), large(scene, in);
    must("cuModuleLoadData", scene.cu.module_load(&module, large_ptx));
    must("cuModuleGetFunction", scene.cu.get_function(&small.node.func, module, "kg_small"));
    must("cuModuleGetFunction", scene.cu.get_function(&large.node.func, module, "kg_large"));
    CUdeviceptr words[128] = {in};
    void* values[] = {words};
    large.node.kernelParams = values;
    long before = 0;
    for (long i = 0; i < rounds; ++i) {
        if (i == rounds / 10)
            before = resident_pages();
        set_kernel(scene.exec, node, small);
        set_kernel(scene.exec, node, large);
    }
    std::printf("grew by more than 1 MB: %d\n", (resident_pages() - before) * getpagesize() > 1024 * 1024);
}

}  // namespace

int main(int argc, char** argv) {
    const Way way(argc, argv, "again");
    const long rounds = argc > 2 ? std::atol(argv[2]) : 1;
    static Scene scene;
    scene.open();
    const auto update = driver_function<decltype(cuGraphExecUpdate_v2)>("cuGraphExecUpdate_v2");
    const auto destroy_node = driver_function<decltype(cuGraphDestroyNode)>("cuGraphDestroyNode");
    scene.output = scene.buffer(0.0f);
    const CUdeviceptr in = scene.buffer(1.0f), other = scene.buffer(2.0f);
    CUgraphNode node = nullptr, unused = nullptr;
    const CUgraph graph = graph_of(scene, in, &node);
    const CUgraph same = graph_of(scene, in, &unused);
    CUgraphNode second = nullptr;
    if (way.is("destroy_node"))
        second = add_kernel(graph, Scale(scene, other), node);
    must("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
    if (way.is("destroy_node")) {
        say("cuGraphDestroyNode", destroy_node(second));
        say("cuMemFree", scene.cu.free(in));
    }
    const bool again = way.is("again") || way.is("again_recycled"),
               updates = way.is("update") || way.is("update_recycled"), sets = way.is("set") || way.is("set_recycled");
    if (again || updates || sets) {
        scene.replay("before the free");
        say("cuMemFree", scene.cu.free(in));
    }
    if (std::strstr(way.word, "recycled") != nullptr) {
        const CUdeviceptr younger = scene.buffer(3.0f);
        std::printf("the address came back: %d\n", younger == in);
        say("cuMemFree", scene.cu.free(younger));
    }
    if (again) {
        say("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
    } else if (updates) {
        CUgraphExecUpdateResultInfo info{};
        say("cuGraphExecUpdate", update(scene.exec, same, &info));
    } else if (sets) {
        point_at(scene, node, in);
    } else if (way.is("set_host")) {
        set_freed_host(scene);
    } else if (way.is("loop")) {
        for (long i = 0; i < rounds; ++i) {
            const CUdeviceptr buffer = scene.buffer(3.0f);
            point_at(scene, node, buffer);
            must("cuMemFree", scene.cu.free(buffer));
            must("cuGraphLaunch", scene.cu.launch(scene.exec, scene.stream));
        }
    } else if (way.is("alternate")) {
        for (long i = 0; i < rounds; ++i) {
            point_at(scene, node, other);
            point_at(scene, node, in);
        }
    } else if (way.is("replaced")) {
        for (CUdeviceptr before = in, i = 0; i < static_cast<CUdeviceptr>(rounds); ++i) {
            const CUdeviceptr buffer = scene.buffer(3.0f);
            point_at(scene, node, buffer);
            must("cuMemFree", scene.cu.free(before));
            before = buffer;
        }
    } else if (way.is("updates")) {
        const CUgraph with_other = graph_of(scene, other, &unused);
        for (long i = 0; i < rounds; ++i) {
            CUgraphExecUpdateResultInfo info{};
            must("cuGraphExecUpdate", update(scene.exec, with_other, &info));
            must("cuGraphExecUpdate", update(scene.exec, same, &info));
        }
    } else if (way.is("kernels")) {
        alternate_kernels(scene, node, in, rounds);
        point_at(scene, node, in);
    } else if (way.is("renew")) {
        renew_all(scene, static_cast<size_t>(rounds));
    } else if (way.is("many")) {
        for (long i = 1; i < rounds; ++i) {
            must("cuGraphLaunch", scene.cu.launch(scene.exec, scene.stream));
            must("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
        }
    }
    scene.replay("at the end");
    return 0;
}
