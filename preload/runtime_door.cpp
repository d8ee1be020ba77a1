// SPDX-License-Identifier: Apache-2.0
//
// The runtime functions of symbols.def. They note their name for the driver calls below and forward: everything that
// matters is seen where it reaches the driver, and forwarding keeps cudart's own error state. The real function is
// found for the calling module, because cudart may have been loaded RTLD_LOCAL (every Python extension) and two
// versions may live side by side.
#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "rows.h"
#include "session/annotation.h"

namespace keepgraph::preload {
namespace {

// The caller's own libcudart, by the entry of its NEEDED list.
void* needed_cudart(const link_map* map) {
    const char* strings = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_STRTAB)
            strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    for (const ElfW(Dyn)* entry = map->l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_NEEDED && std::strncmp(strings + entry->d_un.d_val, "libcudart.so", 12) == 0)
            return dlopen(strings + entry->d_un.d_val, RTLD_LAZY | RTLD_NOLOAD);
    return nullptr;
}

bool in_cudart(void* function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "libcudart.so");
}

void* find(const char* name, void* caller) {
    // Another preloaded library comes before every cudart, as it would without us.
    void* const after_us = real_dlsym(RTLD_NEXT, name);
    if (after_us != nullptr && !in_cudart(after_us))
        return after_us;
    Dl_info info{};
    link_map* map = nullptr;
    void* function = nullptr;
    if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 && map != nullptr) {
        if (void* const cudart = needed_cudart(map))
            function = real_dlsym(cudart, name);
        else if (map->l_name[0] != '\0')
            if (void* const module = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD))
                function = real_dlsym(module, name);
    }
    (void)dlerror();
    return function != nullptr ? function : after_us;
}

// One call site asks once per thread; the loader is asked again when another module calls.
struct Cached {
    void* caller;
    void* function;
};

}  // namespace

#define DRIVER(symbol, handler, need, parameters, arguments)
#define RUNTIME(symbol, handler, parameters, arguments)                                 \
    extern "C" __attribute__((visibility("default"))) cudaError_t symbol parameters {   \
        static thread_local Cached cached;                                              \
        void* const caller = __builtin_return_address(0);                               \
        if (cached.caller != caller)                                                    \
            cached = {caller, find(#symbol, caller)};                                   \
        const auto real = reinterpret_cast<cudaError_t(*) parameters>(cached.function); \
        if (real == nullptr)                                                            \
            return cudaErrorInitializationError;                                        \
        const char* const above = session::runtime_call;                                \
        session::runtime_call = #symbol;                                                \
        const cudaError_t result = real arguments;                                      \
        session::runtime_call = above;                                                  \
        return result;                                                                  \
    }
#include "symbols.def"
#undef DRIVER
#undef RUNTIME

}  // namespace keepgraph::preload
