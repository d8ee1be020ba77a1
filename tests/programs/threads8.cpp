// SPDX-License-Identifier: Apache-2.0
// Eight threads make their first CUDA call at once; each then captures on a stream of its own (thread-local mode) and
// replays 100 times. The input of the last thread's graph is freed by the first one before a last replay.
#include "common.h"

#include <pthread.h>

namespace {

constexpr int threads = 8;
pthread_barrier_t start;

struct Work {
    int number = 0;
    int first_call = -1;
    int failures = 0;
    float value = 0;
    gpu::Stream stream = nullptr;
    gpu::Exec exec = nullptr;
    float* input = nullptr;
    float* output = nullptr;
};

void* work(void* argument) {
    Work& own = *static_cast<Work*>(argument);
    pthread_barrier_wait(&start);
    own.first_call = gpu::init();
    MUST(gpu::stream_create(&own.stream));
    own.input = allocate();
    own.output = allocate();
    fill(own.input, static_cast<float>(own.number), own.stream);
    pthread_barrier_wait(&start);
    own.exec = capture(own.stream, [&] { MUST(run("kg_scale", own.stream, own.input, own.output, 2.0f, count)); });
    for (int i = 0; i < 100; ++i) {
        own.failures += gpu::graph_launch(own.exec, own.stream) != 0;
    }
    own.value = last_value(own.output, own.stream);
    return nullptr;
}

}  // namespace

int main() {
    pthread_barrier_init(&start, nullptr, threads);
    pthread_t ids[threads];
    Work works[threads];
    for (int i = 0; i < threads; ++i) {
        works[i].number = i;
        pthread_create(&ids[i], nullptr, work, &works[i]);
    }
    for (int i = 0; i < threads; ++i) {
        pthread_join(ids[i], nullptr);
        std::printf("thread %d: first call %d, failures %d, value %g\n", i, works[i].first_call, works[i].failures,
                    static_cast<double>(works[i].value));
    }
    MUST(gpu::init());
    Work& last = works[threads - 1];
    SHOW(gpu::free(last.input));
    replay("after the free", last.exec, last.stream);
    for (Work& own : works) {
        MUST(gpu::exec_destroy(own.exec));
    }
    return 0;
}
