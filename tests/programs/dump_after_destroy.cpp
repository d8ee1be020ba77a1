// SPDX-License-Identifier: Apache-2.0
// CASES E1: a graph of every common node type whose template is destroyed right after the instantiation.
//   dump_after_destroy             by capture
//   dump_after_destroy by_hand     the same nodes and edges by explicit calls
// Kernel with a mangled template name, memset, 2-D copy, host function, external event record and wait, in one chain.
#include "common.h"

#include <atomic>

namespace {
std::atomic<int> host_calls{0};
void host_step(void* data) {
    host_calls += *static_cast<int*>(data);
}
int host_argument = 1;
}  // namespace

int main(int argc, char** argv) {
    const bool by_hand = argc > 1 && std::strcmp(argv[1], "by_hand") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    gpu::Event event = nullptr;
    MUST(gpu::stream_create(&stream));
    MUST(gpu::event_create(&event));
    float* input = allocate();
    float* doubled = allocate();
    float* rows = allocate();
    fill(input, 5, stream);
    constexpr std::size_t pitch = 128;
    constexpr std::size_t width = 64;
    constexpr std::size_t height = bytes / pitch;

    gpu::Graph graph = nullptr;
    int n = count;
    gpu::Kernel twice = get_kernel("_Z8kg_twiceIfEvPKT_PS0_i");
    void* arguments[] = {&input, &doubled, &n};
    if (by_hand) {
        gpu::Node chain[6];
        MUST(gpu::graph_create(&graph));
        SHOW(gpu::add_kernel(&chain[0], graph, nullptr, 0, twice, 4, 256, arguments));
        SHOW(gpu::add_memset(&chain[1], graph, &chain[0], 1, rows, 0, bytes));
        SHOW(gpu::add_copy_rows(&chain[2], graph, &chain[1], 1, rows, pitch, doubled, pitch, width, height));
        SHOW(gpu::add_host(&chain[3], graph, &chain[2], 1, host_step, &host_argument));
        SHOW(gpu::add_event_record(&chain[4], graph, &chain[3], 1, event));
        SHOW(gpu::add_event_wait(&chain[5], graph, &chain[4], 1, event));
    } else {
        MUST(gpu::begin_capture(stream, gpu::thread_local_));
        SHOW(gpu::launch(twice, 4, 256, arguments, stream));
        SHOW(gpu::memset_async(rows, 0, bytes, stream));
        SHOW(gpu::copy_rows_async(rows, pitch, doubled, pitch, width, height, stream));
        SHOW(gpu::host_function(stream, host_step, &host_argument));
        SHOW(gpu::event_record(event, stream, true));
        SHOW(gpu::stream_wait(stream, event, true));
        MUST(gpu::end_capture(stream, &graph));
    }
    std::size_t nodes = 0;
    MUST(gpu::node_count(graph, &nodes));
    std::printf("nodes: %zu\n", nodes);
    gpu::Exec exec = nullptr;
    SHOW(gpu::instantiate(&exec, graph));
    SHOW(gpu::graph_destroy(graph));
    replay("chain", exec, stream);
    replay("chain", exec, stream);
    std::printf("host calls: %d\n", host_calls.load());
    float first = 0;
    MUST(gpu::copy(&first, rows, sizeof first, gpu::device_to_host));
    std::printf("rows[0] = %g, ", static_cast<double>(first));
    show_value("last of the gap", rows, stream);
    SHOW(gpu::exec_destroy(exec));
    SHOW(gpu::event_destroy(event));
    for (float* buffer : {input, doubled, rows}) {
        MUST(gpu::free(buffer));
    }
    return 0;
}
