// SPDX-License-Identifier: Apache-2.0
// loader_lock LIBRARY [used]     a plugin's constructor runs below dlopen, which holds the loader's lock, and waits for
// a thread of the program that uses CUDA: for the first time at that place, or where main has been before.
#include <dlfcn.h>

#include <thread>

#include "common.h"

namespace {

void use(const char* who) {
    void* pointer = nullptr;
    show(who, gpu::malloc(&pointer, bytes));
    show(who, gpu::free(pointer));
}

}  // namespace

// Called by the plugin's constructor.
extern "C" __attribute__((visibility("default"))) void loader_lock_work() {
    std::thread([] {
        use("worker");
        gpu::Stream stream = nullptr;
        gpu::Graph graph = nullptr;
        SHOW(gpu::stream_create(&stream));
        SHOW(gpu::begin_capture(stream, gpu::relaxed));
        SHOW(gpu::end_capture(stream, &graph));
        SHOW(gpu::stream_destroy(stream));
    }).join();
}

int main(int argc, char** argv) {
    if (argc < 2)
        return 2;
    // The runtime and the dlopen of a program's own come first: what is asked is whether a wrapper needs the lock.
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    if (argc > 2)
        use("main");
    std::printf("plugin %s\n", dlopen(argv[1], RTLD_NOW) != nullptr ? "loaded" : "not loaded");
    return 0;
}
