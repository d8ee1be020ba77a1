// SPDX-License-Identifier: Apache-2.0
// pthread_cancel from another thread while the victim is inside calls of the driver: `cancelled_calls launch` blocks in
// a host node, which the driver runs on a thread of its own or on the victim's, `cancelled_calls free` is in a loop of
// allocations (tests/programs/cancel is cancelled in a synchronize). Either way the end must be the bare one: forced
// unwinding through a frame with noexcept, a catch or a destructor of the shim would abort.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <cstring>

#include "scene.h"

namespace {

sem_t entered, released;
Scene scene;
std::atomic<bool> cleaned{false};

void CUDA_CB block(void*) {
    sem_post(&entered);
    sem_wait(&released);  // a cancellation point
}

void on_unwind(void*) {
    cleaned = true;
}

void* victim(void* argument) {
    const char* way = static_cast<const char*>(argument);
    pthread_cleanup_push(on_unwind, nullptr);
    scene.cu.set_current(scene.context);
    if (std::strcmp(way, "free") == 0) {
        sem_post(&entered);
        for (;;) {
            CUdeviceptr pointer = 0;
            scene.cu.alloc(&pointer, 4096);
            scene.cu.launch(scene.exec, scene.stream);
            scene.cu.free(pointer);
            scene.cu.synchronize(scene.stream);
            pthread_testcancel();
        }
    }
    scene.cu.launch(scene.exec, scene.stream);
    scene.cu.synchronize(scene.stream);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    char* way = argc > 1 ? argv[1] : argv[0];
    sem_init(&entered, 0, 0);
    sem_init(&released, 0, 0);
    scene.open_with_graph();
    if (std::strcmp(way, "free") != 0) {
        CUgraph graph = nullptr;
        must("cuStreamBeginCapture", scene.cu.begin(scene.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        must("cuLaunchHostFunc", scene.cu.launch_host(scene.stream, block, nullptr));
        must("cuLaunchKernel", scene.enqueue_scale(scene.input, scene.output, 2.0f, scene.stream));
        must("cuStreamEndCapture", scene.cu.end(scene.stream, &graph));
        must("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
    }
    pthread_t thread;
    pthread_create(&thread, nullptr, victim, way);
    sem_wait(&entered);
    timespec moment{0, 20000000};
    nanosleep(&moment, nullptr);
    pthread_cancel(thread);
    nanosleep(&moment, nullptr);
    sem_post(&released);
    void* result = nullptr;
    pthread_join(thread, &result);
    std::printf("cancelled %d, unwound %d\n", result == PTHREAD_CANCELED, cleaned.load());
    std::fflush(stdout);
    // The driver may have been left in the middle of a call: what follows is only the end of the process.
    return 0;
}
