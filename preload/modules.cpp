// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

#include <atomic>
#include <cstring>

#include "trace/elf_symbols.h"

namespace keepgraph::preload {
namespace {

const char* file_name(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

const char* strings_of(std::uintptr_t base, const ElfW(Dyn) * section) {
    for (const ElfW(Dyn)* entry = section; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_STRTAB)
            return strings_at(base, *entry);
    return nullptr;
}

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& info) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            return reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    return nullptr;
}

/// The last object of the start. The loader's list is in load order and the objects of the start stay, so the part up
/// to this one is read without any lock.
std::atomic<const link_map*> last_of_start{nullptr};

/// Also at the first use: a constructor of another library may call a wrapper before ours has run. Wrong only if such a
/// constructor had loaded further libraries by then, which would count as part of the start.
const link_map* end_of_start() {
    const link_map* last = last_of_start.load(std::memory_order_acquire);
    if (last != nullptr)
        return last;
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
        last = map;
    const link_map* expected = nullptr;
    return last_of_start.compare_exchange_strong(expected, last, std::memory_order_acq_rel) ? last : expected;
}

__attribute__((constructor(101))) void note_start() {
    (void)end_of_start();
}

/// Calls `visit(info, section)` for each object of the program's namespace until it returns true. Under the loader's
/// list lock, which is never held while foreign code runs.
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
    for (const ElfW(Dyn)* entry = section; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_SONAME) {
            const char* const strings = strings_of(info.dlpi_addr, section);
            if (strings != nullptr && std::strcmp(strings + entry->d_un.d_val, soname) == 0)
                return true;
        }
    return info.dlpi_name != nullptr && std::strcmp(file_name(info.dlpi_name), soname) == 0;
}

}  // namespace

bool is_of_start(const link_map* wanted) noexcept {
    const link_map* const last = end_of_start();
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
        if (map == wanted)
            return true;
        if (map == last)
            break;
    }
    return false;
}

void* next_of_start(const char* name) noexcept {
    // Rejected: dlsym(RTLD_NEXT) for every row in the constructor. It would cost each process that never uses CUDA.
    const link_map* const last = end_of_start();
    const link_map* map = module_of(&last_of_start).map;
    if (map == nullptr || !is_of_start(map))
        return nullptr;
    while (map != last) {
        map = map->l_next;
        if (void* const found = trace::find_symbol_in(map, name))
            return found;
    }
    return nullptr;
}

void* find_in_later(const char* name) noexcept {
    const ElfW(Dyn)* const last = end_of_start()->l_ld;
    bool later = false;
    void* found = nullptr;
    each_object([&](const dl_phdr_info&, const ElfW(Dyn) * section) {
        if (!later) {
            later = section == last;
            return false;
        }
        const Module module = module_of(section);  // none while it is not relocated yet
        found = module.map != nullptr ? trace::find_symbol_in(module.map, name) : nullptr;
        return found != nullptr;
    });
    return found;
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

Needed needed_cudart(const link_map* map) noexcept {
    Needed needed;
    needed.section = map->l_ld;
    const char* const strings = strings_of(map->l_addr, map->l_ld);
    for (std::uintptr_t i = 0; strings != nullptr && map->l_ld[i].d_tag != DT_NULL; ++i) {
        const ElfW(Dyn)& entry = map->l_ld[i];
        if (entry.d_tag == DT_STRTAB)
            needed.strings = static_cast<std::uint32_t>(i);
        const char* const name = strings + entry.d_un.d_val;
        if (entry.d_tag == DT_NEEDED && needed.length == 0 && std::strncmp(name, "libcudart.so", 12) == 0) {
            needed.entry = static_cast<std::uint32_t>(i);
            needed.length = static_cast<std::uint32_t>(std::strlen(name));
            needed.tail = last_bytes(name, needed.length);
        }
    }
    return needed;
}

void* find_in_scope(const link_map* map, const char* name) noexcept {
    constexpr unsigned most = 256;
    const link_map* scope[most] = {map};
    unsigned count = 1;
    for (unsigned next = 0; next < count; ++next) {
        if (void* const found = trace::find_symbol_in(scope[next], name))
            return found;
        const link_map* const parent = scope[next];
        const char* const strings = strings_of(parent->l_addr, parent->l_ld);
        for (const ElfW(Dyn)* entry = parent->l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry) {
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

}  // namespace keepgraph::preload
