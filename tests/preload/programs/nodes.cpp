// SPDX-License-Identifier: Apache-2.0
// `nodes disabled`: a graph of two kernels; the input of the first is freed while its node is switched off, then the
// node is switched on again. `nodes child`: a graph of two child graphs; the first one is given another input, then
// the inputs are freed one by one: the one it had, the second child's, the one it was given. `nodes turnover N`: 16
// graphs, of which the first N go; then 8 more, and each that is left is launched once. `nodes memory call|node|early`:
// three rounds in which one graph allocates by a memory node, another one uses that memory, and it is freed by a call,
// or by a node of a third one; with `early` the user is instantiated before the memory is there for the first time.
// `nodes memory captured`: the call that frees is captured, and that capture never runs. All of it is right.
// `nodes memory gone`: it is freed, the graph that uses it is launched, the one that allocates it is destroyed, and the
// first is launched once more, which is wrong for good.
#include <cstring>
#include <vector>

#include "made_graph.h"

namespace {

CUgraph graph_of(Scene& scene, CUdeviceptr first, CUdeviceptr second) {
    CUgraph graph = nullptr;
    must("cuStreamBeginCapture", scene.cu.begin(scene.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    must("cuLaunchKernel", scene.enqueue_scale(first, scene.output, 2.0f, scene.stream));
    if (second != 0)
        must("cuLaunchKernel", scene.enqueue_scale(second, scene.output, 3.0f, scene.stream));
    must("cuStreamEndCapture", scene.cu.end(scene.stream, &graph));
    return graph;
}

void disabled(Scene& scene) {
    const auto set_enabled = driver_function<decltype(cuGraphNodeSetEnabled)>("cuGraphNodeSetEnabled");
    const CUdeviceptr first = scene.buffer(1.0f), second = scene.buffer(2.0f);
    const CUgraph graph = graph_of(scene, first, second);
    CUgraphNode nodes[2] = {};
    size_t count = 2;
    must("cuGraphGetNodes", scene.cu.nodes(graph, nodes, &count));
    must("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
    // Which of the two comes first is the driver's choice, so both are switched off and freed.
    for (CUgraphNode node : nodes)
        say("cuGraphNodeSetEnabled 0", set_enabled(scene.exec, node, 0));
    must("cuMemFree", scene.cu.free(first));
    must("cuMemFree", scene.cu.free(second));
    scene.replay("both off");
    say("cuGraphNodeSetEnabled 1", set_enabled(scene.exec, nodes[0], 1));
    scene.replay("one on");
}

void child(Scene& scene) {
    const auto add_child = driver_function<decltype(cuGraphAddChildGraphNode)>("cuGraphAddChildGraphNode");
    const auto set_child =
        driver_function<decltype(cuGraphExecChildGraphNodeSetParams)>("cuGraphExecChildGraphNodeSetParams");
    const CUdeviceptr had = scene.buffer(1.0f), second = scene.buffer(2.0f), given = scene.buffer(3.0f);
    const CUgraph graph = empty_graph();
    CUgraphNode nodes[2] = {};
    must("cuGraphAddChildGraphNode", add_child(&nodes[0], graph, nullptr, 0, graph_of(scene, had, 0)));
    must("cuGraphAddChildGraphNode", add_child(&nodes[1], graph, &nodes[0], 1, graph_of(scene, second, 0)));
    scene.exec = exec_of(scene, graph);
    say("cuGraphExecChildGraphNodeSetParams", set_child(scene.exec, nodes[0], graph_of(scene, given, 0)));
    const struct {
        const char* what;
        CUdeviceptr buffer;
    } frees[] = {{"without the one it had", had}, {"without the second's", second}, {"without the given one", given}};
    for (const auto& [what, buffer] : frees) {
        must("cuMemFree", scene.cu.free(buffer));
        scene.replay(what);
    }
}

void turnover(Scene& scene, size_t gone) {
    std::vector<CUgraphExec> execs;
    const CUdeviceptr input = scene.buffer(1.0f);
    for (int i = 0; i < 16; ++i)
        execs.push_back(scene.graph_of(input, scene.output, scene.stream));
    for (size_t i = 0; i < gone; ++i)
        must("cuGraphExecDestroy", scene.cu.exec_destroy(execs[i]));
    execs.erase(execs.begin(), execs.begin() + static_cast<std::ptrdiff_t>(gone));
    for (int i = 0; i < 8; ++i)
        execs.push_back(scene.graph_of(input, scene.output, scene.stream));
    for (CUgraphExec exec : execs)
        must("cuGraphLaunch", scene.cu.launch(exec, scene.stream));
    say("cuStreamSynchronize", scene.cu.synchronize(scene.stream));
}

void graph_memory(Scene& scene, const char* way) {
    const auto free_async = driver_function<decltype(cuMemFreeAsync)>("cuMemFreeAsync");
    const CUgraph allocating = empty_graph();
    const CUdeviceptr memory = add_allocation(allocating);
    const CUgraphExec allocates = exec_of(scene, allocating);
    CUgraphExec frees = nullptr;
    if (std::strcmp(way, "node") == 0) {
        const auto add_free = driver_function<decltype(cuGraphAddMemFreeNode)>("cuGraphAddMemFreeNode");
        const CUgraph freeing = empty_graph();
        CUgraphNode node = nullptr;
        must("cuGraphAddMemFreeNode", add_free(&node, freeing, nullptr, 0, memory));
        frees = exec_of(scene, freeing);
    }
    const bool early = std::strcmp(way, "early") == 0, captured = std::strcmp(way, "captured") == 0;
    if (!early)
        say("allocating graph", scene.cu.launch(allocates, scene.stream));
    scene.exec = exec_of(scene, graph_of(scene, memory, 0));
    if (std::strcmp(way, "gone") == 0) {
        say("cuMemFreeAsync", free_async(memory, scene.stream));
        scene.replay("using graph");
        say("cuGraphExecDestroy", scene.cu.exec_destroy(allocates));
        say("cuGraphDestroy", scene.cu.graph_destroy(allocating));
        scene.replay("using graph");
        return;
    }
    if (captured) {
        scene.replay("using graph");
        CUgraph never_run = nullptr;
        must("cuStreamBeginCapture", scene.cu.begin(scene.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        say("captured cuMemFreeAsync", free_async(memory, scene.stream));
        must("cuStreamEndCapture", scene.cu.end(scene.stream, &never_run));
        scene.replay("using graph");
        return;
    }
    for (int round = 0; round < 3; ++round) {
        if (early || round > 0)
            say("allocating graph", scene.cu.launch(allocates, scene.stream));
        scene.replay("using graph");
        if (frees != nullptr)
            say("freeing graph", scene.cu.launch(frees, scene.stream));
        else
            say("cuMemFreeAsync", free_async(memory, scene.stream));
        say("cuStreamSynchronize", scene.cu.synchronize(scene.stream));
    }
}

}  // namespace

int main(int argc, char** argv) {
    static Scene scene;
    scene.open();
    scene.output = scene.buffer(0.0f);
    if (argc > 1 && std::strcmp(argv[1], "child") == 0)
        child(scene);
    else if (argc > 2 && std::strcmp(argv[1], "turnover") == 0)
        turnover(scene, std::strtoul(argv[2], nullptr, 10));
    else if (argc > 2 && std::strcmp(argv[1], "memory") == 0)
        graph_memory(scene, argv[2]);
    else
        disabled(scene);
    return 0;
}
