// SPDX-License-Identifier: Apache-2.0
#include "bound.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "modules.h"
#include "trace/elf_symbols.h"

namespace keepgraph::preload {
namespace {

#if defined(__x86_64__)
constexpr unsigned in_table = R_X86_64_GLOB_DAT, in_plt = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr unsigned in_table = R_AARCH64_GLOB_DAT, in_plt = R_AARCH64_JUMP_SLOT;
#endif

struct Relocations {
    const ElfW(Rela) * first = nullptr;
    std::size_t count = 0;
};

Relocations relocations(const link_map* module, decltype(ElfW(Dyn)::d_tag) table, decltype(table) size) {
    const ElfW(Dyn)* const where = entry_of(module->l_ld, table);
    const ElfW(Dyn)* const bytes = entry_of(module->l_ld, size);
    if (where == nullptr || bytes == nullptr)
        return {};
    return {table_at<ElfW(Rela)>(module->l_addr, *where), bytes->d_un.d_val / sizeof(ElfW(Rela))};
}

}  // namespace

bool is_cudart_name(const char* file_name) noexcept {
    constexpr std::size_t length = 9;
    return std::strncmp(file_name, "libcudart", length) == 0 &&
           (file_name[length] == '.' || file_name[length] == '-') && std::strstr(file_name, ".so") != nullptr;
}

bool in_cudart(const void* address) noexcept {
    const Module module = module_of(address);
    return module.map != nullptr && is_cudart_name(trace::file_name(module.map->l_name));
}

const link_map* bound_cudart(const link_map* module) noexcept {
    const ElfW(Dyn)* const symbols_entry = entry_of(module->l_ld, DT_SYMTAB);
    const ElfW(Dyn)* const strings_entry = entry_of(module->l_ld, DT_STRTAB);
    if (symbols_entry == nullptr || strings_entry == nullptr)
        return nullptr;
    const auto* const symbols = table_at<ElfW(Sym)>(module->l_addr, *symbols_entry);
    const auto* const strings = table_at<char>(module->l_addr, *strings_entry);
    Relocations parts[] = {relocations(module, DT_JMPREL, DT_PLTRELSZ), relocations(module, DT_RELA, DT_RELASZ)};
    // Those without a symbol stand in front, in large libraries a million of them.
    const ElfW(Dyn)* const relative = entry_of(module->l_ld, DT_RELACOUNT);
    if (relative != nullptr && relative->d_un.d_val <= parts[1].count) {
        parts[1].first += relative->d_un.d_val;
        parts[1].count -= relative->d_un.d_val;
    }
    for (const Relocations& part : parts) {
        for (std::size_t i = 0; i < part.count; ++i) {
            const ElfW(Rela)& relocation = part.first[i];
            const auto type = static_cast<unsigned>(ELF64_R_TYPE(relocation.r_info));
            if (type != in_table && type != in_plt)
                continue;
            const char* const name = strings + symbols[ELF64_R_SYM(relocation.r_info)].st_name;
            if (std::strncmp(name, "cuda", 4) != 0 && std::strncmp(name, "__cuda", 6) != 0)
                continue;
            // Another thread may bind it right now.
            const void* const bound = __atomic_load_n(
                reinterpret_cast<const void* const*>(module->l_addr + relocation.r_offset), __ATOMIC_RELAXED);
            const Module to = module_of(bound);
            if (to.map != nullptr && to.map != module && is_cudart_name(trace::file_name(to.map->l_name)))
                return to.map;
        }
    }
    return nullptr;
}

}  // namespace keepgraph::preload
