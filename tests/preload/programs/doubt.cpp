// SPDX-License-Identifier: Apache-2.0
// An ordinary graph whose input is freed, after another graph gave the same parameter of the same kernel a value that
// is no address now:
//   nothing  there was no other graph
//   died     memory that was freed before the other graph was instantiated
//   early    memory that a third graph will allocate at its first launch
//   number   a plain number, in a kernel of the same name out of another module
#include <cstring>

#include "made_graph.h"

namespace {

void instantiate_and_destroy(const Scene& scene, const Scale& scale) {
    const CUgraph graph = empty_graph();
    add_kernel(graph, scale);
    must("cuGraphExecDestroy", scene.cu.exec_destroy(exec_of(scene, graph)));
    must("cuGraphDestroy", scene.cu.graph_destroy(graph));
}

void died(const Scene& scene) {
    CUdeviceptr gone = 0;
    must("cuMemAlloc", scene.cu.alloc(&gone, size_t{1} << 20));
    const CUgraph graph = empty_graph();
    add_kernel(graph, Scale(scene, gone));
    must("cuMemFree", scene.cu.free(gone));
    must("cuGraphExecDestroy", scene.cu.exec_destroy(exec_of(scene, graph)));
}

void early(const Scene& scene) {
    const CUgraph allocating = empty_graph();
    const CUdeviceptr later = add_allocation(allocating);
    const CUgraphExec allocates = exec_of(scene, allocating);
    instantiate_and_destroy(scene, Scale(scene, later));
    say("cuGraphLaunch of the allocation", scene.cu.launch(allocates, scene.stream));
    const auto free_async = driver_function<decltype(cuMemFreeAsync)>("cuMemFreeAsync");
    say("cuMemFreeAsync", free_async(later, scene.stream));
}

void number(const Scene& scene) {
    CUmodule module = nullptr;
    Scale scale(scene, 0x123456789000);
    must("cuModuleLoadData", scene.cu.module_load(&module, kg_kernels_ptx));
    must("cuModuleGetFunction", scene.cu.get_function(&scale.node.func, module, "kg_scale"));
    instantiate_and_destroy(scene, scale);
}

}  // namespace

int main(int argc, char** argv) {
    const Way way(argc, argv, "nothing");
    static Scene scene;
    scene.open();
    scene.output = scene.buffer(0.0f);
    if (way.is("died"))
        died(scene);
    else if (way.is("early"))
        early(scene);
    else if (way.is("number"))
        number(scene);
    scene.input = scene.buffer(1.0f);
    scene.exec = scene.graph_of(scene.input, scene.output, scene.stream);
    scene.replay("cuGraphLaunch");
    scene.free_input_and_replay();
    return 0;
}
