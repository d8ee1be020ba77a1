// SPDX-License-Identifier: Apache-2.0
// CASES F9: a capture of 100 kernels in each mode, on a blocking and a non-blocking stream, with the node count.
#include "common.h"

int main() {
    MUST(gpu::init());
    float* a = allocate();
    float* b = allocate();
    for (gpu::StreamKind kind : {gpu::non_blocking, gpu::blocking}) {
        gpu::Stream stream = nullptr;
        MUST(gpu::stream_create(&stream, kind));
        for (gpu::Mode mode : {gpu::global, gpu::thread_local_, gpu::relaxed}) {
            std::printf("mode %d, %s\n", mode, kind == gpu::blocking ? "blocking" : "non-blocking");
            fill(a, 1, stream);
            gpu::Graph graph = nullptr;
            gpu::Exec exec = nullptr;
            SHOW(gpu::begin_capture(stream, mode));
            int failures = 0;
            for (int i = 0; i < 100; ++i) {
                failures += run("kg_add", stream, a, a, b, count) != 0;
            }
            int status = -1;
            SHOW(gpu::is_capturing(stream, &status));
            SHOW(gpu::end_capture(stream, &graph));
            std::size_t nodes = 0;
            SHOW(gpu::node_count(graph, &nodes));
            std::printf("status %d, failures %d, nodes %zu\n", status, failures, nodes);
            SHOW(gpu::instantiate(&exec, graph));
            replay("graph", exec, stream);
            show_value("b", b, stream);
            gpu::Mode left = gpu::relaxed;
            SHOW(gpu::exchange_mode(&left));
            std::printf("mode of the thread: %d\n", left);
            MUST(gpu::exchange_mode(&left));
            SHOW(gpu::exec_destroy(exec));
            SHOW(gpu::graph_destroy(graph));
        }
        MUST(gpu::stream_destroy(stream));
    }
    MUST(gpu::free(a));
    MUST(gpu::free(b));
    return 0;
}
