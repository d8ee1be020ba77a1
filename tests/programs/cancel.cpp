// SPDX-License-Identifier: Apache-2.0
// A thread is cancelled inside a synchronize. The request is already pending when it calls: the first cancellation
// point inside acts on it, and the unwinding passes through whatever frames lie between. Without one in the driver, the
// test point after the call does.
#include "victim.h"

#include <pthread.h>

namespace {

gpu::Exec exec = nullptr;
gpu::Stream stream = nullptr;
bool cleaned_up = false;

void clean_up(void*) {
    cleaned_up = true;
}

void* synchronize_and_be_cancelled(void*) {
    pthread_cleanup_push(clean_up, nullptr);
    pthread_cancel(pthread_self());
    gpu::stream_sync(stream);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return nullptr;
}

}  // namespace

int main() {
    float* output = nullptr;
    exec = freed_input(&stream, &output);
    MUST(gpu::graph_launch(exec, stream));
    for (int round = 0; round < 3; ++round) {
        pthread_t thread;
        void* result = nullptr;
        cleaned_up = false;
        pthread_create(&thread, nullptr, synchronize_and_be_cancelled, nullptr);
        pthread_join(thread, &result);
        std::printf("cancelled: %d, cleaned up: %d\n", result == PTHREAD_CANCELED, cleaned_up);
    }
    replay("after the cancellations", exec, stream);
    SHOW(gpu::exec_destroy(exec));
    return 0;
}
