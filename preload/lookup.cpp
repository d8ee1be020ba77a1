// SPDX-License-Identifier: Apache-2.0
//
// How programs get hold of driver functions: dlsym, dlvsym, cuGetProcAddress. The real look-up always runs first and
// the pointer that it gives selects the wrapper (no name or version table to keep up with CUDA).
//
// No lock of ours is held across a call of the loader: results are published pointer by pointer, and threads that race
// compute the same values.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "driver/api.h"
#include "exports.h"
#include "rows.h"
#include "session/session.h"
#include "trace/elf_symbols.h"

extern "C" {
__attribute__((visibility("hidden"))) void* keepgraph_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) void* keepgraph_real_dlvsym = nullptr;
__attribute__((visibility("hidden"))) void keepgraph_find_loader();
__attribute__((visibility("hidden"))) void* keepgraph_dlsym(void* handle, const char* name);
__attribute__((visibility("hidden"))) void* keepgraph_dlvsym(void* handle, const char* name, const char* version);
}

namespace keepgraph::preload {
namespace {

constexpr unsigned rows = static_cast<unsigned>(Row::count);
constexpr const char* names[rows] = {
#define DRIVER(symbol, handler, need, parameters, arguments) #symbol,
#define RUNTIME(symbol, handler, parameters, arguments)
#include "symbols.def"
#undef DRIVER
#undef RUNTIME
};

std::atomic<void*> found_functions[rows];
std::atomic<void*> next_functions[rows];
std::atomic<bool> bound{false};

bool is_libcuda(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    return std::strncmp(slash != nullptr ? slash + 1 : path, "libcuda.so", 10) == 0;
}

// Takes over the functions of the libcuda behind `handle`. The first one wins: a second copy (another folder, another
// namespace) keeps its own pointers, and those stay untouched.
void bind(void* handle) {
    if (bound.load(std::memory_order_acquire))
        return;
    for (unsigned row = 0; row < rows; ++row)
        found_functions[row].store(real_dlsym(handle, names[row]), std::memory_order_release);
    driver::load([](void* context, const char* name) { return real_dlsym(context, name); }, handle);
    bound.store(true, std::memory_order_release);
    (void)dlerror();  // rows that this driver lacks must not show up in the program's next dlerror()
}

// `pointer` belongs to a libcuda: bind to that one. The handle stays open, so that cached pointers survive a dlclose.
void bind_from(void* pointer) {
    if (bound.load(std::memory_order_acquire))
        return;
    Dl_info info{};
    link_map* map = nullptr;
    if (dladdr1(pointer, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr ||
        !is_libcuda(map->l_name))
        return;
    if (void* const handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD))
        bind(handle);
}

// OPTIONS=coverage=1 asks what was handed out; look-ups come before the settings are read.
bool coverage_wanted() {
    static const bool wanted = [] {
        const char* const options = std::getenv("KEEPGRAPH_OPTIONS");
        return options != nullptr && std::strstr(options, "coverage=1") != nullptr;
    }();
    return wanted;
}

void* note(const char* name, void* real, void* result) {
    if (!coverage_wanted())
        return result;
    Dl_info info{};
    if (dladdr(real, &info) != 0 && info.dli_fname != nullptr && is_libcuda(info.dli_fname))
        session::looked_up(name, result != real);
    return result;
}

// A program that is linked to libcuda calls us without any look-up.
void bind_by_name() {
    if (bound.load(std::memory_order_acquire))
        return;
    if (void* const handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD))
        bind(handle);
    else
        (void)dlerror();
}

}  // namespace

void* real_dlsym(void* handle, const char* name) noexcept {
    keepgraph_find_loader();
    return reinterpret_cast<void* (*)(void*, const char*)>(keepgraph_real_dlsym)(handle, name);
}

void* found(Row row) noexcept {
    return found_functions[static_cast<unsigned>(row)].load(std::memory_order_acquire);
}

void* next(Row row) noexcept {
    auto& slot = next_functions[static_cast<unsigned>(row)];
    if (void* const known = slot.load(std::memory_order_acquire))
        return known;
    bind_by_name();
    void* function = real_dlsym(RTLD_NEXT, names[static_cast<unsigned>(row)]);
    if (function == nullptr) {
        (void)dlerror();
        function = found(row);
    }
    slot.store(function, std::memory_order_release);
    return function;
}

void* swap(const char* name, void* pointer) noexcept {
    if (pointer == nullptr || name == nullptr || name[0] != 'c' || name[1] != 'u')
        return pointer;
    bind_from(pointer);
    for (unsigned row = 0; row < rows; ++row)
        if (found_functions[row].load(std::memory_order_acquire) == pointer)
            return note(name, pointer, handed_out(static_cast<Row>(row)));
    return note(name, pointer, pointer);
}

}  // namespace keepgraph::preload

using namespace keepgraph::preload;

// libc's own dlsym and dlvsym, read from its symbol table. Rejected: a reference to dlvsym@GLIBC_2.2.5. The loader lets
// an unversioned definition answer a versioned reference, so it would bind to our dlvsym and recurse.
void keepgraph_find_loader() {
    if (__atomic_load_n(&keepgraph_real_dlsym, __ATOMIC_ACQUIRE) != nullptr)
        return;
    void* found_dlsym = nullptr;
    void* found_dlvsym = nullptr;
    for (const char* file : {"libc.so.6", "libdl.so.2"}) {  // libdl: glibc before 2.34
        if (found_dlsym == nullptr)
            found_dlsym = keepgraph::trace::find_symbol_in(file, "dlsym");
        if (found_dlvsym == nullptr)
            found_dlvsym = keepgraph::trace::find_symbol_in(file, "dlvsym");
    }
    __atomic_store_n(&keepgraph_real_dlvsym, found_dlvsym, __ATOMIC_RELEASE);
    __atomic_store_n(&keepgraph_real_dlsym, found_dlsym, __ATOMIC_RELEASE);
}

void* keepgraph_dlsym(void* handle, const char* name) {
    return swap(name, real_dlsym(handle, name));
}

void* keepgraph_dlvsym(void* handle, const char* name, const char* version) {
    keepgraph_find_loader();
    return swap(name, reinterpret_cast<void* (*)(void*, const char*, const char*)>(keepgraph_real_dlvsym)(handle, name,
                                                                                                          version));
}
