// SPDX-License-Identifier: Apache-2.0
// `mix THREADS ROUNDS`: threads make graphs of buffers of their own, free, set and replay them in an order that a seed
// decides; addresses go from one thread to the next all the time. Prints how many replays used memory that was gone:
// each is of an exec and an allocation of its own, so as many findings are due, and no other.
#include <atomic>
#include <thread>
#include <vector>

#include "made_graph.h"

namespace {

Scene base;
std::atomic<long> wrong{0};
std::atomic<long> replays{0};

class Worker {
  public:
    Worker(unsigned seed, bool alone) : scene_(base), alone_(alone), state_(seed * 7919 + 1) {
        must("cuCtxSetCurrent", scene_.cu.set_current(scene_.context));
        must("cuStreamCreate", scene_.cu.stream_create(&scene_.stream, CU_STREAM_NON_BLOCKING));
        scene_.output = scene_.buffer(0.0f);
    }

    void round() {
        const CUdeviceptr input = scene_.buffer(1.0f);
        const CUgraph graph = empty_graph();
        const CUgraphNode node = add_kernel(graph, Scale(scene_, input));
        scene_.exec = exec_of(scene_, graph);
        if (random(3) == 0)
            must("cuGraphDestroy", scene_.cu.graph_destroy(graph));
        replay(false);
        switch (random(alone_ ? 5 : 4)) {
            case 0:
                free(input);
                replay(true);
                break;
            case 1: {
                free(input);
                const CUdeviceptr younger = scene_.buffer(3.0f);  // as often as not at the same address
                replay(true);
                free(younger);
                break;
            }
            case 2: {
                const CUdeviceptr other = scene_.buffer(2.0f);
                set_kernel(scene_.exec, node, Scale(scene_, other));
                free(input);
                replay(false);
                const bool gone = random(2) == 0;
                if (gone)
                    free(other);
                replay(gone);
                if (!gone)
                    free_after_exec(other);
                break;
            }
            case 3:
                free_after_exec(input);
                break;
            default: {  // with others about, one of them could live at the address by then
                free(input);
                free(scene_.buffer(3.0f));
                set_kernel(scene_.exec, node, Scale(scene_, input));
                replay(true);
                break;
            }
        }
        destroy();
    }

  private:
    unsigned random(unsigned below) {
        state_ = state_ * 1664525u + 1013904223u;
        return (state_ >> 16) % below;
    }
    void free(CUdeviceptr buffer) { must("cuMemFree", scene_.cu.free(buffer)); }
    void free_after_exec(CUdeviceptr buffer) {
        destroy();
        free(buffer);
    }
    void destroy() {
        if (scene_.exec != nullptr)
            must("cuGraphExecDestroy", scene_.cu.exec_destroy(scene_.exec));
        scene_.exec = nullptr;
    }
    void replay(bool is_wrong) {
        must("cuGraphLaunch", scene_.cu.launch(scene_.exec, scene_.stream));
        must("cuStreamSynchronize", scene_.cu.synchronize(scene_.stream));
        wrong += is_wrong;
        ++replays;
    }

    Scene scene_;
    const bool alone_;
    unsigned state_;
};

}  // namespace

int main(int argc, char** argv) {
    const unsigned threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 8;
    const long rounds = argc > 2 ? std::atol(argv[2]) : 100;
    base.open();
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
        running.emplace_back([i, rounds, threads] {
            Worker worker(i, threads == 1);
            for (long round = 0; round < rounds; ++round)
                worker.round();
        });
    for (std::thread& thread : running)
        thread.join();
    std::printf("%u graphs, %ld replays, %ld wrong\n", threads * static_cast<unsigned>(rounds), replays.load(),
                wrong.load());
    return 0;
}
