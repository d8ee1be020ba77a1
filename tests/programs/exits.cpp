// SPDX-License-Identifier: Apache-2.0
// CASES F11: one graph with a freed input, then the process ends in one of these ways (exit code 7 where one is
// chosen):
//   exits return | exit | quick_exit | abort | _exit | thread_exit | sigterm | static_destructor
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

void* exit_from_thread(void*) {
    std::exit(7);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "return";
    gpu::Stream stream = nullptr;
    float* output = nullptr;
    gpu::Exec exec = freed_input(&stream, &output);
    std::printf("ending by %s\n", way.c_str());
    std::fflush(stdout);
    if (way == "exit") {
        std::exit(7);
    } else if (way == "quick_exit") {
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
    } else if (way == "static_destructor") {
        leftovers.exec = exec;
        leftovers.output = output;
        MUST(gpu::event_create(&leftovers.event));
    }
    return 7;
}
