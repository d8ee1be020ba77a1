// SPDX-License-Identifier: Apache-2.0
// Case F9: a graph is instantiated while another stream of the thread captures, in each mode. What an interposer must
// not do during a capture shows in these codes.
#include "scene.h"

int main() {
    Scene scene;
    scene.open();
    scene.input = scene.buffer(1.0f);
    scene.output = scene.buffer(0.0f);
    const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};
    const char* names[] = {"global", "thread_local", "relaxed"};
    for (int index = 0; index < 3; ++index) {
        std::printf("mode %s\n", names[index]);
        say("cuStreamBeginCapture", scene.cu.begin(scene.stream, modes[index]));
        must("cuLaunchKernel", scene.enqueue_scale(scene.input, scene.output, 1.0f, scene.stream));
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        say("cuStreamEndCapture", scene.cu.end(scene.stream, &graph));
        // The driver refuses it (900) except in relaxed mode, where a careless getter of an interposer would end the
        // other capture.
        CUstream other = nullptr;
        CUgraph other_graph = nullptr;
        must("cuStreamCreate", scene.cu.stream_create(&other, CU_STREAM_NON_BLOCKING));
        say("other cuStreamBeginCapture", scene.cu.begin(other, modes[index]));
        must("cuLaunchKernel", scene.enqueue_scale(scene.output, scene.output, 1.0f, other));
        say("cuGraphInstantiate", scene.cu.instantiate(&exec, graph, 0));
        say("cuGraphLaunch", scene.cu.launch(exec, scene.stream));
        say("cuGraphDestroy", scene.cu.graph_destroy(graph));
        say("other cuStreamEndCapture", scene.cu.end(other, &other_graph));
        size_t nodes = 0;
        if (other_graph != nullptr)
            say("cuGraphGetNodes", scene.cu.nodes(other_graph, nullptr, &nodes));
        std::printf("other nodes %zu\n", nodes);
        say("cuStreamSynchronize", scene.cu.synchronize(scene.stream));
    }
    return 0;
}
