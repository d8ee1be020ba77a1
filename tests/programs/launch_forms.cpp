// SPDX-License-Identifier: Apache-2.0
// The ways in which the driver takes a kernel launch, each captured with an input of its own that is freed later: plain
// parameters, the packed buffer (`extra`) with its keys in either order, cuLaunchKernelEx, cooperative, and a by-value
// struct that holds the pointers. Driver API only.
#include "common.h"
#include "driver_entry.h"

namespace {

struct ScaleParameters {  // the packed form of kg_scale
    const float* input;
    float* output;
    float factor;
    int n;
};

struct CopyStruct {  // the parameter of kg_copy_struct
    const float* input;
    float* output;
    int n;
    int pad;
};

CUfunction function(const char* name) {
    return static_cast<CUfunction>(get_kernel(name));
}

int plain(float* input, float* output, gpu::Stream stream) {
    return run("kg_scale", stream, input, output, 2.0f, count);
}

int packed(float* input, float* output, gpu::Stream stream, bool size_first) {
    ScaleParameters parameters = {input, output, 3.0f, count};
    std::size_t size = sizeof parameters;
    void* pointer_first_list[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                                  CU_LAUNCH_PARAM_END};
    void* size_first_list[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters,
                               CU_LAUNCH_PARAM_END};
    return CU(cuLaunchKernel)(function("kg_scale"), 4u, 1u, 1u, 256u, 1u, 1u, 0u, stream, static_cast<void**>(nullptr),
                              size_first ? &size_first_list[0] : &pointer_first_list[0]);
}

int extended(float* input, float* output, gpu::Stream stream) {
    float factor = 4;
    int n = count;
    void* arguments[] = {&input, &output, &factor, &n};
    CUlaunchConfig config = {};
    config.gridDimX = 4;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 256;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    const CUlaunchConfig* pointer = &config;
    return CU(cuLaunchKernelEx)(pointer, function("kg_scale"), &arguments[0], static_cast<void**>(nullptr));
}

int cooperative(float* input, float* output, gpu::Stream stream) {
    float factor = 5;
    int n = count;
    void* arguments[] = {&input, &output, &factor, &n};
    return CU(cuLaunchCooperativeKernel)(function("kg_scale"), 4u, 1u, 1u, 256u, 1u, 1u, 0u, stream, &arguments[0]);
}

int by_value(float* input, float* output, gpu::Stream stream) {
    return run("kg_copy_struct", stream, CopyStruct{input, output, count, 0});
}

}  // namespace

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* output = allocate();
    const char* const names[] = {"plain",    "packed, pointer first", "packed, size first",
                                 "extended", "cooperative",           "struct by value"};
    for (int form = 0; form < 6; ++form) {
        float* input = allocate();
        fill(input, 1, stream);
        gpu::Exec exec = capture(stream, [&] {
            const int code = form == 0   ? plain(input, output, stream)
                             : form == 1 ? packed(input, output, stream, false)
                             : form == 2 ? packed(input, output, stream, true)
                             : form == 3 ? extended(input, output, stream)
                             : form == 4 ? cooperative(input, output, stream)
                                         : by_value(input, output, stream);
            show(names[form], code);
        });
        replay("input alive", exec, stream);
        show_value("output", output, stream);
        MUST(gpu::free(input));
        replay("input freed", exec, stream);
        MUST(gpu::exec_destroy(exec));
    }
    MUST(gpu::free(output));
    MUST(gpu::free(neighbour));
    return 0;
}
