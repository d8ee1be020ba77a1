// SPDX-License-Identifier: Apache-2.0
// CASES F11: one graph with a freed input, then the process ends in one of these ways (exit code 7 where one is
// chosen):
//   exits return | exit | quick_exit | abort | _exit | thread_exit | pthread_exit | sigterm | sigkill | sigsegv | throw
//   exits static_destructor        frees what main left
//   exits atexit | at_quick_exit   a handler older than CUDA's own frees memory and launches
#include "victim.h"

#include <pthread.h>
#include <unistd.h>
#include <csignal>
#include <string>

namespace {

// Frees at static destruction what main left, as global caches do; codes of a runtime that is gone are shown, not
// hidden.
struct Leftovers {
    gpu::Exec exec = nullptr;
    gpu::Event event = nullptr;
    float* output = nullptr;
    ~Leftovers() {
        if (exec != nullptr) {
            SHOW(gpu::exec_destroy(exec));
            SHOW(gpu::event_destroy(event));
            SHOW(gpu::free(output));
        }
    }
};
Leftovers leftovers;

gpu::Exec late_exec = nullptr;
gpu::Stream late_stream = nullptr;
float* late_output = nullptr;
void late() {
    SHOW(gpu::free(late_output));
    SHOW(gpu::graph_launch(late_exec, late_stream));
}

void* exit_from_thread(void*) {
    std::exit(7);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "return";
    if (way == "atexit") {
        std::atexit(late);
    } else if (way == "at_quick_exit") {
        std::at_quick_exit(late);
    }
    gpu::Stream stream = nullptr;
    float* output = nullptr;
    gpu::Exec exec = freed_input(&stream, &output);
    late_exec = exec;
    late_stream = stream;
    late_output = output;
    std::printf("ending by %s\n", way.c_str());
    std::fflush(stdout);
    if (way == "exit") {
        std::exit(7);
    } else if (way == "quick_exit" || way == "at_quick_exit") {
        std::quick_exit(7);
    } else if (way == "abort") {
        std::abort();
    } else if (way == "_exit") {
        _exit(7);
    } else if (way == "thread_exit") {
        pthread_t thread;
        pthread_create(&thread, nullptr, exit_from_thread, nullptr);
        pthread_join(thread, nullptr);
    } else if (way == "sigterm") {
        std::raise(SIGTERM);
    } else if (way == "sigkill") {
        std::raise(SIGKILL);
    } else if (way == "sigsegv") {
        std::raise(SIGSEGV);
    } else if (way == "throw") {
        throw 7;
    } else if (way == "pthread_exit") {
        pthread_exit(nullptr);
    } else if (way == "static_destructor") {
        leftovers.exec = exec;
        leftovers.output = output;
        MUST(gpu::event_create(&leftovers.event));
    }
    return 7;
}
