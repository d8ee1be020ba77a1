// SPDX-License-Identifier: Apache-2.0
// What the driver keeps per thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "driver/cuda_types.h"

namespace keepgraph::sim {

struct Context;
struct Stream;

struct Thread {
    uint64_t id = 0;
    std::vector<Context*> contexts;                             // cuCtxPushCurrent pushes at the back
    std::vector<std::pair<uint64_t, Stream*>> default_streams;  // per-thread default stream, by context id
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    bool per_thread_default = false;
    bool entering_twin = false;
    bool in_callback = false;  // inside a host function, which may not call CUDA
};

Thread& this_thread();

}  // namespace keepgraph::sim
