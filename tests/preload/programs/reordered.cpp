// SPDX-License-Identifier: Apache-2.0
// An exec of two nodes, one after the other, takes over a template whose nodes were made in the other order; then the
// program goes on by the handles of the first template. `reordered KIND WHAT`, where KIND is
//   kernels   two kernels; the first is set to another buffer after the update
//   copy      the same, but the second node is a copy
//   off       twice the same kernel; the second was switched off before the update
//   off_copy  the second node is a copy, which was switched off
// and WHAT is freed before the last launch: `unused` frees what the exec no longer uses, `used` the buffer of the node
// that was not named (of `off` and `off_copy`: of the one that runs).
#include "made_graph.h"

namespace {

/// output = in + in
struct Add {
    CUdeviceptr in, again, out;
    int n = Scene::count;
    void* values[4] = {&in, &again, &out, &n};
    CUDA_KERNEL_NODE_PARAMS node{};

    Add(const Scene& scene, CUfunction function, CUdeviceptr from) : in(from), again(from), out(scene.output) {
        node = Scale(scene, from).node;
        node.func = function;
        node.kernelParams = values;
    }
    Add(const Add&) = delete;  // it points into itself
    Add& operator=(const Add&) = delete;
};

struct Pair {
    CUgraph graph;
    CUgraphNode first, second;
};

CUgraphNode add_second(const Scene& scene, const Way& way, CUgraph graph, CUdeviceptr in) {
    CUgraphNode node = nullptr;
    if (way.is("copy") || way.is("off_copy")) {
        static const auto add = driver_function<decltype(cuGraphAddMemcpyNode)>("cuGraphAddMemcpyNode");
        CUDA_MEMCPY3D copy{};
        copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = in;
        copy.dstDevice = scene.output;
        copy.WidthInBytes = Scene::bytes;
        copy.Height = copy.Depth = 1;
        must("cuGraphAddMemcpyNode", add(&node, graph, nullptr, 0, &copy, scene.context));
    } else if (way.is("off")) {
        node = add_kernel(graph, Scale(scene, in));
    } else {
        static const auto add = driver_function<decltype(cuGraphAddKernelNode_v2)>("cuGraphAddKernelNode_v2");
        static CUfunction function = nullptr;
        if (function == nullptr)
            must("cuModuleGetFunction", scene.cu.get_function(&function, scene.module, "kg_add"));
        const Add sum(scene, function, in);
        must("cuGraphAddKernelNode", add(&node, graph, nullptr, 0, &sum.node));
    }
    return node;
}

Pair pair_of(const Scene& scene, const Way& way, CUdeviceptr first, CUdeviceptr second, bool turned) {
    using Connect = CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, size_t);  // cuda.h 13 has the newer form
    static const auto connect = driver_function<Connect>("cuGraphAddDependencies");
    Pair made{empty_graph(), nullptr, nullptr};
    if (turned)
        made.second = add_second(scene, way, made.graph, second);
    made.first = add_kernel(made.graph, Scale(scene, first));
    if (!turned)
        made.second = add_second(scene, way, made.graph, second);
    must("cuGraphAddDependencies", connect(made.graph, &made.first, &made.second, 1));
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    const Way way(argc, argv, "kernels");
    const bool off = way.is("off") || way.is("off_copy");
    const bool used = argc > 2 && std::strcmp(argv[2], "used") == 0;
    static Scene scene;
    scene.open();
    scene.output = scene.buffer(0.0f);
    const CUdeviceptr before[2] = {scene.buffer(1.0f), scene.buffer(2.0f)};
    const CUdeviceptr after[2] = {scene.buffer(3.0f), scene.buffer(4.0f)}, given = scene.buffer(5.0f);
    const Pair named = pair_of(scene, way, before[0], before[1], false);
    const Pair later = pair_of(scene, way, after[0], after[1], true);
    const auto update = driver_function<decltype(cuGraphExecUpdate_v2)>("cuGraphExecUpdate_v2");
    const auto enable = driver_function<decltype(cuGraphNodeSetEnabled)>("cuGraphNodeSetEnabled");
    scene.exec = exec_of(scene, named.graph);
    if (off)
        say("cuGraphNodeSetEnabled", enable(scene.exec, named.second, 0));
    CUgraphExecUpdateResultInfo info{};
    say("cuGraphExecUpdate", update(scene.exec, later.graph, &info));
    if (!off)
        set_kernel(scene.exec, named.first, Scale(scene, given));
    scene.replay("after the update");
    for (const CUdeviceptr buffer : before)
        must("cuMemFree", scene.cu.free(buffer));
    must("cuMemFree", scene.cu.free(off == used ? after[0] : after[1]));
    scene.replay("after the free");
    return 0;
}
