// SPDX-License-Identifier: Apache-2.0
//
// Loaded objects without the loader's lock. dlopen, dlsym, dladdr and dlerror wait for the thread that runs a
// constructor below dlopen, and that constructor may wait for the very thread that sits in a wrapper of ours. dlopen
// would also take a reference, and a plugin that the program closes would stay.
//
// What is asked for at every call, module_of, takes no lock at all. The rest walks the objects under the loader's list
// lock (dl_iterate_phdr), which the loader itself never holds while it runs foreign code.
//
// Nothing here takes a reference, so the caller of a function here knows why its object stays: it is a module whose
// code called us and will be returned to, one that such a module needs, or one of the start.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdint>

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

/// Among the objects that the process certainly started with, and which are never unloaded? Those are the program, the
/// preloads, the libraries that the program itself needs, and others that the loader mapped before it put itself into
/// its list. What comes after it counts as loaded later, also where that is not so.
///
/// Rejected: taking the list's end in a constructor of ours. A library of the start may have loaded plugins by then.
bool is_of_start(const link_map* map) noexcept;

/// What RTLD_NEXT means for this library: the first definition of `name` behind us among the objects of the start. Null
/// when there is none.
void* next_of_start(const char* name) noexcept;

/// The first definition of `name` in an object that was loaded later, in load order.
void* find_in_later(const char* name) noexcept;

/// dlsym(handle of `map`, name): the object itself, then what it needs, breadth first.
void* find_in_scope(const link_map* map, const char* name) noexcept;

/// The object that a reference to `soname` in a list of needed libraries reaches.
Module loaded_as(const char* soname) noexcept;

/// In the namespace of the program, so not by dlmopen?
bool in_base_namespace(const link_map* map) noexcept;

/// The first entry with `tag` of a dynamic section, null when there is none.
inline const ElfW(Dyn) * entry_of(const ElfW(Dyn) * section, decltype(ElfW(Dyn)::d_tag) tag) noexcept {
    for (; section->d_tag != DT_NULL; ++section)
        if (section->d_tag == tag)
            return section;
    return nullptr;
}

/// What a DT_STRTAB or DT_SYMTAB entry points to. The loader relocates the pointer in place, except where the dynamic
/// section is read-only (vdso).
template <class Table>
const Table* table_at(std::uintptr_t base, const ElfW(Dyn) & entry) noexcept {
    const std::uintptr_t value = entry.d_un.d_ptr;
    return reinterpret_cast<const Table*>(value < base ? value + base : value);
}

}  // namespace keepgraph::preload
