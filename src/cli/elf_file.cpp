// SPDX-License-Identifier: Apache-2.0
#include "cli/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>

namespace keepgraph::cli {
namespace {

constexpr int own_byte_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

}  // namespace

std::optional<ElfFile> ElfFile::open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return std::nullopt;
    }
    struct stat info {};
    void* data = MAP_FAILED;
    std::size_t size = 0;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= EI_NIDENT) {
        size = static_cast<std::size_t>(info.st_size);
        data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    ::close(fd);
    if (data == MAP_FAILED) {
        return std::nullopt;
    }
    ElfFile file(static_cast<const unsigned char*>(data), size);
    // e_type and e_machine lie at the same place in both classes.
    const Elf32_Ehdr* head = file.at<Elf32_Ehdr>(0);
    if (head == nullptr || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) {
        return std::nullopt;
    }
    file.elf_class = head->e_ident[EI_CLASS];
    file.byte_order = head->e_ident[EI_DATA];
    const bool swapped = file.byte_order != own_byte_order;
    file.type = swapped ? __builtin_bswap16(head->e_type) : head->e_type;
    file.machine = swapped ? __builtin_bswap16(head->e_machine) : head->e_machine;
    if (file.elf_class == ELFCLASS64 && !swapped) {
        file.read_program_headers();
    }
    return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : elf_class(other.elf_class),
      byte_order(other.byte_order),
      machine(other.machine),
      type(other.type),
      interpreter(std::move(other.interpreter)),
      dynamic(other.dynamic),
      needed(std::move(other.needed)),
      symbolic(other.symbolic),
      flags_1(other.flags_1),
      version_needs(std::move(other.version_needs)),
      version_definitions(std::move(other.version_definitions)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

ElfFile::~ElfFile() {
    if (data_ != nullptr) {
        munmap(const_cast<unsigned char*>(data_), size_);
    }
}

// Null when it does not lie in the file as a whole, or not aligned as its type demands.
template <typename T>
const T* ElfFile::at(std::uint64_t offset, std::uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T) != 0) {
        return nullptr;
    }
    return reinterpret_cast<const T*>(data_ + offset);
}

std::string_view ElfFile::text_at(std::uint64_t offset) const {
    if (offset >= size_) {
        return {};
    }
    const char* text = reinterpret_cast<const char*>(data_) + offset;
    return {text, strnlen(text, size_ - offset)};
}

std::optional<std::uint64_t> ElfFile::offset_of(std::uint64_t address) const {
    const auto* head = at<Elf64_Ehdr>(0);
    const auto* segments = at<Elf64_Phdr>(head->e_phoff, head->e_phnum);
    for (unsigned i = 0; segments != nullptr && i < head->e_phnum; ++i) {
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz) {
            return segments[i].p_offset + (address - segments[i].p_vaddr);
        }
    }
    return std::nullopt;
}

void ElfFile::read_program_headers() {
    const auto* head = at<Elf64_Ehdr>(0);
    if (head == nullptr) {
        return;
    }
    const auto* segments = at<Elf64_Phdr>(head->e_phoff, head->e_phnum);
    for (unsigned i = 0; segments != nullptr && i < head->e_phnum; ++i) {
        if (segments[i].p_type == PT_INTERP) {
            interpreter = text_at(segments[i].p_offset);
        } else if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = true;
            read_dynamic(segments[i].p_offset, segments[i].p_filesz);
        }
    }
}

void ElfFile::read_dynamic(std::size_t offset, std::size_t size) {
    const std::size_t count = size / sizeof(Elf64_Dyn);
    const auto* entries = at<Elf64_Dyn>(offset, count);
    if (entries == nullptr) {
        return;
    }
    std::uint64_t strings = 0;
    std::optional<std::uint64_t> needs;
    std::optional<std::uint64_t> definitions;
    std::uint64_t needs_count = 0;
    std::uint64_t definitions_count = 0;
    std::vector<std::uint64_t> needed_names;
    for (std::size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
        const std::uint64_t value = entries[i].d_un.d_val;
        switch (entries[i].d_tag) {
            case DT_STRTAB:
                strings = offset_of(value).value_or(size_);
                break;
            case DT_NEEDED:
                needed_names.push_back(value);
                break;
            case DT_SYMBOLIC:
                symbolic = true;
                break;
            case DT_FLAGS:
                symbolic = symbolic || (value & DF_SYMBOLIC) != 0;
                break;
            case DT_FLAGS_1:
                flags_1 = value;
                break;
            case DT_VERNEED:
                needs = offset_of(value);
                break;
            case DT_VERNEEDNUM:
                needs_count = value;
                break;
            case DT_VERDEF:
                definitions = offset_of(value);
                break;
            case DT_VERDEFNUM:
                definitions_count = value;
                break;
            default:
                break;
        }
    }
    const auto name = [&](std::uint64_t where) { return std::string(text_at(strings + where)); };
    for (const std::uint64_t where : needed_names) {
        needed.push_back(name(where));
    }
    for (std::uint64_t i = 0; needs && i < needs_count; ++i) {
        const auto* file = at<Elf64_Verneed>(*needs);
        if (file == nullptr) {
            break;
        }
        std::uint64_t where = *needs + file->vn_aux;
        for (unsigned j = 0; j < file->vn_cnt; ++j) {
            const auto* version = at<Elf64_Vernaux>(where);
            if (version == nullptr) {
                break;
            }
            if ((version->vna_flags & VER_FLG_WEAK) == 0) {
                version_needs.emplace_back(name(file->vn_file), name(version->vna_name));
            }
            where += version->vna_next;
        }
        if (file->vn_next == 0) {
            break;
        }
        *needs += file->vn_next;
    }
    for (std::uint64_t i = 0; definitions && i < definitions_count; ++i) {
        const auto* version = at<Elf64_Verdef>(*definitions);
        const auto* first = version != nullptr ? at<Elf64_Verdaux>(*definitions + version->vd_aux) : nullptr;
        if (first == nullptr) {
            break;
        }
        if ((version->vd_flags & VER_FLG_BASE) == 0) {
            version_definitions.push_back(name(first->vda_name));
        }
        if (version->vd_next == 0) {
            break;
        }
        *definitions += version->vd_next;
    }
}

