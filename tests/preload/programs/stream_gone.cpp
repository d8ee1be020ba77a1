// SPDX-License-Identifier: Apache-2.0
// A stream is destroyed inside its capture, and the driver gives its handle to the next stream: that one captures
// nothing until it begins a capture of its own. One finding, of the graph that the second stream captured.
#include "scene.h"

int main() {
    static Scene scene;
    scene.open();
    scene.input = scene.buffer(1.0f);
    scene.output = scene.buffer(0.0f);
    const CUstream gone = scene.stream;
    must("cuStreamBeginCapture", scene.cu.begin(gone, CU_STREAM_CAPTURE_MODE_RELAXED));
    must("cuLaunchKernel", scene.enqueue_scale(scene.input, scene.output, 2.0f, gone));
    say("cuStreamDestroy", scene.cu.stream_destroy(gone));
    for (int i = 0; i == 0 || (i < 64 && scene.stream != gone); ++i)
        must("cuStreamCreate", scene.cu.stream_create(&scene.stream, CU_STREAM_NON_BLOCKING));
    std::printf("the handle came back: %d\n", scene.stream == gone);
    CUgraph none = nullptr;
    say("cuStreamEndCapture", scene.cu.end(scene.stream, &none));
    scene.exec = scene.graph_of(scene.input, scene.output, scene.stream);
    scene.free_input_and_replay();
    return 0;
}
