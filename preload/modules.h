// SPDX-License-Identifier: Apache-2.0
//
// Loaded objects without the loader's lock. dlopen, dlsym, dladdr and dlerror wait for the thread that runs a
// constructor below dlopen, and that constructor may wait for the very thread that sits in a wrapper of ours. dlopen
// would also take a reference, and a plugin that the program closes would stay.
//
// Nothing here takes a reference, so the caller of a function here knows why its object stays: it is a module whose
// code called us and will be returned to, one that such a module needs, or one of the start.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace keepgraph::preload {

/// A loaded object, as far as can be told for a few nanoseconds. All zero: none (generated code, say).
struct Module {
    const link_map* map = nullptr;
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool operator==(const Module&) const = default;
};

/// The object that `address` lies in. No lock, no allocation; any thread, signal handlers too. An object that is being
/// loaded is found once it is relocated, before its constructors run.
inline Module module_of(const void* address) noexcept {
    dl_find_object found;
    if (_dl_find_object(const_cast<void*>(address), &found) != 0)
        return {};
    return {found.dlfo_link_map, reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
            reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)};
}

/// Among the objects that the process started with, which are never unloaded?
bool is_of_start(const link_map* map) noexcept;

/// What RTLD_NEXT means for this library: the first definition of `name` behind us in the global scope, as far as it
/// was there at the start. Null when there is none.
void* next_of_start(const char* name) noexcept;

/// The first definition of `name` in an object that was loaded later, in load order.
void* find_in_later(const char* name) noexcept;

/// The object that a reference to `soname` in a list of needed libraries reaches.
Module loaded_as(const char* soname) noexcept;

/// In the namespace of the program, so not by dlmopen?
bool in_base_namespace(const link_map* map) noexcept;

/// The string table that a DT_STRTAB entry names. The loader relocates the pointer in place, except where the dynamic
/// section is read-only (vdso).
inline const char* strings_at(std::uintptr_t base, const ElfW(Dyn) & entry) noexcept {
    const std::uintptr_t value = entry.d_un.d_ptr;
    return reinterpret_cast<const char*>(value < base ? value + base : value);
}

/// Where a module says which cudart it needs. Kept with what was found for that module: another module at the same
/// place, with a link_map at the same place, may need another cudart.
struct Needed {
    const ElfW(Dyn) * section = nullptr;  ///< the module's
    std::uint32_t entry = 0;              ///< index of the DT_NEEDED entry
    std::uint32_t strings = 0;            ///< index of the DT_STRTAB entry
    std::uint64_t length = 0;             ///< of the name, 0 when no cudart is needed
    std::uint64_t tail = 0;               ///< the last eight bytes of the name, where versions differ
};
Needed needed_cudart(const link_map* map) noexcept;

inline const char* name_of(const Needed& needed, const link_map* map) noexcept {
    return strings_at(map->l_addr, needed.section[needed.strings]) + needed.section[needed.entry].d_un.d_val;
}

inline std::uint64_t last_bytes(const char* name, std::uint64_t length) noexcept {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, name + length + 1 - sizeof bytes, sizeof bytes);  // with the terminating zero
    return bytes;
}

inline bool still_needed(const Needed& needed, const link_map* map) noexcept {
    if (needed.section != map->l_ld)
        return false;
    // The tags make sure that these are a module's own entries before its strings are read.
    return needed.length == 0 ||
           (needed.section[needed.entry].d_tag == DT_NEEDED && needed.section[needed.strings].d_tag == DT_STRTAB &&
            last_bytes(name_of(needed, map), needed.length) == needed.tail);
}

/// dlsym(handle of `map`, name): the object itself, then what it needs, breadth first.
void* find_in_scope(const link_map* map, const char* name) noexcept;

}  // namespace keepgraph::preload
