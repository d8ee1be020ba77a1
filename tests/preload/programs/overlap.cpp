// SPDX-License-Identifier: Apache-2.0
// `overlap instantiate|set`: one thread frees a buffer; while that call is under way, another one instantiates a graph
// that refers to the buffer, or points a node at it. Then the graph is launched. Needs libheld_call.so as a preload.
#include <cstring>
#include <thread>

#include "made_graph.h"

int main(int argc, char** argv) {
    const bool set = argc > 1 && std::strcmp(argv[1], "set") == 0;
    // Global, so that a preload finds the driver behind itself.
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    auto* const arm = preloaded<void()>("held_arm");
    auto* const await = preloaded<void()>("held_await");
    auto* const release = preloaded<void()>("held_release");
    auto* const free_by_symbol = preloaded<CUresult(CUdeviceptr)>("cuMemFree_v2");
    static Scene scene;
    scene.open();
    const CUdeviceptr buffer = scene.buffer(1.0f);
    const CUdeviceptr other = scene.buffer(2.0f);
    scene.output = scene.buffer(0.0f);

    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    size_t count = 1;
    must("cuStreamBeginCapture", scene.cu.begin(scene.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    must("cuLaunchKernel", scene.enqueue_scale(set ? other : buffer, scene.output, 2.0f, scene.stream));
    must("cuStreamEndCapture", scene.cu.end(scene.stream, &graph));
    must("cuGraphGetNodes", scene.cu.nodes(graph, &node, &count));
    if (set)
        must("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));

    arm();
    CUresult freed = CUDA_ERROR_UNKNOWN;
    std::thread thread([&] {
        must("cuCtxSetCurrent", scene.cu.set_current(scene.context));
        freed = free_by_symbol(buffer);
    });
    await();
    if (set) {
        set_kernel(scene.exec, node, Scale(scene, buffer));
    } else {
        say("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
    }
    release();
    thread.join();
    say("cuMemFree", freed);
    scene.replay("after the free");
    return 0;
}
