// SPDX-License-Identifier: Apache-2.0
// `no_address_space MOMENT ROOM`: at MOMENT all address space but ROOM KB is used up (RLIMIT_AS), and the program goes
// on capturing, launching, freeing and destroying, from five threads in the end. Its own malloc has enough put by: who
// fails is whoever needs new mappings.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "scene.h"

namespace {

std::string moment;
std::size_t room = 0;

void fill_address_space() {
    rlimit limit{};
    long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld", &pages) != 1)
            pages = 0;
        std::fclose(file);
    }
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = static_cast<rlim_t>(pages) * 4096 + (rlim_t{16} << 20);
    setrlimit(RLIMIT_AS, &limit);
    void* last = nullptr;
    for (std::size_t bytes = std::size_t{8} << 20; bytes >= 4096;) {
        void* mapping = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping == MAP_FAILED) {
            bytes /= 2;
            continue;
        }
        if (last == nullptr)
            last = mapping;
    }
    if (room > 0)
        munmap(last, room);
}

void now(const char* what) {
    if (moment == what)
        fill_address_space();
}

/// Everything once; the sum of all codes. `keep`: the graph stays, so that what is known of graphs grows.
long whole_round(Scene& scene, CUstream stream, CUdeviceptr output, bool keep) {
    CUdeviceptr input = 0;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    long codes = scene.cu.alloc(&input, Scene::bytes);
    codes += scene.cu.begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    codes += scene.enqueue_scale(input, output, 2.0f, stream);
    codes += scene.cu.end(stream, &graph);
    codes += scene.cu.instantiate(&exec, graph, 0);
    codes += scene.cu.graph_destroy(graph);
    for (int i = 0; i < 5; ++i)
        codes += scene.cu.launch(exec, stream);
    codes += scene.cu.synchronize(stream);
    codes += scene.cu.free(input);
    codes += scene.cu.launch(exec, stream);
    if (!keep)
        codes += scene.cu.exec_destroy(exec);
    return codes;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    moment = argv[1];
    room = std::strtoul(argv[2], nullptr, 10) * 1024;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_ARENA_MAX, 1);
    void* volatile put_by = std::malloc(std::size_t{32} << 20);  // volatile: a pair that does nothing is left out
    std::free(put_by);

    Scene scene;
    scene.open();
    scene.input = scene.buffer(1.0f);
    scene.output = scene.buffer(0.0f);

    std::atomic<bool> go{false};
    std::atomic<long> codes{0};
    std::vector<std::thread> threads;
    CUstream streams[5] = {};
    for (CUstream& stream : streams)
        must("cuStreamCreate", scene.cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            long mine = scene.cu.set_current(scene.context);
            while (!go)
                std::this_thread::yield();
            for (int round = 0; round < 100; ++round)
                mine += whole_round(scene, streams[i], scene.output, round % 2 != 0);
            codes += mine;
        });

    now("capture");
    CUgraph graph = nullptr;
    say("cuStreamBeginCapture", scene.cu.begin(scene.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    say("cuLaunchKernel", scene.enqueue_scale(scene.input, scene.output, 2.0f, scene.stream));
    now("end");
    say("cuStreamEndCapture", scene.cu.end(scene.stream, &graph));
    now("instantiate");
    say("cuGraphInstantiate", scene.cu.instantiate(&scene.exec, graph, 0));
    scene.replay("cuGraphLaunch");
    now("free");
    say("cuMemFree", scene.cu.free(scene.input));
    now("launch");
    scene.replay("cuGraphLaunch after the free");
    now("destroy");
    say("cuGraphExecDestroy", scene.cu.exec_destroy(scene.exec));
    say("cuGraphDestroy", scene.cu.graph_destroy(graph));
    for (int round = 0; round < 300; ++round)
        codes += whole_round(scene, streams[4], scene.output, round % 2 != 0);
    std::printf("rounds %ld\n", codes.load());
    now("threads");
    go = true;
    for (std::thread& thread : threads)
        thread.join();
    std::printf("threads %ld\n", codes.load());
    return 0;
}
