// SPDX-License-Identifier: Apache-2.0
// Three graphs, replayed in turn, whose inputs stay alive: nothing to report.
#include "common.h"

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* a = allocate();
    float* b = allocate();
    float* sum = allocate();
    float* doubled = allocate();
    fill(a, 1, stream);
    fill(b, 2, stream);

    gpu::Exec add = capture(stream, [&] { MUST(run("kg_add", stream, a, b, sum, count)); });
    gpu::Exec twice = capture(stream, [&] { MUST(run("_Z8kg_twiceIfEvPKT_PS0_i", stream, sum, doubled, count)); });
    gpu::Exec feed_back = capture(stream, [&] {
        MUST(gpu::copy_async(a, doubled, bytes, gpu::device_to_device, stream));
        MUST(gpu::memset_async(sum, 0, bytes, stream));
    });
    for (int round = 0; round < 4; ++round) {
        replay("add", add, stream);
        replay("twice", twice, stream);
        show_value("doubled", doubled, stream);
        replay("feed_back", feed_back, stream);
    }
    SHOW(gpu::exec_destroy(add));
    SHOW(gpu::exec_destroy(twice));
    SHOW(gpu::exec_destroy(feed_back));
    for (float* buffer : {a, b, sum, doubled}) {
        SHOW(gpu::free(buffer));
    }
    SHOW(gpu::stream_destroy(stream));
    return 0;
}
