// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace keepgraph::trace {

// Symbol look-up in the dynamic symbol tables of the loaded objects, without dlsym and dladdr. Three reasons:
// - dlsym and dladdr wait for the lock that dlopen holds while constructors run. A constructor that waits for the GIL,
//   and a thread that holds the GIL and sits in our wrapper, would wait for each other for ever.
// - a failed dlsym changes what the host's next dlerror() says.
// - RTLD_DEFAULT does not see a libpython that a host loaded RTLD_LOCAL.
// dl_iterate_phdr takes the loader's list lock only, which is never held while foreign code runs.

/// What stands behind the last '/'. By hand, for find_symbol_in(file, name): without one call of libc.
inline const char* file_name(const char* path) noexcept {
    const char* name = path;
    for (; *path != '\0'; ++path)
        if (*path == '/')
            name = path + 1;
    return name;
}

/// Address of the first exported function or object called `name`, in load order; nullptr when there is none.
/// Symbol versions are ignored, indirect functions are not resolved. Any thread; about 20 ns per loaded object.
void* find_symbol(const char* name) noexcept;

/// The same in the objects whose file name (without folder) is `file`, without one call of libc: a sanitizer's runtime
/// looks symbols up through us before its own strcmp and dl_iterate_phdr work. Walks the loader's list without a lock:
/// only for libraries that are never unloaded, such as libc.
void* find_symbol_in(const char* file, const char* name) noexcept;

/// The same in one object: the address, or the entry of its symbol table. The caller knows that the object stays loaded
/// meanwhile. Takes no lock at all.
void* find_symbol_in(const link_map* object, const char* name) noexcept;
const ElfW(Sym) * symbol_in(const link_map* object, const char* name) noexcept;

/// How often objects were loaded and unloaded so far. Any thread; about 50 ns.
struct LoadCounts {
    unsigned long long adds = 0;
    unsigned long long subs = 0;
    bool operator==(const LoadCounts& other) const { return adds == other.adds && subs == other.subs; }
};
LoadCounts load_counts() noexcept;

/// What is known about a code address from dynamic symbol tables alone.
struct NearestSymbol {
    std::string module;              ///< path of the object; the main program's is its own link
    std::uintptr_t module_base = 0;  ///< load bias; 0 when no object covers the address
    std::string symbol;              ///< raw (mangled) name, empty when no exported symbol covers the address
    std::uintptr_t symbol_address = 0;
};

/// Fills `out` for `pc`; false when no loaded object covers it. Any thread; a linear scan of one symbol table, up to
/// a millisecond in a library with 100000 exports, so not for a hot path. Names longer than 4095 bytes are cut.
bool nearest_symbol(std::uintptr_t pc, NearestSymbol& out);

}  // namespace keepgraph::trace
