// SPDX-License-Identifier: Apache-2.0
// `many_threads launch`: 64 threads launch execs of their own and one that they share, 50 times each.
// `many_threads free`: the same while one thread frees the shared input in between. `many_threads first`: 8 threads
// make the first use of CUDA at the same moment (case F2).
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "scene.h"

int main(int argc, char** argv) {
    const Way way(argc, argv, "launch");
    std::atomic<int> failed{0};
    if (way.is("first")) {
        pthread_barrier_t start;
        pthread_barrier_init(&start, nullptr, 8);
        std::vector<std::thread> threads;
        for (int index = 0; index < 8; ++index) {
            threads.emplace_back([&] {
                Scene scene;
                pthread_barrier_wait(&start);
                scene.open_with_graph();
                failed += scene.cu.launch(scene.exec, scene.stream) != CUDA_SUCCESS;
                failed += scene.cu.synchronize(scene.stream) != CUDA_SUCCESS;
                failed += scene.first(scene.output) != 2.0f;
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        std::printf("failed %d\n", failed.load());
        return 0;
    }

    constexpr int number = 64, rounds = 50;
    Scene scene;
    scene.open_with_graph();
    std::vector<std::thread> threads;
    for (int index = 0; index < number; ++index) {
        threads.emplace_back([&, index] {
            failed += scene.cu.set_current(scene.context) != CUDA_SUCCESS;
            CUstream stream = nullptr;
            failed += scene.cu.stream_create(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
            CUdeviceptr in = scene.buffer(3.0f), out = scene.buffer(0.0f);
            CUgraphExec own = scene.graph_of(in, out, stream);
            for (int round = 0; round < rounds; ++round) {
                failed += scene.cu.launch(own, stream) != CUDA_SUCCESS;
                failed += scene.cu.launch(scene.exec, stream) != CUDA_SUCCESS;
                if (index == 0 && round == rounds / 2 && way.is("free")) {
                    failed += scene.cu.free(scene.input) != CUDA_SUCCESS;
                }
            }
            failed += scene.cu.synchronize(stream) != CUDA_SUCCESS;
            failed += scene.first(out) != 6.0f;
            failed += scene.cu.exec_destroy(own) != CUDA_SUCCESS;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    failed += scene.cu.launch(scene.exec, scene.stream) != CUDA_SUCCESS;
    failed += scene.cu.synchronize(scene.stream) != CUDA_SUCCESS;
    std::printf("launches %d, failed %d\n", number * rounds * 2 + 1, failed.load());
    return 0;
}
