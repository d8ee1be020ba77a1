// SPDX-License-Identifier: Apache-2.0
// The freed input in one call, for programs whose point is something else: one graph, two replays, one finding.
#pragma once

#include "common.h"

inline gpu::Exec freed_input(gpu::Stream* stream, float** output) {
    MUST(gpu::init());
    MUST(gpu::stream_create(stream));
    float* neighbour = allocate();  // kept for ever: the page of the freed block stays mapped
    float* input = allocate();
    *output = allocate();
    fill(neighbour, 0, *stream);
    fill(input, 21, *stream);
    gpu::Exec exec = capture(*stream, [&] { MUST(run("kg_scale", *stream, input, *output, 2.0f, count)); });
    replay("before the free", exec, *stream);
    show_value("output", *output, *stream);
    SHOW(gpu::free(input));
    replay("after the free", exec, *stream);
    return exec;
}
