// SPDX-License-Identifier: Apache-2.0
// `inputs N [again | rounds R | output | both | same]`: one graph of N kernels that read N buffers; all are freed, then
// two (or R) replays. With `again` the exec is instantiated twice, to show that a finding is made once per (exec,
// allocation). `inputs 0` reads one buffer and frees nothing. `output` frees the output in place of the inputs, `both`
// frees all. `same` gives all N kernels the same buffer.
#include <cstring>
#include <vector>

#include "scene.h"

int main(int argc, char** argv) {
    int number = argc > 1 ? std::atoi(argv[1]) : 1;
    bool again = argc > 2 && std::strcmp(argv[2], "again") == 0;
    int rounds = argc > 3 && std::strcmp(argv[2], "rounds") == 0 ? std::atoi(argv[3]) : 2;
    Scene scene;
    scene.open();
    const bool both = argc > 2 && std::strcmp(argv[2], "both") == 0;
    const bool output = both || (argc > 2 && std::strcmp(argv[2], "output") == 0);
    const bool same = argc > 2 && std::strcmp(argv[2], "same") == 0;
    std::vector<CUdeviceptr> buffers;
    for (int index = 0; index < (number > 0 && !same ? number : 1); ++index)
        buffers.push_back(scene.buffer(1.0f));
    scene.output = scene.buffer(0.0f);
    CUgraph graph = nullptr;
    must("cuStreamBeginCapture", scene.cu.begin(scene.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int round = 0; round < (same ? number : 1); ++round)
        for (CUdeviceptr buffer : buffers)
            must("cuLaunchKernel", scene.enqueue_scale(buffer, scene.output, 2.0f, scene.stream));
    must("cuStreamEndCapture", scene.cu.end(scene.stream, &graph));
    CUgraphExec execs[2] = {};
    for (int index = 0; index < (again ? 2 : 1); ++index) {
        say("cuGraphInstantiate", scene.cu.instantiate(&execs[index], graph, 0));
    }
    if (output)
        must("cuMemFree", scene.cu.free(scene.output));
    if (number > 0 && (both || !output)) {
        for (CUdeviceptr buffer : buffers)
            must("cuMemFree", scene.cu.free(buffer));
    }
    for (CUgraphExec exec : execs) {
        if (exec == nullptr)
            continue;
        for (int round = 0; round < rounds; ++round) {
            say("cuGraphLaunch", scene.cu.launch(exec, scene.stream));
            say("cuStreamSynchronize", scene.cu.synchronize(scene.stream));
        }
    }
    if (!output)
        std::printf("output %g\n", static_cast<double>(scene.first(scene.output)));
    return 0;
}
