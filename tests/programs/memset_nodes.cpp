// SPDX-License-Identifier: Apache-2.0
// A memset node whose buffer is freed. By capture, and with "by_hand" by an explicit node.
#include "common.h"

int main(int argc, char** argv) {
    const bool by_hand = argc > 1 && std::strcmp(argv[1], "by_hand") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* buffer = allocate();
    fill(buffer, 7, stream);
    gpu::Exec exec = nullptr;
    if (by_hand) {
        gpu::Graph graph = nullptr;
        gpu::Node node = nullptr;
        MUST(gpu::graph_create(&graph));
        MUST(gpu::add_memset(&node, graph, nullptr, 0, buffer, 0, bytes));
        MUST(gpu::instantiate(&exec, graph));
        MUST(gpu::graph_destroy(graph));
    } else {
        exec = capture(stream, [&] { MUST(gpu::memset_async(buffer, 0, bytes, stream)); });
    }
    replay("buffer alive", exec, stream);
    show_value("buffer", buffer, stream);
    SHOW(gpu::free(buffer));
    replay("buffer freed", exec, stream);
    SHOW(gpu::exec_destroy(exec));
    MUST(gpu::free(neighbour));
    return 0;
}
