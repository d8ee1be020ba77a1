// SPDX-License-Identifier: Apache-2.0
// A shared library with a CUDA runtime of its own (which one: the link line), loaded by plugin_host. Nothing of CUDA is
// in the host, so the runtime is in the process only as this library's dependency, RTLD_LOCAL like the library.
#include "victim.h"

extern "C" __attribute__((visibility("default"))) int plugin_run() {
    gpu::Stream stream = nullptr;
    float* output = nullptr;
    gpu::Exec exec = freed_input(&stream, &output);
    SHOW(gpu::exec_destroy(exec));
    SHOW(gpu::free(output));
    SHOW(gpu::stream_destroy(stream));
    return 0;
}
