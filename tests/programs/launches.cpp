// SPDX-License-Identifier: Apache-2.0
// launches [THREADS [LAUNCHES]]: each thread launches a graph of its own that often, with nothing freed. They are made
// below launch_often, so that a tool can count what happens in them alone; what a thread's first launch has to find out
// is found before.
#include "common.h"

#include <atomic>
#include <thread>
#include <vector>

extern "C" __attribute__((noinline, visibility("default"))) int launch_often(gpu::Exec exec, gpu::Stream stream,
                                                                             int launches) {
    int failed = 0;
    for (int i = 0; i < launches; ++i) {
        failed += gpu::graph_launch(exec, stream) != 0;
    }
    return failed;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 8;
    const int launches = argc > 2 ? std::atoi(argv[2]) : 100;
    MUST(gpu::init());
    std::atomic<int> failed{0};
    std::vector<std::thread> running;
    for (int number = 0; number < threads; ++number) {
        running.emplace_back([number, launches, &failed] {
            MUST(gpu::init());
            gpu::Stream stream = nullptr;
            MUST(gpu::stream_create(&stream));
            float* input = allocate();
            float* output = allocate();
            fill(input, static_cast<float>(number), stream);
            gpu::Exec exec = capture(stream, [&] { MUST(run("kg_scale", stream, input, output, 2.0f, count)); });
            failed += gpu::graph_launch(exec, stream) != 0;
            failed += launch_often(exec, stream, launches);
            failed += last_value(output, stream) != 2.0f * static_cast<float>(number);
            MUST(gpu::exec_destroy(exec));
            MUST(gpu::stream_destroy(stream));
            MUST(gpu::free(input));
            MUST(gpu::free(output));
        });
    }
    for (std::thread& thread : running) {
        thread.join();
    }
    std::printf("failed: %d\n", failed.load());
    return 0;
}
