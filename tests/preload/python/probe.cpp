// SPDX-License-Identifier: Apache-2.0
// A library for ctypes that calls capture_python from every kind of place and hands the result back as text.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "trace/native_stack.h"
#include "trace/python_stack.h"

using keepgraph::trace::capture_python;

namespace {

std::string text_of(const keepgraph::trace::PythonStack& stack) {
    std::string text;
    for (const auto& frame : stack.frames) {
        text += frame.file + '\t' + std::to_string(frame.line) + '\t' + frame.function + '\n';
    }
    return text + "reason\t" + stack.unavailable + '\n';
}

void put(const std::string& text, char* out, unsigned long size) {
    if (size > 0) {
        const std::size_t length = std::min<std::size_t>(text.size(), size - 1);
        std::memcpy(out, text.data(), length);
        out[length] = '\0';
    }
}

struct Request {
    char* out;
    unsigned long size;
};

void* capture_in_thread(void* data) {
    const auto* request = static_cast<Request*>(data);
    put(text_of(capture_python()), request->out, request->size);
    return nullptr;
}

}  // namespace

extern "C" {

/// The caller's Python frames. With ctypes.CDLL the GIL is released around the call, with ctypes.PyDLL it is held.
__attribute__((visibility("default"))) void probe_capture(char* out, unsigned long size) {
    put(text_of(capture_python()), out, size);
}

/// The same in a thread that Python has never seen.
__attribute__((visibility("default"))) void probe_capture_in_c_thread(char* out, unsigned long size) {
    Request request{out, size};
    pthread_t thread;
    if (pthread_create(&thread, nullptr, capture_in_thread, &request) == 0) {
        pthread_join(thread, nullptr);
    }
}

/// Mean time of one capture in nanoseconds.
__attribute__((visibility("default"))) double probe_cost(unsigned long rounds) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t frames = 0;
    for (unsigned long i = 0; i < rounds; ++i) {
        frames += capture_python().frames.size();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return frames == 0 && rounds == 0 ? 0 : took.count() / static_cast<double>(rounds);
}

/// Nothing of this library may be the first native frame: 1 when the caller's module is outside it.
__attribute__((visibility("default"))) int probe_native_starts_outside() {
    keepgraph::trace::NativeStack stack;
    keepgraph::trace::capture_native(stack);
    Dl_info first{};
    Dl_info own{};
    dladdr(reinterpret_cast<void*>(&probe_native_starts_outside), &own);
    return stack.count > 2 && dladdr(stack.frames[0], &first) != 0 && first.dli_fbase != own.dli_fbase;
}

/// Captures while the process goes down, after the interpreter is gone: must stay silent and not crash.
__attribute__((destructor)) static void capture_at_exit() {
    if (getenv("PROBE_AT_EXIT") != nullptr) {
        const std::string text = "at exit: " + text_of(capture_python());
        (void)!write(1, text.data(), text.size());
    }
}

}  // extern "C"
