// SPDX-License-Identifier: Apache-2.0
//
// What every test program shares. Output is one line per interesting call, "call: code", with no address and no time in
// it, so that two runs can be compared byte for byte; a call that only prepares the ground says nothing unless it
// fails.
#pragma once

#include "gpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

// stdout is flushed per line: several programs end without running exit handlers, or fork.
inline int show(const char* call, int code) {
    std::printf("%s: %d\n", call, code);
    std::fflush(stdout);
    return code;
}

inline void must(const char* call, int code, int line) {
    if (code != 0) {
        std::printf("line %d: %s: %d\n", line, call, code);
        std::fflush(stdout);
        std::_Exit(3);
    }
}

#define SHOW(call) show(#call, call)
#define MUST(call) must(#call, call, __LINE__)

constexpr int count = 1024;  // elements of every buffer; the kernels run as 4 blocks of 256
constexpr std::size_t bytes = count * sizeof(float);

inline gpu::Kernel get_kernel(const char* name) {
    gpu::Kernel found = gpu::kernel(name);
    if (found == nullptr) {
        std::printf("no kernel %s\n", name);
        std::fflush(stdout);
        std::_Exit(3);
    }
    return found;
}

inline float* allocate() {
    void* pointer = nullptr;
    MUST(gpu::malloc(&pointer, bytes));
    return static_cast<float*>(pointer);
}

// Launches with the parameters of kernels.h.
template <class... Parameters>
int run(const char* name, gpu::Stream stream, Parameters... parameters) {
    void* arguments[] = {&parameters..., nullptr};
    return gpu::launch(get_kernel(name), (count + 255) / 256, 256, arguments, stream);
}

template <class... Parameters>
int run_single(const char* name, gpu::Stream stream, Parameters... parameters) {
    void* arguments[] = {&parameters..., nullptr};
    return gpu::launch(get_kernel(name), 1, 1, arguments, stream);
}

// Writes and reads a whole buffer outside a graph.
inline void fill(float* buffer, float value, gpu::Stream stream) {
    MUST(run("kg_fill", stream, buffer, value, count));
    MUST(gpu::stream_sync(stream));
}

inline float last_value(const float* buffer, gpu::Stream stream) {
    MUST(gpu::stream_sync(stream));
    float value = 0;
    MUST(gpu::copy(&value, buffer + count - 1, sizeof value, gpu::device_to_host));
    return value;
}

inline void show_value(const char* what, const float* buffer, gpu::Stream stream) {
    std::printf("%s = %g\n", what, static_cast<double>(last_value(buffer, stream)));
    std::fflush(stdout);
}

// One graph from what `record` puts on the stream; the template is destroyed as most programs do.
template <class Record>
gpu::Exec capture(gpu::Stream stream, Record record, gpu::Mode mode = gpu::thread_local_) {
    gpu::Graph graph = nullptr;
    gpu::Exec exec = nullptr;
    MUST(gpu::begin_capture(stream, mode));
    record();
    MUST(gpu::end_capture(stream, &graph));
    MUST(gpu::instantiate(&exec, graph));
    MUST(gpu::graph_destroy(graph));
    return exec;
}

// A replay and its end. A shim that refuses the launch makes the first code non-zero; the program goes on.
inline void replay(const char* what, gpu::Exec exec, gpu::Stream stream) {
    std::printf("%s: launch %d", what, gpu::graph_launch(exec, stream));
    std::printf(", synchronize %d\n", gpu::stream_sync(stream));
    std::fflush(stdout);
}

// Allocates buffers of this size until one has the wanted address; the others go back. Null when it never came.
inline float* allocate_at(const void* wanted) {
    void* others[64];
    int taken = 0;
    float* found = nullptr;
    while (found == nullptr && taken < 64) {
        float* next = allocate();
        if (next == wanted) {
            found = next;
        } else {
            others[taken++] = next;
        }
    }
    while (taken > 0) {
        MUST(gpu::free(others[--taken]));
    }
    return found;
}
