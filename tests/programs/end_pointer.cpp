// SPDX-License-Identifier: Apache-2.0
// A kernel gets its input as [begin, end). The end is the first byte of the next allocation, which is freed: never
// read, so at most a possible finding. `end_pointer output`: the freed neighbour is the kernel's output, whose type
// differs from the input's.
#include "common.h"

int main(int argc, char** argv) {
    const bool output_is_next = argc > 1 && std::strcmp(argv[1], "output") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* output = allocate();
    float* blocks[64];
    float* input = nullptr;
    float* next = nullptr;
    for (float*& block : blocks) {
        block = allocate();
    }
    for (float* a : blocks) {
        for (float* b : blocks) {
            if (input == nullptr && a + count == b) {
                input = a;
                next = b;
            }
        }
    }
    std::printf("adjacent: %d\n", input != nullptr);
    if (input == nullptr) {
        input = blocks[0];
        next = blocks[1];
    }
    fill(input, 4, stream);
    float* end = input + count;
    gpu::Exec exec = capture(stream, [&] {
        if (output_is_next)
            MUST(run("_Z8kg_twiceIfEvPKT_PS0_i", stream, input, next, count));
        else
            MUST(run("kg_span", stream, input, end, output));
    });
    replay("neighbour alive", exec, stream);
    SHOW(gpu::free(next));
    replay("neighbour freed", exec, stream);
    if (!output_is_next)
        show_value("output", output, stream);
    SHOW(gpu::exec_destroy(exec));
    for (float* block : blocks) {
        if (block != next) {
            MUST(gpu::free(block));
        }
    }
    MUST(gpu::free(output));
    return 0;
}
