// SPDX-License-Identifier: Apache-2.0
// CASES A4: weights are reloaded and the graph is not captured again. Four endings:
//   weights i         new weights elsewhere, the old ones kept: silence
//   weights ii        old ones freed, another buffer of the same size takes the address: a finding, re-used
//   weights iii       old ones freed: a finding, freed
//   weights refresh   new values copied into the old buffer: silence, and the new values are seen
#include "common.h"

int main(int argc, char** argv) {
    const char* ending = argc > 1 ? argv[1] : "i";
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* weights = allocate();
    float* input = allocate();
    float* output = allocate();
    fill(weights, 10, stream);
    fill(input, 1, stream);
    gpu::Exec exec = capture(stream, [&] { MUST(run("kg_add", stream, weights, input, output, count)); });
    replay("old weights", exec, stream);
    show_value("output", output, stream);

    float* reloaded = nullptr;
    if (std::strcmp(ending, "i") == 0) {
        reloaded = allocate();
        fill(reloaded, 20, stream);
        replay("old weights kept", exec, stream);
        show_value("output", output, stream);
    } else if (std::strcmp(ending, "ii") == 0) {
        SHOW(gpu::free(weights));
        reloaded = allocate_at(weights);
        std::printf("same address: %d\n", reloaded != nullptr);
        replay("address re-used", exec, stream);
        weights = nullptr;
    } else if (std::strcmp(ending, "iii") == 0) {
        SHOW(gpu::free(weights));
        replay("weights freed", exec, stream);
        weights = nullptr;
    } else {
        reloaded = allocate();
        fill(reloaded, 20, stream);
        SHOW(gpu::copy(weights, reloaded, bytes, gpu::device_to_device));
        MUST(gpu::device_sync());  // a copy inside the device returns before it is done
        replay("refreshed in place", exec, stream);
        show_value("output", output, stream);
    }
    SHOW(gpu::exec_destroy(exec));
    for (float* buffer : {weights, reloaded, input, output, neighbour}) {
        if (buffer != nullptr) {
            MUST(gpu::free(buffer));
        }
    }
    return 0;
}
