// SPDX-License-Identifier: Apache-2.0
// The input is freed and another buffer gets its address: the replay reads foreign data, and every call says success.
#include "common.h"

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* input = allocate();
    float* output = allocate();
    fill(input, 21, stream);

    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_scale", stream, input, output, 2.0f, count)); });
    replay("before the free", exec, stream);
    show_value("output", output, stream);

    SHOW(gpu::free(input));
    float* other = allocate_at(input);
    std::printf("same address: %d\n", other != nullptr);
    if (other != nullptr) {
        fill(other, 4, stream);
    }
    replay("on foreign data", exec, stream);

    SHOW(gpu::exec_destroy(exec));
    SHOW(gpu::free(output));
    SHOW(gpu::free(neighbour));
    SHOW(gpu::stream_destroy(stream));
    return 0;
}
