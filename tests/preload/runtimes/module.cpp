// SPDX-License-Identifier: Apache-2.0
// An extension module over a cudart, which the link line names and the run path finds. `host` puts several of them into
// one process. `Dl_info` of a function that nobody interposes says which cudart the loader gave to this module.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "../../programs/common.h"

namespace {

gpu::Stream stream = nullptr;
gpu::Exec exec = nullptr;
float* output = nullptr;

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

// The code of a failed call must be the last error of that cudart, and of no other one.
EXPORTED void module_tell() {
    int version = 0;
    (void)cudaRuntimeGetVersion(&version);
    Dl_info where{};
    (void)dladdr(reinterpret_cast<void*>(&cudaRuntimeGetVersion), &where);
    void* pointer = nullptr;
    const int failed = cudaMalloc(&pointer, static_cast<size_t>(1) << 60);
    std::printf("cudart %d of %s: too large: %d, last error %d\n", version, where.dli_fname, failed,
                static_cast<int>(cudaGetLastError()));
    std::fflush(stdout);
}

/// A graph that reads what is returned.
EXPORTED void* module_capture() {
    MUST(gpu::init());
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();  // kept for ever: the page of the freed block stays mapped
    float* input = allocate();
    output = allocate();
    fill(neighbour, 0, stream);
    fill(input, 21, stream);
    exec = capture(stream, [&] { MUST(run("kg_scale", stream, input, output, 2.0f, count)); });
    return input;
}

EXPORTED void module_replay() {
    replay("replay", exec, stream);
    show_value("output", output, stream);
}

EXPORTED void module_free(void* memory) {
    MUST(gpu::init());
    SHOW(gpu::free(memory));
}
