// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <cstdio>
#include <cstdlib>

#include "gpu.h"

namespace keepgraph::bench {
namespace {

void must(int code, const char* what) {
    if (code == 0)
        return;
    std::fprintf(stderr, "bench: %s: %d\n", what, code);
    std::exit(3);
}

}  // namespace

bool open_device() {
    return gpu::init() == 0;
}

CUgraph chain_of_kernels(std::size_t nodes) {
    static void* input = nullptr;
    static void* output = nullptr;
    if (input == nullptr) {
        must(gpu::malloc(&input, 4096), "malloc");
        must(gpu::malloc(&output, 4096), "malloc");
    }
    const gpu::Kernel kernel = gpu::kernel("kg_scale");
    must(kernel == nullptr, "kernel kg_scale");
    gpu::Graph graph = nullptr;
    must(gpu::graph_create(&graph), "graph_create");
    gpu::Node before = nullptr;
    for (std::size_t i = 0; i < nodes; ++i) {
        int factor = 2;
        int count = 4;
        void* arguments[] = {&input, &output, &factor, &count};
        gpu::Node node = nullptr;
        must(gpu::add_kernel(&node, graph, &before, i > 0, kernel, 1, 32, arguments), "add_kernel");
        before = node;
    }
    return graph;
}

CUgraphExec instantiate(CUgraph graph) {
    gpu::Exec exec = nullptr;
    must(gpu::instantiate(&exec, graph), "instantiate");
    return exec;
}

}  // namespace keepgraph::bench
