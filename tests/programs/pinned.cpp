// SPDX-License-Identifier: Apache-2.0
// CASES A2: a captured copy reads a pinned host block, which is freed; another block takes its place.
#include "common.h"

int main() {
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    void* neighbour = nullptr;
    MUST(gpu::host_alloc(&neighbour, bytes));
    void* block = nullptr;
    MUST(gpu::host_alloc(&block, bytes));
    float* staging = static_cast<float*>(block);
    for (int i = 0; i < count; ++i) {
        staging[i] = 3;
    }
    float* device = allocate();
    gpu::Exec exec =
        capture(stream, [&] { MUST(gpu::copy_async(device, staging, bytes, gpu::host_to_device, stream)); });
    replay("block alive", exec, stream);
    show_value("device", device, stream);
    SHOW(gpu::host_free(block));
    void* other = nullptr;
    MUST(gpu::host_alloc(&other, bytes));
    std::memset(other, 0, bytes);
    replay("block freed", exec, stream);
    SHOW(gpu::exec_destroy(exec));
    MUST(gpu::host_free(other));
    MUST(gpu::host_free(neighbour));
    MUST(gpu::free(device));
    return 0;
}