// By section headers: the size of .dynsym is nowhere else, short of walking a hash table. A file that was robbed of
// them seems to have no symbols; that costs a line of `doctor`, nothing else.
bool ElfFile::has_symbol(std::string_view wanted, bool defined) const {
    const auto* head = elf_class == ELFCLASS64 && byte_order == own_byte_order ? at<Elf64_Ehdr>(0) : nullptr;
    const auto* sections = head != nullptr ? at<Elf64_Shdr>(head->e_shoff, head->e_shnum) : nullptr;
    for (unsigned i = 0; sections != nullptr && i < head->e_shnum; ++i) {
        const Elf64_Shdr& section = sections[i];
        if ((section.sh_type != SHT_DYNSYM && (section.sh_type != SHT_SYMTAB || !defined)) ||
            section.sh_link >= head->e_shnum) {
            continue;
        }
        const std::uint64_t count = section.sh_size / sizeof(Elf64_Sym);
        const auto* symbols = at<Elf64_Sym>(section.sh_offset, count);
        for (std::uint64_t j = 0; symbols != nullptr && j < count; ++j) {
            if ((symbols[j].st_shndx != SHN_UNDEF) == defined &&
                text_at(sections[section.sh_link].sh_offset + symbols[j].st_name) == wanted) {
                return true;
            }
        }
    }
    return false;
}

bool ElfFile::defines(std::string_view symbol) const {
    return has_symbol(symbol, true);
}

bool ElfFile::imports(std::string_view symbol) const {
    return has_symbol(symbol, false);
}

bool ElfFile::has_section(std::string_view name) const {
    const auto* head = elf_class == ELFCLASS64 && byte_order == own_byte_order ? at<Elf64_Ehdr>(0) : nullptr;
    const auto* sections = head != nullptr ? at<Elf64_Shdr>(head->e_shoff, head->e_shnum) : nullptr;
    for (unsigned i = 0; sections != nullptr && head->e_shstrndx < head->e_shnum && i < head->e_shnum; ++i) {
        if (text_at(sections[head->e_shstrndx].sh_offset + sections[i].sh_name) == name) {
            return true;
        }
    }
    return false;
}

bool ElfFile::contains(std::string_view bytes) const {
    return memmem(data_, size_, bytes.data(), bytes.size()) != nullptr;
}

bool is_shared_library(const ElfFile& file) {
    return file.type == ET_DYN && file.interpreter.empty() && (file.flags_1 & DF_1_PIE) == 0 && !file.needed.empty();
}

std::string newest_glibc(const ElfFile& library) {
    std::string newest;
    for (const std::string& version : library.version_definitions) {
        if (version.rfind("GLIBC_2", 0) == 0 && (newest.empty() || strverscmp(version.c_str(), newest.c_str()) > 0)) {
            newest = version;
        }
    }
    return newest;
}

std::string machine_text(const ElfFile& file) {
    const char* machine = file.machine == EM_X86_64    ? "x86-64"
                          : file.machine == EM_AARCH64 ? "aarch64"
                          : file.machine == EM_386     ? "i386"
                          : file.machine == EM_ARM     ? "arm"
                          : file.machine == EM_PPC64   ? "ppc64"
                          : file.machine == EM_RISCV   ? "riscv"
                                                       : nullptr;
    return (machine != nullptr ? machine : "machine " + std::to_string(file.machine)) +
           (file.elf_class == ELFCLASS64   ? ", 64 bit"
            : file.elf_class == ELFCLASS32 ? ", 32 bit"
                                           : ", unknown class");
}

}  // namespace keepgraph::cli
