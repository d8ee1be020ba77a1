// SPDX-License-Identifier: Apache-2.0
//
// What a wrapper adds to a call, without the noise of a driver: the handlers of the doors around a function that does
// nothing, and that function alone, in turn (--benchmark_enable_random_interleaving). The session is a real one, over
// real graphs of whatever libcuda is found. Times are CPU nanoseconds per call of one thread.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "driver/api.h"
#include "graphs.h"
#include "intercept.h"

namespace keepgraph::preload {
void* swap(const char*, void* pointer) noexcept {  // the handlers of look-ups need one; none is measured here
    return pointer;
}
}  // namespace keepgraph::preload

namespace keepgraph::bench {
namespace {

// Not inlined and not known to the optimiser: a call through a pointer, as the real one.
__attribute__((noinline)) CUresult launch_nothing(CUgraphExec exec, CUstream stream) {
    benchmark::DoNotOptimize(exec);
    benchmark::DoNotOptimize(stream);
    return CUDA_SUCCESS;
}
__attribute__((noinline)) CUresult remove_nothing(CUgraph graph, const CUgraphNode*, const CUgraphNode*, std::size_t) {
    benchmark::DoNotOptimize(graph);
    return CUDA_SUCCESS;
}
__attribute__((noinline)) CUresult allocate_nothing(CUdeviceptr* pointer, std::size_t size) {
    *pointer = 0x7f1234560000;
    benchmark::DoNotOptimize(size);
    return CUDA_SUCCESS;
}
__attribute__((noinline)) CUresult free_nothing(CUdeviceptr pointer) {
    benchmark::DoNotOptimize(pointer);
    return CUDA_SUCCESS;
}

// The graphs are made once, in main: the threads of a benchmark have no current context, and read only.
using Shape = std::pair<std::int64_t, std::int64_t>;  // nodes, execs
std::map<Shape, std::vector<CUgraphExec>> execs_of;
constexpr std::int64_t node_counts[] = {2, 10000};
constexpr std::int64_t exec_counts[] = {1, 64};

void make_graphs() {
    for (const std::int64_t nodes : node_counts) {
        CUgraph const graph = chain_of_kernels(static_cast<std::size_t>(nodes));
        for (const std::int64_t execs : exec_counts) {
            for (std::int64_t i = 0; i < execs; ++i) {
                CUgraphExec const exec = instantiate(graph);
                session::instantiated("cuGraphInstantiateWithFlags", exec, graph);
                execs_of[{nodes, execs}].push_back(exec);
            }
        }
    }
}

void launch(benchmark::State& state, bool wrapped) {
    const auto& execs = execs_of.at({state.range(0), state.range(1)});
    auto* volatile real = &launch_nothing;
    std::size_t at = static_cast<std::size_t>(state.thread_index());
    for (auto _ : state) {
        const CUgraphExec exec = execs[at++ % execs.size()];
        benchmark::DoNotOptimize(wrapped ? preload::intercept::launch("cuGraphLaunch", real, exec, nullptr)
                                         : real(exec, nullptr));
    }
}

void pass_through(benchmark::State& state, bool wrapped) {
    auto* volatile real = &remove_nothing;
    const CUgraphNode* const none = nullptr;
    for (auto _ : state)
        benchmark::DoNotOptimize(
            wrapped ? preload::intercept::graph_change("cuGraphRemoveDependencies", real, nullptr, none, none, 0ul)
                    : real(nullptr, nullptr, nullptr, 0));
}

// Memory that no graph refers to, while graphs live.
void allocate_and_free(benchmark::State& state, bool wrapped) {
    auto* volatile real_allocate = &allocate_nothing;
    auto* volatile real_free = &free_nothing;
    for (auto _ : state) {
        CUdeviceptr pointer = 0;
        if (wrapped) {
            preload::intercept::allocate("cuMemAlloc_v2", real_allocate, &pointer, 4096ul);
            preload::intercept::free_memory("cuMemFree_v2", real_free, pointer);
        } else {
            real_allocate(&pointer, 4096);
            real_free(pointer);
        }
    }
}

#define IN_TURN(function, ...)                                           \
    BENCHMARK_CAPTURE(function, bare, false) __VA_ARGS__->UseRealTime(); \
    BENCHMARK_CAPTURE(function, wrapped, true) __VA_ARGS__->UseRealTime()

IN_TURN(launch, ->ArgNames({"nodes", "execs"})
                    ->ArgsProduct({{node_counts[0], node_counts[1]}, {exec_counts[0], exec_counts[1]}})
                    ->Threads(1)
                    ->Threads(8));
IN_TURN(pass_through, );
IN_TURN(allocate_and_free, ->Threads(1)->Threads(8));

}  // namespace
}  // namespace keepgraph::bench

int main(int argc, char** argv) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr || !keepgraph::bench::open_device()) {
        std::fprintf(stderr, "door: no libcuda.so.1, or no device: run it with scripts/with-sim or on a GPU\n");
        return 1;
    }
    keepgraph::driver::load([](void* handle, const char* name) { return dlsym(handle, name); }, driver);
    keepgraph::session::start();
    keepgraph::bench::make_graphs();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
}
