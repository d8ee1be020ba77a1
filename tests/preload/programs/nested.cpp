// SPDX-License-Identifier: Apache-2.0
// `nested DEPTH KB`: a graph in a graph in a graph, instantiated and launched on a thread with so little stack. The
// innermost one reads an input that is freed between two launches.
#include "made_graph.h"
#include "thread_of.h"

namespace {

CUgraph top = nullptr;

void* work(void* argument) {
    // Only the calls: what printf wants depends on the C library.
    auto* const scene = static_cast<Scene*>(argument);
    long code = scene->cu.set_current(scene->context);
    code = code * 1000 + scene->cu.instantiate(&scene->exec, top, 0);
    code = code * 1000 + scene->cu.launch(scene->exec, scene->stream);
    code = code * 1000 + scene->cu.free(scene->input);
    code = code * 1000 + scene->cu.launch(scene->exec, scene->stream);
    return reinterpret_cast<void*>(code);
}

}  // namespace

int main(int argc, char** argv) {
    const int depth = argc > 1 ? std::atoi(argv[1]) : 100;
    const size_t stack = size_t{1024} * (argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64);
    static Scene scene;
    scene.open();
    scene.input = scene.buffer(1.0f);
    scene.output = scene.buffer(0.0f);
    const auto add_child = driver_function<decltype(cuGraphAddChildGraphNode)>("cuGraphAddChildGraphNode");
    top = empty_graph();
    add_kernel(top, Scale(scene, scene.input));
    for (int i = 0; i < depth; ++i) {
        const CUgraph around = empty_graph();
        CUgraphNode node = nullptr;
        must("cuGraphAddChildGraphNode", add_child(&node, around, nullptr, 0, top));
        must("cuGraphDestroy", scene.cu.graph_destroy(top));
        top = around;
    }
    run_on_stack_of(stack, work, scene);
    return 0;
}
