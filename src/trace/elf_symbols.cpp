// SPDX-License-Identifier: Apache-2.0
#include "trace/elf_symbols.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cstring>

namespace keepgraph::trace {
namespace {

/// The dynamic symbol table of one loaded object. Valid only inside the dl_iterate_phdr callback.
struct SymbolTable {
    std::uintptr_t base = 0;
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    const std::uint32_t* sysv_hash = nullptr;

    bool usable() const { return symbols != nullptr && strings != nullptr && (gnu_hash || sysv_hash); }
};

SymbolTable symbol_table_of(std::uintptr_t base, const ElfW(Dyn) * entry) {
    SymbolTable table;
    table.base = base;
    for (; entry->d_tag != DT_NULL; ++entry) {
        // The loader relocates these pointers in place, except in objects whose dynamic section is read-only (vdso).
        const std::uintptr_t value = entry->d_un.d_ptr;
        const std::uintptr_t address = value < table.base ? value + table.base : value;
        switch (entry->d_tag) {
            case DT_SYMTAB:
                table.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
                break;
            case DT_STRTAB:
                table.strings = reinterpret_cast<const char*>(address);
                break;
            case DT_GNU_HASH:
                table.gnu_hash = reinterpret_cast<const std::uint32_t*>(address);
                break;
            case DT_HASH:
                table.sysv_hash = reinterpret_cast<const std::uint32_t*>(address);
                break;
            default:
                break;
        }
    }
    return table;
}

SymbolTable symbol_table_of(const dl_phdr_info& info) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            return symbol_table_of(info.dlpi_addr,
                                   reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr));
    return {};
}

/// Not strcmp: a sanitizer's runtime looks its own interceptors up, through us, before its strcmp works.
bool same(const char* a, const char* b) {
    for (; *a == *b; ++a, ++b)
        if (*a == '\0')
            return true;
    return false;
}

bool is_defined(const ElfW(Sym) & symbol) {
    const unsigned type = symbol.st_info & 0xf;
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
}

/// The parts of a DT_GNU_HASH section.
struct GnuHash {
    std::uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
    const ElfW(Addr) * bloom;
    const std::uint32_t* buckets;
    const std::uint32_t* chains;

    explicit GnuHash(const std::uint32_t* words)
        : bucket_count(words[0]),
          first_symbol(words[1]),
          bloom_words(words[2]),
          bloom_shift(words[3]),
          bloom(reinterpret_cast<const ElfW(Addr) *>(words + 4)),
          buckets(reinterpret_cast<const std::uint32_t*>(bloom + bloom_words)),
          chains(buckets + bucket_count) {}
};

std::uint32_t gnu_hash_of(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name) {
        hash = hash * 33 + static_cast<unsigned char>(*name);
    }
    return hash;
}

const ElfW(Sym) * look_up(const SymbolTable& table, const char* name, std::uint32_t hash) {
    if (table.gnu_hash == nullptr) {  // old link style: a plain scan is enough for the few objects that have it
        const std::uint32_t count = table.sysv_hash[1];
        for (std::uint32_t i = 1; i < count; ++i) {
            if (is_defined(table.symbols[i]) && same(table.strings + table.symbols[i].st_name, name)) {
                return &table.symbols[i];
            }
        }
        return nullptr;
    }
    const GnuHash gnu(table.gnu_hash);
    if (gnu.bucket_count == 0 || gnu.bloom_words == 0) {
        return nullptr;
    }
    constexpr std::uint32_t word_bits = sizeof(ElfW(Addr)) * 8;
    const ElfW(Addr) word = gnu.bloom[(hash / word_bits) % gnu.bloom_words];
    if (((word >> (hash % word_bits)) & (word >> ((hash >> gnu.bloom_shift) % word_bits)) & 1) == 0) {
        return nullptr;
    }
    std::uint32_t index = gnu.buckets[hash % gnu.bucket_count];
    if (index < gnu.first_symbol) {
        return nullptr;
    }
    for (;; ++index) {
        const std::uint32_t chain = gnu.chains[index - gnu.first_symbol];
        if ((chain | 1) == (hash | 1) && is_defined(table.symbols[index]) &&
            same(table.strings + table.symbols[index].st_name, name)) {
            return &table.symbols[index];
        }
        if (chain & 1) {
            return nullptr;
        }
    }
}

/// Number of symbols: DT_HASH says it, DT_GNU_HASH only implies it by the end of its last chain.
std::uint32_t symbol_count(const SymbolTable& table) {
    if (table.sysv_hash != nullptr) {
        return table.sysv_hash[1];
    }
    const GnuHash gnu(table.gnu_hash);
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < gnu.bucket_count; ++i) {
        last = gnu.buckets[i] > last ? gnu.buckets[i] : last;
    }
    if (last < gnu.first_symbol) {
        return gnu.first_symbol;
    }
    while ((gnu.chains[last - gnu.first_symbol] & 1) == 0) {
        ++last;
    }
    return last + 1;
}

