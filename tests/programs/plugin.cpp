// SPDX-License-Identifier: Apache-2.0
// A shared library with a CUDA runtime of its own (which one: the link line), loaded by plugin_host. Nothing of CUDA is
// in the host, so the runtime is in the process only as this library's dependency, RTLD_LOCAL like the library.
// With KG_IN_CONSTRUCTOR everything is done by a thread that the constructor waits for, while dlopen holds the loader's
// lock.
#include <thread>

#include "victim.h"

namespace {

int work() {
    gpu::Stream stream = nullptr;
    float* output = nullptr;
    gpu::Exec exec = freed_input(&stream, &output);
    SHOW(gpu::exec_destroy(exec));
    SHOW(gpu::free(output));
    SHOW(gpu::stream_destroy(stream));
    return 0;
}

}  // namespace

#ifdef KG_IN_CONSTRUCTOR
__attribute__((constructor)) static void begin() {
    std::thread([] { work(); }).join();
}
extern "C" __attribute__((visibility("default"))) int plugin_run() {
    return 0;
}
#else
extern "C" __attribute__((visibility("default"))) int plugin_run() {
    return work();
}
#endif
