// SPDX-License-Identifier: Apache-2.0
// A plugin that shows which cudart its calls reach: the code of a failed call must be the last error of the cudart that
// answers functions which nobody interposes. Its static destructor tells when it is unloaded.
#include <cuda_runtime_api.h>

#include <cstdio>

namespace {

struct Farewell {
    ~Farewell() {
        std::printf("own_cudart: unloaded\n");
        std::fflush(stdout);
    }
} farewell;

int calls = 0;

}  // namespace

#ifdef KG_INDIRECT
extern "C" int cudart_user();  // brings the cudart
#else
static int cudart_user() {
    return 0;
}
#endif

extern "C" __attribute__((visibility("default"))) int plugin_run() {
    int version = cudart_user();
    (void)cudaRuntimeGetVersion(&version);
    std::printf("own_cudart %d: call %d\n", version, ++calls);
    void* pointer = nullptr;
    const int failed = cudaMalloc(&pointer, static_cast<size_t>(1) << 60);
    std::printf("too large: %d, last error %d\n", failed, static_cast<int>(cudaGetLastError()));
    const int allocated = cudaMalloc(&pointer, 4096);
    std::printf("allocate: %d, free: %d\n", allocated, static_cast<int>(cudaFree(pointer)));
    const int freed_twice = cudaFree(pointer);
    std::printf("freed twice: %d, last error %d\n", freed_twice, static_cast<int>(cudaGetLastError()));
    std::fflush(stdout);
    return 0;
}
