// SPDX-License-Identifier: Apache-2.0
//
// What scripts/demo shows: a program with three graphs, as its author would write it, straight on cudart.
//   demo            a healthy graph, one whose input is freed, one whose input's address goes to another buffer
//   demo healthy | freed | recycled     one of them
// Every CUDA call of it returns success.
#include "kernels.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
int kg_library_load(void** library, const void* code, int* options, void** values, unsigned count, int* library_options,
                    void** library_values, unsigned library_count) __asm__("cudaLibraryLoadData");
int kg_library_kernel(void** kernel, void* library, const char* name) __asm__("cudaLibraryGetKernel");
}

namespace {

constexpr int count = 1024;
constexpr std::size_t bytes = count * sizeof(float);
void* scale = nullptr;
void* fill = nullptr;
cudaStream_t stream = nullptr;

void check(int code, const char* call) {
    if (code != 0) {
        std::printf("%s: %d\n", call, code);
        std::fflush(stdout);
        std::_Exit(1);
    }
}
#define CHECK(call) check(call, #call)

__attribute__((noinline)) float* allocate_buffer() {
    void* buffer = nullptr;
    CHECK(cudaMalloc(&buffer, bytes));
    return static_cast<float*>(buffer);
}

__attribute__((noinline)) void set_buffer(float* buffer, float value) {
    int n = count;
    void* arguments[] = {&buffer, &value, &n};
    CHECK(cudaLaunchKernel(fill, dim3{4, 1, 1}, dim3{256, 1, 1}, arguments, 0, stream));
    CHECK(cudaStreamSynchronize(stream));
}

__attribute__((noinline)) float* allocate_input(float value) {
    float* input = allocate_buffer();
    set_buffer(input, value);
    return input;
}

// Records one step: output = 2 * input.
__attribute__((noinline)) cudaGraphExec_t capture_step(float* input, float* output) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t step = nullptr;
    float factor = 2;
    int n = count;
    void* arguments[] = {&input, &output, &factor, &n};
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaLaunchKernel(scale, dim3{4, 1, 1}, dim3{256, 1, 1}, arguments, 0, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&step, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return step;
}

__attribute__((noinline)) void replay_step(const char* name, cudaGraphExec_t step, const float* output) {
    const int launched = cudaGraphLaunch(step, stream);
    const int finished = cudaStreamSynchronize(stream);
    float first = 0;
    CHECK(cudaMemcpy(&first, output, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("%-28s launch %d, synchronize %d, output %g\n", name, launched, finished, static_cast<double>(first));
    std::fflush(stdout);
}

__attribute__((noinline)) void release_input(float* input) {
    CHECK(cudaFree(input));
}

// Another part of the program allocates until it gets the address that was released.
__attribute__((noinline)) float* allocate_foreign_buffer(const float* released, float value) {
    float* others[64];
    int taken = 0;
    float* foreign = nullptr;
    while (foreign == nullptr && taken < 64) {
        float* next = allocate_buffer();
        if (next == released) {
            foreign = next;
        } else {
            others[taken++] = next;
        }
    }
    while (taken > 0) {
        CHECK(cudaFree(others[--taken]));
    }
    if (foreign != nullptr) {
        set_buffer(foreign, value);
    }
    return foreign;
}

void healthy() {
    float* input = allocate_input(21);
    float* output = allocate_buffer();
    cudaGraphExec_t step = capture_step(input, output);
    for (int i = 0; i < 3; ++i) {
        replay_step("healthy", step, output);
    }
    CHECK(cudaGraphExecDestroy(step));
    release_input(input);
    CHECK(cudaFree(output));
}

void freed() {
    float* input = allocate_input(21);
    float* output = allocate_buffer();
    cudaGraphExec_t step = capture_step(input, output);
    replay_step("input alive", step, output);
    release_input(input);
    replay_step("input freed", step, output);
    CHECK(cudaGraphExecDestroy(step));
    CHECK(cudaFree(output));
}

void recycled() {
    float* input = allocate_input(21);
    float* output = allocate_buffer();
    cudaGraphExec_t step = capture_step(input, output);
    replay_step("input alive", step, output);
    release_input(input);
    float* foreign = allocate_foreign_buffer(input, 4);
    replay_step("address recycled", step, output);
    CHECK(cudaGraphExecDestroy(step));
    CHECK(cudaFree(output));
    if (foreign != nullptr) {
        CHECK(cudaFree(foreign));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* part = argc > 1 ? argv[1] : "all";
    const bool all = std::strcmp(part, "all") == 0;
    void* library = nullptr;
    CHECK(kg_library_load(&library, kg_kernels_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(kg_library_kernel(&scale, library, "kg_scale"));
    CHECK(kg_library_kernel(&fill, library, "kg_fill"));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float* neighbour = allocate_input(0);  // keeps the page mapped, so that a late read of a small block cannot fault
    if (all || std::strcmp(part, "healthy") == 0) {
        healthy();
    }
    if (all || std::strcmp(part, "freed") == 0) {
        freed();
    }
    if (all || std::strcmp(part, "recycled") == 0) {
        recycled();
    }
    CHECK(cudaFree(neighbour));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
