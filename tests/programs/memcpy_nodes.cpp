// SPDX-License-Identifier: Apache-2.0
// A copy node whose source, then another whose destination is freed. By capture, and with "by_hand" by explicit nodes.
#include "common.h"

int main(int argc, char** argv) {
    const bool by_hand = argc > 1 && std::strcmp(argv[1], "by_hand") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* source = allocate();
    float* destination = allocate();
    float* kept = allocate();
    fill(source, 7, stream);
    fill(kept, 8, stream);

    const auto copy_graph = [&](float* to, float* from) {
        if (!by_hand) {
            return capture(stream, [&] { MUST(gpu::copy_async(to, from, bytes, gpu::device_to_device, stream)); });
        }
        gpu::Graph graph = nullptr;
        gpu::Node node = nullptr;
        gpu::Exec exec = nullptr;
        MUST(gpu::graph_create(&graph));
        MUST(gpu::add_copy(&node, graph, nullptr, 0, to, from, bytes, gpu::device_to_device));
        MUST(gpu::instantiate(&exec, graph));
        MUST(gpu::graph_destroy(graph));
        return exec;
    };
    gpu::Exec reads_freed = copy_graph(kept, source);
    gpu::Exec writes_freed = copy_graph(destination, kept);
    replay("source alive", reads_freed, stream);
    show_value("copy", kept, stream);
    replay("destination alive", writes_freed, stream);
    show_value("copy", destination, stream);
    SHOW(gpu::free(source));
    replay("source freed", reads_freed, stream);
    SHOW(gpu::free(destination));
    replay("destination freed", writes_freed, stream);
    SHOW(gpu::exec_destroy(reads_freed));
    SHOW(gpu::exec_destroy(writes_freed));
    MUST(gpu::free(kept));
    MUST(gpu::free(neighbour));
    return 0;
}
