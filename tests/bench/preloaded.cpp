// SPDX-License-Identifier: Apache-2.0
//
// Whole calls through the driver, with and without the shim, in one process that runs under it: the wrapper is what
// dlsym hands out, the bare function is read from libcuda's own symbol table. Batches of both alternate; what is
// printed is the median over the rounds of each batch's time per call, and of their difference.
//
//   LD_PRELOAD=libkeepgraph_preload.so preloaded [ROUNDS]
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "graphs.h"
#include "trace/elf_symbols.h"

namespace keepgraph::bench {
namespace {

template <class Function>
struct Pair {
    Function bare;
    Function wrapped;
};

// Ends the program when both are the same: the shim is not there, and every difference would be 0.
template <class Function>
Pair<Function> find(Function, const char* name) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const Pair<Function> pair{reinterpret_cast<Function>(trace::find_symbol_in("libcuda.so.1", name)),
                              reinterpret_cast<Function>(dlsym(driver, name))};
    if (pair.bare == nullptr || pair.wrapped == nullptr || pair.bare == pair.wrapped) {
        std::fprintf(stderr, "preloaded: %s is not wrapped: run this under the shim\n", name);
        std::exit(1);
    }
    return pair;
}
#define FIND(name) find(&::name, #name)
#define FIND_BARE(name) reinterpret_cast<decltype(&::name)>(trace::find_symbol_in("libcuda.so.1", #name))

double nanoseconds(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double, std::nano>(time).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

// `call(function)` makes `calls` calls; `between` runs after each batch, unmeasured.
template <class Function, class Call, class Between>
void measure(const char* what, const Pair<Function>& pair, int rounds, int calls, Call call, Between between) {
    std::vector<double> times[2];
    std::vector<double> added;
    for (int round = 0; round < rounds; ++round) {
        double both[2];
        for (int turn = 0; turn < 2; ++turn) {
            const int which = (round + turn) % 2;  // neither is always first
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < calls; ++i)
                call(which == 0 ? pair.bare : pair.wrapped);
            both[which] = nanoseconds(std::chrono::steady_clock::now() - begin) / calls;
            between();
        }
        times[0].push_back(both[0]);
        times[1].push_back(both[1]);
        added.push_back(both[1] - both[0]);
    }
    const double bare = median(times[0]);
    std::printf("{\"what\": \"%s\", \"bare_ns\": %.1f, \"wrapped_ns\": %.1f, \"added_ns\": %.1f, \"ratio\": %.4f}\n",
                what, bare, median(times[1]), median(added), (bare + median(added)) / bare);
}

// With `control` the bare function stands on both sides: what is "added" then is the scatter of the measurement.
void launches(const char* what, std::size_t nodes, std::size_t count, int rounds, int calls, bool control = false) {
    auto launch = FIND(cuGraphLaunch);
    if (control)
        launch.wrapped = launch.bare;
    const auto synchronize = FIND_BARE(cuCtxSynchronize);
    std::vector<CUgraphExec> execs;
    CUgraph const graph = chain_of_kernels(nodes);
    for (std::size_t i = 0; i < count; ++i)
        execs.push_back(instantiate(graph));
    CUstream stream = nullptr;
    FIND_BARE(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    std::size_t at = 0;
    measure(
        what, launch, rounds, calls, [&](auto function) { function(execs[at++ % execs.size()], stream); },
        [&] { synchronize(); });
}

void allocations(int rounds) {
    struct Both {
        decltype(&::cuMemAlloc_v2) allocate;
        decltype(&::cuMemFree_v2) release;
    };
    const auto births = FIND(cuMemAlloc_v2);
    const auto deaths = FIND(cuMemFree_v2);
    const Pair<Both> pair{{births.bare, deaths.bare}, {births.wrapped, deaths.wrapped}};
    measure(
        "malloc and free of 4 KB", pair, rounds, 100,
        [](const Both& both) {
            CUdeviceptr pointer = 0;
            both.allocate(&pointer, 4096);
            both.release(pointer);
        },
        [] {});
}

void instantiations(std::size_t nodes, int rounds) {
    const auto make = FIND(cuGraphInstantiateWithFlags);
    const auto destroy = FIND(cuGraphExecDestroy);
    CUgraph const graph = chain_of_kernels(nodes);
    // Both are destroyed by the wrapper, which does nothing for an exec that it does not know.
    std::vector<CUgraphExec> made;
    measure(
        "instantiate 10000 kernel nodes", make, rounds, 1,
        [&](auto function) {
            CUgraphExec exec = nullptr;
            if (function(&exec, graph, 0) == CUDA_SUCCESS)
                made.push_back(exec);
        },
        [&] {
            for (CUgraphExec exec : made)
                destroy.wrapped(exec);
            made.clear();
        });
}

// The cudart door and below it the driver door, for a graph that is none, from two call sites in turn. Bare is the
// function in cudart's own symbol table, called from the same two.
__attribute__((noinline)) void call_here(decltype(&::cudaGraphDestroy) function) {
    (void)function(nullptr);
    asm volatile("");  // no tail call: the return address must lie here
}
__attribute__((noinline)) void call_there(decltype(&::cudaGraphDestroy) function) {
    (void)function(nullptr);
    asm volatile("");
}
void call_sites(int rounds) {
    void* const cudart = dlopen("libcudart.so.13", RTLD_NOW);
    const auto find = [&](void* handle) {
        return reinterpret_cast<decltype(&::cudaGraphDestroy)>(dlsym(handle, "cudaGraphDestroy"));
    };
    const Pair<decltype(&::cudaGraphDestroy)> pair{find(cudart), find(RTLD_DEFAULT)};
    if (pair.bare == nullptr || pair.wrapped == nullptr || pair.bare == pair.wrapped) {
        std::printf("{\"what\": \"cudart call, two call sites in turn\", \"why_not\": \"no libcudart.so.13\"}\n");
        return;
    }
    int at = 0;
    measure(
        "cudart call, two call sites in turn", pair, rounds, 2000,
        [&](auto function) { at++ % 2 == 0 ? call_here(function) : call_there(function); }, [] {});
}

// What no scan can do without: the least that reading a graph costs.
void reading(std::size_t nodes, int rounds) {
    const auto get_nodes = FIND_BARE(cuGraphGetNodes);
    const auto get_type = FIND_BARE(cuGraphNodeGetType);
    const auto instantiate_graph = FIND_BARE(cuGraphInstantiateWithFlags);
    const auto destroy = FIND_BARE(cuGraphExecDestroy);
    const auto get_kernel = FIND_BARE(cuGraphKernelNodeGetParams_v2);
    CUgraph const graph = chain_of_kernels(nodes);
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        // The scan follows an instantiation, which leaves the caches full of other things.
        CUgraphExec exec = nullptr;
        instantiate_graph(&exec, graph, 0);
        const auto begin = std::chrono::steady_clock::now();
        std::vector<CUgraphNode> handles(nodes);
        std::size_t count = nodes;
        get_nodes(graph, handles.data(), &count);
        for (CUgraphNode node : handles) {
            CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
            CUDA_KERNEL_NODE_PARAMS params;
            get_type(node, &type);
            get_kernel(node, &params);
        }
        times.push_back(nanoseconds(std::chrono::steady_clock::now() - begin));
        destroy(exec);
    }
    std::printf("{\"what\": \"the driver's own time to tell of 10000 kernel nodes\", \"bare_ns\": %.1f}\n",
                median(times));
}

}  // namespace
}  // namespace keepgraph::bench

int main(int argc, char** argv) {
    using namespace keepgraph::bench;
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 201;
    if (!open_device()) {
        std::fprintf(stderr, "preloaded: no device: run it with scripts/with-sim or on a GPU\n");
        return 1;
    }
    launches("launch, 2 nodes, one exec", 2, 1, rounds, 200);
    launches("launch, 2 nodes, 64 execs in turn", 2, 64, rounds, 192);
    launches("launch, 2 nodes, 64 execs in turn, bare twice", 2, 64, rounds, 192, true);
    launches("launch, 10000 nodes, one exec", 10000, 1, rounds, 5);
    launches("launch, 10000 nodes, one exec, bare twice", 10000, 1, rounds, 5, true);
    allocations(rounds);
    call_sites(rounds);
    instantiations(10000, rounds / 20 + 5);
    reading(10000, rounds / 20 + 5);
}
