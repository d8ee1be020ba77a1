// SPDX-License-Identifier: Apache-2.0
// CASES A1: the producer's buffer is replaced after the capture; the graph still reads the old one.
//   repointed freed   the old buffer is freed: a finding
//   repointed kept    the old buffer lives on, merely unused: silence
#include "common.h"

int main(int argc, char** argv) {
    const bool freed = argc < 2 || std::strcmp(argv[1], "kept") != 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* produced = allocate();
    float* output = allocate();
    fill(produced, 1, stream);
    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_scale", stream, produced, output, 3.0f, count)); });
    replay("first", exec, stream);
    show_value("output", output, stream);

    float* produced_anew = allocate();
    fill(produced_anew, 2, stream);
    if (freed) {
        SHOW(gpu::free(produced));
    }
    replay("after the change", exec, stream);
    if (!freed) {
        show_value("output", output, stream);
        SHOW(gpu::free(produced));
    }
    SHOW(gpu::exec_destroy(exec));
    SHOW(gpu::free(produced_anew));
    SHOW(gpu::free(output));
    SHOW(gpu::free(neighbour));
    return 0;
}
