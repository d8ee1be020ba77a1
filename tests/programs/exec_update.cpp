// SPDX-License-Identifier: Apache-2.0
// The input of an exec is changed to another buffer. Freeing the old one is nobody's business any more, freeing the new
// one is a finding.
//   exec_update               by cuGraphExecUpdate, after an update that is refused (other topology)
//   exec_update set_params    by cuGraphExecKernelNodeSetParams
#include "common.h"

int main(int argc, char** argv) {
    const bool set_params = argc > 1 && std::strcmp(argv[1], "set_params") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    float* neighbour = allocate();
    float* old_input = allocate();
    float* new_input = allocate();
    float* output = allocate();
    fill(old_input, 1, stream);
    fill(new_input, 2, stream);

    const auto record = [&](float* input, int kernels) {
        gpu::Graph graph = nullptr;
        MUST(gpu::begin_capture(stream, gpu::thread_local_));
        for (int i = 0; i < kernels; ++i) {
            MUST(run("kg_scale", stream, input, output, 10.0f, count));
        }
        MUST(gpu::end_capture(stream, &graph));
        return graph;
    };
    gpu::Graph first = record(old_input, 1);
    gpu::Exec exec = nullptr;
    MUST(gpu::instantiate(&exec, first));
    replay("old input", exec, stream);
    show_value("output", output, stream);

    if (set_params) {
        gpu::Node node = nullptr;
        MUST(gpu::first_node(first, &node));
        float factor = 10;
        int n = count;
        void* arguments[] = {&new_input, &output, &factor, &n};
        SHOW(gpu::exec_set_kernel(exec, node, get_kernel("kg_scale"), 4, 256, arguments));
    } else {
        gpu::Graph other_shape = record(new_input, 2);
        SHOW(gpu::exec_update(exec, other_shape));
        replay("after the refused update", exec, stream);
        show_value("output", output, stream);
        gpu::Graph second = record(new_input, 1);
        SHOW(gpu::exec_update(exec, second));
        MUST(gpu::graph_destroy(other_shape));
        MUST(gpu::graph_destroy(second));
    }
    replay("new input", exec, stream);
    show_value("output", output, stream);
    SHOW(gpu::free(old_input));
    replay("old input freed", exec, stream);
    show_value("output", output, stream);
    SHOW(gpu::free(new_input));
    replay("new input freed", exec, stream);

    SHOW(gpu::exec_destroy(exec));
    MUST(gpu::graph_destroy(first));
    MUST(gpu::free(output));
    MUST(gpu::free(neighbour));
    return 0;
}
