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
#include <new>

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

enum class Need : bool { optional, required };
constexpr Need needs[rows] = {
#define DRIVER(symbol, handler, need, parameters, arguments) Need::need,
#define RUNTIME(symbol, handler, parameters, arguments)
#include "symbols.def"
#undef DRIVER
#undef RUNTIME
};

std::atomic<void*> next_functions[rows];  // of the start, so valid for ever; or `none`
char none;

bool is_libcuda(const char* path) {
    return std::strncmp(trace::file_name(path), "libcuda.so", 10) == 0;
}

/// The libcuda whose functions are wrapped. Leaked, as readers may hold it.
struct Binding {
    Module libcuda;
    const ElfW(Dyn) * section = nullptr;
    std::atomic<bool> stays{false};      // it is of the start or pinned
    std::atomic<bool> announced{false};  // driver::load has read it
    void* functions[rows] = {};
    const char* lacking[rows + 1] = {};  // required rows that it has no function of; a null ends them

    /// A program whose plugin is linked to libcuda may unload both. Not seen: another build of it in exactly the same
    /// place before the next call.
    bool is_there() const noexcept {
        return stays.load(std::memory_order_acquire) || (module_of(section) == libcuda && libcuda.map->l_ld == section);
    }
};

/// The first libcuda wins while it is loaded: a second copy (another folder, another namespace) keeps its own pointers,
/// and those stay untouched.
std::atomic<Binding*> bound{nullptr};

Binding* bound_to() noexcept {
    Binding* const binding = bound.load(std::memory_order_acquire);
    if (binding == nullptr || !binding->is_there())
        return nullptr;
    // Every thread sees to it before it goes on, so that none reaches the session ahead of the driver's functions.
    if (!binding->announced.load(std::memory_order_acquire)) {
        driver::load(
            [](void* map, const char* name) { return trace::find_symbol_in(static_cast<const link_map*>(map), name); },
            const_cast<link_map*>(binding->libcuda.map));
        session::driver_lacks(binding->lacking);
        session::code_unloading();  // nothing that is known of another libcuda's functions holds
        binding->announced.store(true, std::memory_order_release);
    }
    return binding;
}

Binding* bind(const Module& libcuda) noexcept {
    Binding* before = bound.load(std::memory_order_acquire);
    auto* const made = new (std::nothrow) Binding;
    if (made == nullptr)
        return nullptr;
    made->libcuda = libcuda;
    made->section = libcuda.map->l_ld;
    made->stays.store(is_of_start(libcuda.map), std::memory_order_relaxed);
    unsigned lacking = 0;
    for (unsigned row = 0; row < rows; ++row) {
        made->functions[row] = trace::find_symbol_in(libcuda.map, names[row]);
        if (made->functions[row] == nullptr && needs[row] == Need::required)
            made->lacking[lacking++] = names[row];
    }
    // Of threads that come together one wins, and all go on with its libcuda.
    if ((before != nullptr && before->is_there()) ||
        !bound.compare_exchange_strong(before, made, std::memory_order_acq_rel))
        delete made;
    return bound_to();
}

/// `pointer` belongs to a libcuda: bind to that one, unless one is bound.
Binding* bind_from(void* pointer) noexcept {
    if (Binding* const binding = bound_to())
        return binding;
    const Module module = module_of(pointer);
    if (module.map == nullptr || !is_libcuda(module.map->l_name) || !in_base_namespace(module.map))
        return nullptr;
    return bind(module);
}

/// Only for the program's own look-ups, where the loader's lock was taken anyway. The handle stays open, so that
/// pointers which the program keeps survive its dlclose as they do with the drivers that stay by themselves.
void pin() noexcept {
    Binding* const binding = bound_to();
    if (binding == nullptr || binding->stays.load(std::memory_order_acquire))
        return;
    void* const handle = dlopen(binding->libcuda.map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == binding->libcuda.map)
        binding->stays.store(true, std::memory_order_release);
    else if (handle == nullptr)
        (void)dlerror();
    else
        dlclose(handle);
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

}  // namespace

void* real_dlsym(void* handle, const char* name) noexcept {
    keepgraph_find_loader();
    return reinterpret_cast<void* (*)(void*, const char*)>(keepgraph_real_dlsym)(handle, name);
}

void* found(Row row) noexcept {
    const Binding* const binding = bound.load(std::memory_order_acquire);
    return binding != nullptr ? binding->functions[static_cast<unsigned>(row)] : nullptr;
}

void* next(Row row) noexcept {
    const auto index = static_cast<unsigned>(row);
    Binding* binding = bound_to();
    Module libcuda;
    if (binding == nullptr) {  // a program that is linked to libcuda calls us without any look-up
        libcuda = loaded_as("libcuda.so.1");
        binding = libcuda.map != nullptr ? bind(libcuda) : nullptr;
    }
    void* known = next_functions[index].load(std::memory_order_acquire);
    if (known == nullptr) {
        known = next_of_start(names[index]);
        next_functions[index].store(known != nullptr ? known : &none, std::memory_order_release);
    }
    if (known != nullptr && known != &none)
        return known;
    if (binding != nullptr)
        return binding->functions[index];
    return libcuda.map != nullptr ? trace::find_symbol_in(libcuda.map, names[index]) : nullptr;
}

void* swap(const char* name, void* pointer) noexcept {
    if (pointer == nullptr || name == nullptr || name[0] != 'c' || name[1] != 'u')
        return pointer;
    if (const Binding* const binding = bind_from(pointer))
        for (unsigned row = 0; row < rows; ++row)
            if (binding->functions[row] == pointer)
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
