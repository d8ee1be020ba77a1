// SPDX-License-Identifier: Apache-2.0
// CASES A7 (streams): the capture stream is destroyed before the instantiation, and a new stream, often with the same
// handle, launches the graph and is captured in turn. Nothing to report.
#include "common.h"

int main() {
    MUST(gpu::init());
    float* input = allocate();
    float* output = allocate();
    for (int round = 0; round < 3; ++round) {
        gpu::Stream first = nullptr;
        MUST(gpu::stream_create(&first));
        fill(input, static_cast<float>(round), first);
        gpu::Graph graph = nullptr;
        SHOW(gpu::begin_capture(first, gpu::global));
        SHOW(run("kg_scale", first, input, output, 2.0f, count));
        SHOW(gpu::end_capture(first, &graph));
        SHOW(gpu::stream_destroy(first));
        gpu::Exec exec = nullptr;
        SHOW(gpu::instantiate(&exec, graph));
        SHOW(gpu::graph_destroy(graph));

        gpu::Stream second = nullptr;
        SHOW(gpu::stream_create(&second));
        int status = -1;
        SHOW(gpu::is_capturing(second, &status));
        std::printf("capturing: %d\n", status);
        replay("on the new stream", exec, second);
        show_value("output", output, second);
        gpu::Exec again = capture(second, [&] { MUST(run("kg_scale", second, input, output, 3.0f, count)); });
        replay("captured there", again, second);
        show_value("output", output, second);
        SHOW(gpu::exec_destroy(exec));
        SHOW(gpu::exec_destroy(again));
        SHOW(gpu::stream_destroy(second));
    }
    MUST(gpu::free(input));
    MUST(gpu::free(output));
    return 0;
}
