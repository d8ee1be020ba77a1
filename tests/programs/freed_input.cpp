// SPDX-License-Identifier: Apache-2.0
// The main job: an input of a graph is freed between two replays, and every call says success.
#include "common.h"

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();  // keeps the driver's page mapped, so that the late read cannot fault on a GPU
    float* input = allocate();
    float* output = allocate();
    fill(neighbour, 0, stream);
    fill(input, 21, stream);

    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_scale", stream, input, output, 2.0f, count)); });
    replay("before the free", exec, stream);
    show_value("output", output, stream);

    SHOW(gpu::free(input));
    replay("after the free", exec, stream);
    replay("once more", exec, stream);

    SHOW(gpu::exec_destroy(exec));
    SHOW(gpu::free(output));
    SHOW(gpu::free(neighbour));
    SHOW(gpu::stream_destroy(stream));
    return 0;
}
