// SPDX-License-Identifier: Apache-2.0
// CASES A6: two graphs share a workspace; tearing down the second frees it while the first lives on.
#include "common.h"

namespace {

float* workspace = nullptr;

__attribute__((noinline)) void drop_workspace() {
    SHOW(gpu::free(workspace));
}

__attribute__((noinline)) void tear_down_graph_b(gpu::Exec exec) {
    SHOW(gpu::exec_destroy(exec));
    drop_workspace();
}

}  // namespace

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* output_a = allocate();
    float* output_b = allocate();
    workspace = allocate();
    fill(workspace, 5, stream);
    gpu::Exec graph_a = capture(stream, [&] { MUST(run("kg_scale", stream, workspace, output_a, 2.0f, count)); });
    gpu::Exec graph_b = capture(stream, [&] { MUST(run("kg_scale", stream, workspace, output_b, 3.0f, count)); });
    replay("a", graph_a, stream);
    replay("b", graph_b, stream);
    show_value("output of a", output_a, stream);
    show_value("output of b", output_b, stream);
    tear_down_graph_b(graph_b);
    replay("a without its workspace", graph_a, stream);
    SHOW(gpu::exec_destroy(graph_a));
    for (float* buffer : {output_a, output_b, neighbour}) {
        MUST(gpu::free(buffer));
    }
    return 0;
}
