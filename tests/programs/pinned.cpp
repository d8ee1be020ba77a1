// SPDX-License-Identifier: Apache-2.0
// CASES A2: a captured copy reads a pinned host block that is freed before the replay.
//   pinned            another block takes its address: foreign data is copied
//   pinned freed      nothing takes it
// The last replay: with blocks of 1 MB and less driver 580.159 dies inside cuGraphLaunch, with larger ones the
// synchronize gives 719 and the context is lost; on a GPU, not on the double, also when the address is in use again.
// Hence the 4 MB, and nothing after that replay.
#include "common.h"

constexpr int block_count = 1 << 20;
constexpr std::size_t block_bytes = block_count * sizeof(float);

int main(int argc, char** argv) {
    const bool freed = argc > 1 && std::strcmp(argv[1], "freed") == 0;
    MUST(gpu::init());
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    void* neighbour = nullptr;
    MUST(gpu::host_alloc(&neighbour, block_bytes));
    void* block = nullptr;
    MUST(gpu::host_alloc(&block, block_bytes));
    float* staging = static_cast<float*>(block);
    for (int i = 0; i < block_count; ++i) {
        staging[i] = 3;
    }
    void* pointer = nullptr;
    MUST(gpu::malloc(&pointer, block_bytes));
    float* device = static_cast<float*>(pointer);
    gpu::Exec exec =
        capture(stream, [&] { MUST(gpu::copy_async(device, staging, block_bytes, gpu::host_to_device, stream)); });
    replay("block alive", exec, stream);
    show_value("device", device, stream);
    SHOW(gpu::host_free(block));
    void* others[64];
    int taken = 0;
    if (!freed) {
        bool same = false;
        while (!same && taken < 64) {
            MUST(gpu::host_alloc(&others[taken], block_bytes));
            std::memset(others[taken], 0, block_bytes);
            same = others[taken++] == block;
        }
        std::printf("same address: %d\n", same);
        std::fflush(stdout);
    }
    replay("block freed", exec, stream);
    return 0;
}
