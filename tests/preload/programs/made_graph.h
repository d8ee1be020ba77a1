// SPDX-License-Identifier: Apache-2.0
// Graphs made node by node, for programs that set nodes, nest graphs, or hold nodes that none of their captures made.
#pragma once

#include "scene.h"

/// A kernel node that reads `in` and writes the scene's output.
struct Scale {
    CUdeviceptr in;
    CUdeviceptr out;
    float factor = 2.0f;
    int n = Scene::count;
    void* values[4] = {&in, &out, &factor, &n};
    CUDA_KERNEL_NODE_PARAMS node{};

    Scale(const Scene& scene, CUdeviceptr from) : in(from), out(scene.output) {
        node.func = scene.scale;
        node.gridDimX = node.gridDimY = node.gridDimZ = 1;
        node.blockDimX = Scene::count;
        node.blockDimY = node.blockDimZ = 1;
        node.kernelParams = values;
    }
    Scale(const Scale&) = delete;  // it points into itself
    Scale& operator=(const Scale&) = delete;
};

inline CUgraph empty_graph() {
    static const auto create = driver_function<decltype(cuGraphCreate)>("cuGraphCreate");
    CUgraph graph = nullptr;
    must("cuGraphCreate", create(&graph, 0));
    return graph;
}

inline CUgraphNode add_kernel(CUgraph graph, const Scale& scale, CUgraphNode after = nullptr) {
    static const auto add = driver_function<decltype(cuGraphAddKernelNode_v2)>("cuGraphAddKernelNode_v2");
    CUgraphNode node = nullptr;
    must("cuGraphAddKernelNode", add(&node, graph, &after, after != nullptr ? 1 : 0, &scale.node));
    return node;
}

inline void set_kernel(CUgraphExec exec, CUgraphNode node, const Scale& scale) {
    static const auto set =
        driver_function<decltype(cuGraphExecKernelNodeSetParams_v2)>("cuGraphExecKernelNodeSetParams_v2");
    must("cuGraphExecKernelNodeSetParams", set(exec, node, &scale.node));
}

/// Of a scene's bytes from host memory to the scene's output.
inline CUDA_MEMCPY3D copy_to_output(const Scene& scene, const void* from) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = scene.output;
    copy.WidthInBytes = Scene::bytes;
    copy.Height = copy.Depth = 1;
    return copy;
}

inline CUgraphNode add_copy(CUgraph graph, const Scene& scene, const void* from) {
    static const auto add = driver_function<decltype(cuGraphAddMemcpyNode)>("cuGraphAddMemcpyNode");
    const CUDA_MEMCPY3D copy = copy_to_output(scene, from);
    CUgraphNode node = nullptr;
    must("cuGraphAddMemcpyNode", add(&node, graph, nullptr, 0, &copy, scene.context));
    return node;
}

/// Allocates a scene's bytes with each launch of the graph, at the address that is returned.
inline CUdeviceptr add_allocation(CUgraph graph) {
    static const auto add = driver_function<decltype(cuGraphAddMemAllocNode)>("cuGraphAddMemAllocNode");
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUDA_MEM_ALLOC_NODE_PARAMS wanted{};
    wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.poolProps.location = access.location;
    wanted.accessDescs = &access;
    wanted.accessDescCount = 1;
    wanted.bytesize = Scene::bytes;
    CUgraphNode node = nullptr;
    must("cuGraphAddMemAllocNode", add(&node, graph, nullptr, 0, &wanted));
    return wanted.dptr;
}

inline CUgraphExec exec_of(const Scene& scene, CUgraph graph) {
    CUgraphExec exec = nullptr;
    must("cuGraphInstantiate", scene.cu.instantiate(&exec, graph, 0));
    return exec;
}
