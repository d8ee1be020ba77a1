// SPDX-License-Identifier: Apache-2.0
// A kernel parameter of 8 bytes that is a number, not a pointer, and happens to equal the address of a buffer that is
// freed later.
//   integer_arg            an earlier graph had another number there: the slot is known not to be always a pointer
//   integer_arg alone      no such evidence
#include "common.h"

int main(int argc, char** argv) {
    const bool alone = argc > 1 && std::strcmp(argv[1], "alone") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* bystander = allocate();
    float* input = allocate();
    float* output = allocate();
    fill(input, 9, stream);
    gpu::Exec earlier = nullptr;
    if (!alone) {
        const unsigned long long number = 123456789;
        earlier = capture(stream, [&] { MUST(run("kg_sum2", stream, number, input, output, count)); });
        replay("a plain number", earlier, stream);
    }
    const auto number = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(bystander));
    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_sum2", stream, number, input, output, count)); });
    replay("an address by chance", exec, stream);
    SHOW(gpu::free(bystander));
    replay("no address any more", exec, stream);
    show_value("output", output, stream);
    if (earlier != nullptr) {
        MUST(gpu::exec_destroy(earlier));
    }
    MUST(gpu::exec_destroy(exec));
    for (float* buffer : {input, output, neighbour}) {
        MUST(gpu::free(buffer));
    }
    return 0;
}
