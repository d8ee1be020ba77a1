// SPDX-License-Identifier: Apache-2.0
//
// Loaded objects without the loader's lock. dlopen, dlsym, dladdr and dlerror wait for the thread that runs a
// constructor below dlopen, and that constructor may wait for the very thread that sits in a wrapper of ours. dlopen
// would also take a reference, and a plugin that the program closes would stay.
//
// Nothing here takes a reference, so the caller of a function here knows why its object stays: it is a module whose
// code called us and will be returned to, one that such a module needs, or one of the start.
#pragma once

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
Module module_of(const void* address) noexcept;

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

/// Where a module says which cudart it needs. Kept with what was found for that module: another module at the same
/// place, with a link_map at the same place, may need another cudart.
struct Needed {
    const ElfW(Dyn) * section = nullptr;  ///< the module's
    std::uintptr_t entry = 0;             ///< index of the DT_NEEDED entry
    std::uintptr_t strings = 0;           ///< index of the DT_STRTAB entry
    std::uintptr_t length = 0;            ///< of the name, 0 when no cudart is needed
    std::uint64_t tail = 0;               ///< the last eight bytes of the name, where versions differ
};
Needed needed_cudart(const link_map* map) noexcept;
const char* name_of(const Needed& needed, const link_map* map) noexcept;
bool still_needed(const Needed& needed, const link_map* map) noexcept;

/// dlsym(handle of `map`, name): the object itself, then what it needs, breadth first.
void* find_in_scope(const link_map* map, const char* name) noexcept;

}  // namespace keepgraph::preload
