// SPDX-License-Identifier: Apache-2.0
// The input comes from the stream-ordered allocator and is given back to it before the replay. A second live buffer of
// the pool keeps its memory mapped, so that the late read cannot fault on a GPU.
#include "common.h"

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    void* neighbour = nullptr;
    void* block = nullptr;
    MUST(gpu::malloc_async(&neighbour, bytes, stream));
    MUST(gpu::malloc_async(&block, bytes, stream));
    float* input = static_cast<float*>(block);
    float* output = allocate();
    fill(input, 6, stream);
    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_scale", stream, input, output, 0.5f, count)); });
    replay("block alive", exec, stream);
    show_value("output", output, stream);
    SHOW(gpu::free_async(block, stream));
    replay("block freed", exec, stream);
    SHOW(gpu::exec_destroy(exec));
    MUST(gpu::free_async(neighbour, stream));
    MUST(gpu::stream_sync(stream));
    MUST(gpu::free(output));
    return 0;
}
