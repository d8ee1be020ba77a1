// SPDX-License-Identifier: Apache-2.0
//
// How programs get hold of driver functions: dlsym, dlvsym, cuGetProcAddress. The real look-up always runs first and
// the pointer that it gives selects the wrapper (no name or version table to keep up with CUDA).
//
// No lock of ours is held across a call of the loader: results are published pointer by pointer, and threads that race
// compute the same values. Only the program's own dlsym and dlvsym call the loader; a wrapper walks the loaded objects
// (modules.h says why).
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "driver/api.h"
#include "exports.h"
#include "modules.h"
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
std::atomic<void*> next_functions[rows];  // of the start, so valid for ever; or `none`
char none;

/// The libcuda that found_functions are of. The first one wins: a second copy (another folder, another namespace) keeps
/// its own pointers, and those stay untouched.
std::atomic<const link_map*> bound_map{nullptr};
std::atomic<std::uintptr_t> bound_begin{0};
std::atomic<const void*> bound_section{nullptr};
std::atomic<bool> permanent{false};  // it is of the start or pinned

bool is_libcuda(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    return std::strncmp(slash != nullptr ? slash + 1 : path, "libcuda.so", 10) == 0;
}

/// Is there a bound libcuda, and still the one that it was? A program that only links to libcuda in a plugin may unload
/// both. Not seen: another build of it at exactly the same place, before the next call.
bool bound_is_there() {
    if (permanent.load(std::memory_order_acquire))
        return true;
    const void* const section = bound_section.load(std::memory_order_acquire);
    if (section == nullptr)
        return false;
    const Module now = module_of(section);
    return now.map != nullptr && now.map == bound_map.load(std::memory_order_relaxed) &&
           now.begin == bound_begin.load(std::memory_order_relaxed);
}

void bind(const Module& libcuda) {
    if (bound_section.load(std::memory_order_acquire) != nullptr)
        driver::unload();
    for (unsigned row = 0; row < rows; ++row)
        found_functions[row].store(trace::find_symbol_in(libcuda.map, names[row]), std::memory_order_release);
    driver::load([](void* context,
                    const char* name) { return trace::find_symbol_in(static_cast<const link_map*>(context), name); },
                 const_cast<link_map*>(libcuda.map));
    bound_map.store(libcuda.map, std::memory_order_relaxed);
    bound_begin.store(libcuda.begin, std::memory_order_relaxed);
    bound_section.store(libcuda.map->l_ld, std::memory_order_release);
    if (is_of_start(libcuda.map))
        permanent.store(true, std::memory_order_release);
}

/// `pointer` belongs to a libcuda: bind to that one, unless one is bound. False when none is.
bool bind_from(void* pointer) {
    if (bound_is_there())
        return true;
    const Module module = module_of(pointer);
    if (module.map == nullptr || !is_libcuda(module.map->l_name) || !in_base_namespace(module.map))
        return false;
    bind(module);
    return true;
}

/// Only for the program's own look-ups, where the loader's lock was taken anyway. The handle stays open, so that
/// pointers which the program keeps survive its dlclose as they do with the drivers that stay by themselves.
void pin() {
    if (permanent.load(std::memory_order_acquire))
        return;
    const link_map* const map = bound_map.load(std::memory_order_relaxed);
    if (void* const handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD))
        permanent.store(handle == map, std::memory_order_release);
    else
        (void)dlerror();
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
    const Module module = module_of(real);
    if (module.map != nullptr && is_libcuda(module.map->l_name))
        session::looked_up(name, result != real);
    return result;
}

// A program that is linked to libcuda calls us without any look-up.
void bind_by_name() {
    if (bound_is_there())
        return;
    const Module libcuda = loaded_as("libcuda.so.1");
    if (libcuda.map != nullptr)
        bind(libcuda);
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
    void* known = slot.load(std::memory_order_acquire);
    if (known != nullptr && known != &none)
        return known;
    bind_by_name();
    if (known == nullptr) {
        known = next_of_start(names[static_cast<unsigned>(row)]);
        slot.store(known != nullptr ? known : &none, std::memory_order_release);
        if (known != nullptr)
            return known;
    }
    return bound_is_there() ? found(row) : nullptr;
}

void* swap(const char* name, void* pointer) noexcept {
    if (pointer == nullptr || name == nullptr || name[0] != 'c' || name[1] != 'u')
        return pointer;
    if (bind_from(pointer))
        for (unsigned row = 0; row < rows; ++row)
            if (found_functions[row].load(std::memory_order_acquire) == pointer)
                return note(name, pointer, handed_out(static_cast<Row>(row)));
    return note(name, pointer, pointer);
}

static void* swap_and_pin(const char* name, void* pointer) noexcept {
    void* const result = swap(name, pointer);
    if (result != pointer)
        pin();
    return result;
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
    return swap_and_pin(name, real_dlsym(handle, name));
}

void* keepgraph_dlvsym(void* handle, const char* name, const char* version) {
    keepgraph_find_loader();
    return swap_and_pin(name, reinterpret_cast<void* (*)(void*, const char*, const char*)>(keepgraph_real_dlvsym)(
                                  handle, name, version));
}
