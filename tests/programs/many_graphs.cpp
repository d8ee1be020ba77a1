// SPDX-License-Identifier: Apache-2.0
//   many_graphs [N]       N graphs replayed in turn, ten rounds; one input of the last is freed before the last round
//   many_graphs inputs    one graph of 8 kernels whose 8 inputs are all freed: more findings than a report lists
#include "common.h"

#include <string>
#include <vector>

namespace {

void in_turn(int graphs, gpu::Stream stream) {
    std::vector<float*> inputs;
    std::vector<gpu::Exec> execs;
    float* output = allocate();
    for (int i = 0; i < graphs; ++i) {
        inputs.push_back(allocate());
        fill(inputs.back(), static_cast<float>(i), stream);
        execs.push_back(capture(stream, [&] { MUST(run("kg_scale", stream, inputs.back(), output, 1.0f, count)); }));
    }
    int failures = 0;
    for (int round = 0; round < 10; ++round) {
        if (round == 9) {
            SHOW(gpu::free(inputs.back()));
        }
        for (gpu::Exec exec : execs) {
            failures += gpu::graph_launch(exec, stream) != 0;
        }
        failures += gpu::stream_sync(stream) != 0;
    }
    std::printf("%d graphs, 10 rounds, %d failed calls\n", graphs, failures);
    for (int i = 0; i < graphs; ++i) {
        MUST(gpu::exec_destroy(execs[i]));
        if (i + 1 < graphs) {
            MUST(gpu::free(inputs[i]));
        }
    }
    MUST(gpu::free(output));
}

void many_inputs(gpu::Stream stream) {
    float* output = allocate();
    std::vector<float*> inputs;
    for (int i = 0; i < 8; ++i) {
        inputs.push_back(allocate());
        fill(inputs.back(), static_cast<float>(i), stream);
    }
    gpu::Exec exec = capture(stream, [&] {
        for (float* input : inputs) {
            MUST(run("kg_scale", stream, input, output, 1.0f, count));
        }
    });
    replay("inputs alive", exec, stream);
    for (float* input : inputs) {
        MUST(gpu::free(input));
    }
    replay("inputs freed", exec, stream);
    SHOW(gpu::exec_destroy(exec));
    MUST(gpu::free(output));
}

}  // namespace

int main(int argc, char** argv) {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    const std::string what = argc > 1 ? argv[1] : "16";
    if (what == "inputs") {
        many_inputs(stream);
    } else {
        in_turn(std::atoi(what.c_str()), stream);
    }
    MUST(gpu::free(neighbour));
    MUST(gpu::stream_destroy(stream));
    return 0;
}
