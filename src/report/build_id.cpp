// SPDX-License-Identifier: Apache-2.0
#include "report/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace keepgraph::report {
namespace {

constexpr std::size_t largest_notes = 1u << 20;

bool read_at(int fd, std::uint64_t offset, void* out, std::size_t size) {
    return offset < (1ull << 62) && pread(fd, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::string find_build_id(const std::vector<unsigned char>& notes, std::size_t alignment) {
    const auto align = [&](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
    std::size_t at = 0;
    ElfW(Nhdr) note;
    while (notes.size() - at >= sizeof note) {
        std::memcpy(&note, notes.data() + at, sizeof note);
        const std::size_t name = at + sizeof note;
        if (note.n_namesz > largest_notes || note.n_descsz > largest_notes)
            break;
        const std::size_t value = name + align(note.n_namesz);
        const std::size_t end = value + align(note.n_descsz);
        if (value + note.n_descsz > notes.size())
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0) {
            std::string id;
            for (std::size_t i = value; i < value + note.n_descsz; ++i) {
                id += "0123456789abcdef"[notes[i] >> 4];
                id += "0123456789abcdef"[notes[i] & 15];
            }
            return id;
        }
        if (end >= notes.size())
            break;
        at = end;
    }
    return {};
}

ElfIdentity identify(int fd) {
    ElfIdentity result;
    ElfW(Ehdr) header;
    struct stat status {};
    constexpr unsigned char word_size = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !read_at(fd, 0, &header, sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != word_size ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
        return result;
    result.readable = true;
    for (unsigned i = 0; i < header.e_phnum && result.build_id.empty(); ++i) {
        ElfW(Phdr) segment;
        if (!read_at(fd, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            break;
        if (segment.p_type != PT_NOTE || segment.p_filesz == 0 || segment.p_filesz > largest_notes)
            continue;
        std::vector<unsigned char> notes(segment.p_filesz);
        if (read_at(fd, segment.p_offset, notes.data(), notes.size()))
            result.build_id = find_build_id(notes, segment.p_align == 8 ? 8 : 4);
    }
    return result;
}

}  // namespace

ElfIdentity identify_elf(const std::string& path) {
    // O_NONBLOCK: a path in a record may name a FIFO, and opening that would wait for ever.
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return {};
    ElfIdentity result = identify(fd);
    close(fd);
    return result;
}

}  // namespace keepgraph::report
