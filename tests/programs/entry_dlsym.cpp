// SPDX-License-Identifier: Apache-2.0
// A program linked to libcuda asks dlsym for driver functions with RTLD_DEFAULT, RTLD_NEXT, a handle and its own
// handle, and calls what it got. A handle's answer comes from that library; the scopes' answers may be an interposer's.
#include "common.h"

#include <dlfcn.h>

namespace {

void allocate_and_free(const char* how, void* allocate_entry, void* free_entry) {
    if (allocate_entry == nullptr || free_entry == nullptr) {
        std::printf("%s: null\n", how);
        return;
    }
    const auto allocate_by = reinterpret_cast<int (*)(unsigned long long*, std::size_t)>(allocate_entry);
    const auto free_by = reinterpret_cast<int (*)(unsigned long long)>(free_entry);
    unsigned long long pointer = 0;
    const int allocated = allocate_by(&pointer, bytes);
    std::printf("%s: allocate %d, free %d\n", how, allocated, free_by(pointer));
}

void by_scope(const char* how, void* scope) {
    allocate_and_free(how, dlsym(scope, "cuMemAlloc_v2"), dlsym(scope, "cuMemFree_v2"));
}

}  // namespace

int main() {
    MUST(gpu::init());
    by_scope("default", RTLD_DEFAULT);
    by_scope("next", RTLD_NEXT);
    by_scope("handle", dlopen("libcuda.so.1", RTLD_NOW));
    by_scope("the program's own handle", dlopen(nullptr, RTLD_NOW));
    dlerror();
    std::printf("a name that no driver has: %s\n",
                dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuNoSuchFunction") != nullptr ? "found" : "null");
    std::printf("error text: %s\n", dlerror() != nullptr ? "kept" : "lost");
    return 0;
}
