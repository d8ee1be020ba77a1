// SPDX-License-Identifier: Apache-2.0
// A program with an allocator of its own, as jemalloc or tcmalloc bring one: every malloc of the process, the shim's
// included, comes here. The shim should make none (it has a heap of its own): the callers are remembered while main
// runs.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "scene.h"

namespace {

alignas(4096) char pool[64 << 20];
std::atomic<size_t> used{0};
std::atomic<long> foreign_frees{0};
void* callers[100000];
std::atomic<size_t> calls{0};

struct Header {
    size_t size;
    size_t magic;
};
constexpr size_t magic = 0x6b656570;

void* take(size_t size, size_t alignment, void* caller) {
    size_t call = calls++;
    if (call < std::size(callers))
        callers[call] = caller;
    if (alignment < 16)
        alignment = 16;
    size_t need = size + alignment + sizeof(Header) + 16;
    size_t at = used.fetch_add((need + 15) & ~size_t{15});
    if (at + need > sizeof pool)
        return nullptr;
    auto start = reinterpret_cast<uintptr_t>(pool) + at + sizeof(Header);
    start = (start + alignment - 1) & ~(alignment - 1);
    new (reinterpret_cast<void*>(start - sizeof(Header))) Header{size, magic};
    return reinterpret_cast<void*>(start);
}

Header* header_of(void* pointer) {
    return reinterpret_cast<Header*>(static_cast<char*>(pointer) - sizeof(Header));
}

bool is_mine(void* pointer) {
    return pointer >= pool && pointer < pool + sizeof pool && header_of(pointer)->magic == magic;
}

}  // namespace

extern "C" {
void* malloc(size_t size) {
    return take(size, 16, __builtin_return_address(0));
}
void free(void* pointer) {
    if (pointer == nullptr)
        return;
    if (!is_mine(pointer)) {
        ++foreign_frees;
        return;
    }
    // Poison, so that a use after the free shows.
    std::memset(pointer, 0xdb, header_of(pointer)->size);
}
void* calloc(size_t number, size_t size) {
    return take(number * size, 16, __builtin_return_address(0));
}  // the pool is never used twice
void* realloc(void* old, size_t size) {
    void* fresh = take(size, 16, __builtin_return_address(0));
    if (old != nullptr && fresh != nullptr) {
        std::memcpy(fresh, old, header_of(old)->size < size ? header_of(old)->size : size);
        free(old);
    }
    return fresh;
}
void* memalign(size_t alignment, size_t size) {
    return take(size, alignment, __builtin_return_address(0));
}
void* aligned_alloc(size_t alignment, size_t size) {
    return take(size, alignment, __builtin_return_address(0));
}
int posix_memalign(void** into, size_t alignment, size_t size) {
    *into = take(size, alignment, __builtin_return_address(0));
    return *into == nullptr ? 12 : 0;
}
size_t malloc_usable_size(void* pointer) {
    return pointer == nullptr ? 0 : header_of(pointer)->size;
}
}

int main() {
    const size_t before = calls;
    Scene scene;
    scene.open_with_graph();
    scene.replay("cuGraphLaunch");
    scene.free_input_and_replay();
    say("cuGraphExecDestroy", scene.cu.exec_destroy(scene.exec));
    const size_t after = calls;
    size_t by_a_preload = 0;
    for (size_t i = before; i < after && i < std::size(callers); ++i) {
        Dl_info object;
        if (dladdr(callers[i], &object) != 0 && std::strstr(object.dli_fname, "preload") != nullptr &&
            std::strstr(object.dli_fname, ".so") != nullptr)
            ++by_a_preload;
    }
    std::printf("allocator was used %d, by a preload %zu, foreign frees %ld\n", after - before > 10, by_a_preload,
                foreign_frees.load());
    return 0;
}
