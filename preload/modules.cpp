// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

#include <cstring>

#include "trace/elf_symbols.h"

namespace keepgraph::preload {
namespace {

const char* strings_of(std::uintptr_t base, const ElfW(Dyn) * section) {
    const ElfW(Dyn)* const entry = entry_of(section, DT_STRTAB);
    return entry != nullptr ? table_at<char>(base, *entry) : nullptr;
}

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& info) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            return reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    return nullptr;
}

/// The list is in load order and its head never changes, so it is read without a lock up to here.
bool is_last_of_start(const link_map* map) {
    return map->l_addr == _r_debug.r_ldbase;
}

const link_map* own_map() {
    static constexpr char here = 0;
    return module_of(&here).map;
}

/// Calls `visit(info, section)` for each object of the program's namespace until it returns true.
template <class Visit>
void each_object(Visit visit) {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            const ElfW(Dyn)* const section = dynamic_section(*info);
            return section != nullptr && (*static_cast<Visit*>(data))(*info, section) ? 1 : 0;
        },
        &visit);
}

bool answers_to(const dl_phdr_info& info, const ElfW(Dyn) * section, const char* soname) {
    const ElfW(Dyn)* const name = entry_of(section, DT_SONAME);
    const char* const strings = strings_of(info.dlpi_addr, section);
    if (name != nullptr && strings != nullptr && std::strcmp(strings + name->d_un.d_val, soname) == 0)
        return true;
    return info.dlpi_name != nullptr && std::strcmp(trace::file_name(info.dlpi_name), soname) == 0;
}

}  // namespace

bool is_of_start(const link_map* wanted) noexcept {
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
        if (map == wanted)
            return true;
        if (is_last_of_start(map))
            break;
    }
    return false;
}

void* next_of_start(const char* name) noexcept {
    const link_map* map = own_map();
    if (map == nullptr || !is_of_start(map))
        return nullptr;
    while (!is_last_of_start(map)) {
        map = map->l_next;
        if (void* const found = trace::find_symbol_in(map, name))
            return found;
    }
    return nullptr;
}

void* find_in_later(const char* name) noexcept {
    const link_map* const own = own_map();
    bool later = false;
    void* found = nullptr;
    each_object([&](const dl_phdr_info& info, const ElfW(Dyn) * section) {
        if (!later) {
            later = info.dlpi_addr == _r_debug.r_ldbase;
            return false;
        }
        const Module module = module_of(section);  // none while it is not relocated yet
        if (module.map != nullptr && module.map != own)
            found = trace::find_symbol_in(module.map, name);
        return found != nullptr;
    });
    return found;
}

void* find_in_scope(const link_map* map, const char* name) noexcept {
    constexpr unsigned most = 256;
    const link_map* const own = own_map();
    const link_map* scope[most] = {map};
    unsigned count = 1;
    for (unsigned next = 0; next < count; ++next) {
        const link_map* const object = scope[next];
        if (void* const found = object != own ? trace::find_symbol_in(object, name) : nullptr)
            return found;
        const char* const strings = strings_of(object->l_addr, object->l_ld);
        for (const ElfW(Dyn)* entry = object->l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag != DT_NEEDED || count == most)
                continue;
            const link_map* const needed = loaded_as(strings + entry->d_un.d_val).map;
            bool known = needed == nullptr;
            for (unsigned i = 0; i < count && !known; ++i)
                known = scope[i] == needed;
            if (!known)
                scope[count++] = needed;
        }
    }
    return nullptr;
}

Module loaded_as(const char* soname) noexcept {
    Module module;
    each_object([&](const dl_phdr_info& info, const ElfW(Dyn) * section) {
        if (answers_to(info, section, soname))
            module = module_of(section);
        return module.map != nullptr;
    });
    return module;
}

bool in_base_namespace(const link_map* map) noexcept {
    bool found = false;
    each_object([&](const dl_phdr_info&, const ElfW(Dyn) * section) { return found = section == map->l_ld; });
    return found;
}

}  // namespace keepgraph::preload