bool covers(const dl_phdr_info& info, std::uintptr_t pc) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
        const auto& header = info.dlpi_phdr[i];
        const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD && pc >= begin && pc - begin < header.p_memsz) {
            return true;
        }
    }
    return false;
}

struct FindRequest {
    const char* name;
    std::uint32_t hash;
    void* found;
};

int find_in_object(dl_phdr_info* info, std::size_t, void* data) {
    auto& request = *static_cast<FindRequest*>(data);
    const SymbolTable table = symbol_table_of(*info);
    if (!table.usable()) {
        return 0;
    }
    const ElfW(Sym)* symbol = look_up(table, request.name, request.hash);
    if (symbol == nullptr) {
        return 0;
    }
    request.found = reinterpret_cast<void*>(table.base + symbol->st_value);
    return 1;
}

int read_counts(dl_phdr_info* info, std::size_t size, void* data) {
    if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
        *static_cast<LoadCounts*>(data) = LoadCounts{info->dlpi_adds, info->dlpi_subs};
    }
    return 1;  // every object carries the same counters
}

/// Fixed buffers: nothing may allocate inside the callback, since the host's allocator may itself wait for the
/// loader's list lock (heap profilers unwind under their own lock).
struct NearestRequest {
    std::uintptr_t pc;
    std::uintptr_t base = 0;
    std::uintptr_t symbol_address = 0;
    bool main_program = false;
    char module[PATH_MAX];
    char symbol[4096];
};

void copy_text(char* to, std::size_t size, const char* from) {
    const std::size_t length = strnlen(from, size - 1);
    std::memcpy(to, from, length);
    to[length] = '\0';
}

int nearest_in_object(dl_phdr_info* info, std::size_t, void* data) {
    auto& request = *static_cast<NearestRequest*>(data);
    if (!covers(*info, request.pc)) {
        return 0;
    }
    request.base = info->dlpi_addr;
    request.main_program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
    copy_text(request.module, sizeof request.module, request.main_program ? "" : info->dlpi_name);
    const SymbolTable table = symbol_table_of(*info);
    if (!table.usable()) {
        return 1;
    }
    const ElfW(Sym)* best = nullptr;
    const std::uint32_t count = symbol_count(table);
    for (std::uint32_t i = 1; i < count; ++i) {
        const ElfW(Sym)& symbol = table.symbols[i];
        const unsigned type = symbol.st_info & 0xf;
        if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)) {
            continue;
        }
        const std::uintptr_t start = table.base + symbol.st_value;
        if (request.pc < start || (symbol.st_size != 0 && request.pc - start >= symbol.st_size)) {
            continue;
        }
        if (best == nullptr || symbol.st_value > best->st_value) {
            best = &symbol;
        }
    }
    if (best != nullptr) {
        request.symbol_address = table.base + best->st_value;
        copy_text(request.symbol, sizeof request.symbol, table.strings + best->st_name);
    }
    return 1;
}

}  // namespace

void* find_symbol_in(const char* file, const char* name) noexcept {
    for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
        if (object->l_name == nullptr || object->l_ld == nullptr || !same(file_name(object->l_name), file))
            continue;
        if (void* const found = find_symbol_in(object, name))
            return found;
    }
    return nullptr;
}

const ElfW(Sym) * symbol_in(const link_map* object, const char* name) noexcept {
    const SymbolTable table = symbol_table_of(object->l_addr, object->l_ld);
    return table.usable() ? look_up(table, name, gnu_hash_of(name)) : nullptr;
}

void* find_symbol_in(const link_map* object, const char* name) noexcept {
    const ElfW(Sym)* const symbol = symbol_in(object, name);
    return symbol != nullptr ? reinterpret_cast<void*>(object->l_addr + symbol->st_value) : nullptr;
}

void* find_symbol(const char* name) noexcept {
    FindRequest request{name, gnu_hash_of(name), nullptr};
    dl_iterate_phdr(find_in_object, &request);
    return request.found;
}

LoadCounts load_counts() noexcept {
    LoadCounts counts;
    dl_iterate_phdr(read_counts, &counts);
    return counts;
}

bool nearest_symbol(std::uintptr_t pc, NearestSymbol& out) {
    NearestRequest request;
    request.pc = pc;
    request.module[0] = request.symbol[0] = '\0';
    if (dl_iterate_phdr(nearest_in_object, &request) == 0) {
        return false;
    }
    if (request.main_program) {
        const ssize_t length = readlink("/proc/self/exe", request.module, sizeof request.module - 1);
        request.module[length > 0 ? length : 0] = '\0';
    }
    out = NearestSymbol{request.module, request.base, request.symbol, request.symbol_address};
    return true;
}

}  // namespace keepgraph::trace
