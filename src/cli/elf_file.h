// SPDX-License-Identifier: Apache-2.0
//
// What the command wants to know of an ELF file, read from the file alone: nothing is loaded or run.
//
// Own code over <elf.h> instead of libelf: a few headers and tables are read, and a command that has to work on any
// machine should not need one more library there. Everything that comes from the file is range-checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keepgraph::cli {

class ElfFile {
  public:
    /// Nothing when the file cannot be read or does not begin as an ELF file.
    static std::optional<ElfFile> open(const std::string& path);
    ElfFile(ElfFile&& other) noexcept;
    ElfFile& operator=(ElfFile&&) = delete;
    ~ElfFile();

    int elf_class = 0;     ///< ELFCLASS32 or ELFCLASS64
    int byte_order = 0;    ///< ELFDATA2LSB or ELFDATA2MSB
    unsigned machine = 0;  ///< EM_...
    unsigned type = 0;     ///< ET_...

    /// The rest is filled for 64-bit files of this machine's byte order only: no other one can hold the shim.
    std::string interpreter;  ///< PT_INTERP; empty in a static program and in most libraries
    bool dynamic = false;     ///< has a dynamic section
    std::vector<std::string> needed;
    bool symbolic = false;      ///< DT_SYMBOLIC or DF_SYMBOLIC
    std::uint64_t flags_1 = 0;  ///< DT_FLAGS_1
    using FileAndVersion = std::pair<std::string, std::string>;
    std::vector<FileAndVersion> version_needs;  ///< weak ones are left out
    std::vector<std::string> version_definitions;

    /// A function or object of that name is defined in .dynsym or .symtab.
    bool defines(std::string_view symbol) const;
    /// The name is in .dynsym and not defined there.
    bool imports(std::string_view symbol) const;
    bool has_section(std::string_view name) const;
    bool contains(std::string_view bytes) const;

  private:
    ElfFile(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}
    void read_program_headers();
    void read_dynamic(std::size_t offset, std::size_t size);
    bool has_symbol(std::string_view name, bool defined) const;

    template <typename T>
    const T* at(std::uint64_t offset, std::uint64_t count = 1) const;
    std::string_view text_at(std::uint64_t offset) const;
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const;

    const unsigned char* data_;
    std::size_t size_;
};

/// A library rather than a program. A static-pie program needs no library; its linker need not have set DF_1_PIE.
bool is_shared_library(const ElfFile& file);

/// The highest GLIBC_2.N that the library defines; "" when it is not glibc.
std::string newest_glibc(const ElfFile& library);

/// "x86-64, 64 bit"
std::string machine_text(const ElfFile& file);

}  // namespace keepgraph::cli
