// SPDX-License-Identifier: Apache-2.0
#include "trace/module_map.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "trace/quiet_scope.h"

namespace keepgraph::trace {
namespace {

constexpr std::size_t max_build_id = 64;

/// One object as the callback sees it; the name lies in Snapshot::names.
struct RawModule {
    std::uintptr_t base, begin, end;
    std::size_t name_offset, name_length;
    unsigned build_id_size;
    unsigned char build_id[max_build_id];
};

/// Storage that is sized before the callback runs. Nothing may allocate inside: the loader's list lock is held, and an
/// allocator with a heap profiler may hold its own lock while it waits for that one.
struct Snapshot {
    std::vector<RawModule> modules;
    std::vector<char> names;
    std::size_t module_count = 0, name_bytes = 0;  ///< needed; larger than the room: try again with more
    LoadCounts counts;
    std::uintptr_t vdso = 0;
};

unsigned read_build_id(const dl_phdr_info& info, unsigned char (&id)[max_build_id]) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
        const auto& header = info.dlpi_phdr[i];
        if (header.p_type != PT_NOTE) {
            continue;
        }
        const auto* note = reinterpret_cast<const unsigned char*>(info.dlpi_addr + header.p_vaddr);
        std::size_t left = header.p_memsz;
        const std::size_t align = header.p_align == 8 ? 8 : 4;
        const auto padded = [align](std::size_t size) { return (size + align - 1) & ~(align - 1); };
        while (left >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) head;
            std::memcpy(&head, note, sizeof head);
            const std::size_t name_size = padded(head.n_namesz);
            const std::size_t whole = sizeof head + name_size + padded(head.n_descsz);
            if (whole > left) {
                break;
            }
            const unsigned char* name = note + sizeof head;
            if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
                const unsigned size = std::min<std::size_t>(head.n_descsz, max_build_id);
                std::memcpy(id, name + name_size, size);
                return size;
            }
            note += whole;
            left -= whole;
        }
    }
    return 0;
}

int take_object(dl_phdr_info* info, std::size_t size, void* data) {
    auto& snapshot = *static_cast<Snapshot*>(data);
    if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
        snapshot.counts = LoadCounts{info->dlpi_adds, info->dlpi_subs};
    }
    RawModule module{};
    module.base = info->dlpi_addr;
    module.begin = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type == PT_LOAD) {
            const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
            module.begin = std::min(module.begin, begin);
            module.end = std::max<std::uintptr_t>(module.end, begin + header.p_memsz);
        }
    }
    if (module.end == 0 || (snapshot.vdso != 0 && module.begin <= snapshot.vdso && snapshot.vdso < module.end)) {
        return 0;
    }
    const char* name = info->dlpi_name != nullptr ? info->dlpi_name : "";
    module.name_length = std::strlen(name);
    module.name_offset = snapshot.name_bytes;
    snapshot.name_bytes += module.name_length;
    if (snapshot.name_bytes <= snapshot.names.size()) {
        std::copy_n(name, module.name_length, snapshot.names.data() + module.name_offset);
    }
    if (snapshot.module_count < snapshot.modules.size()) {
        module.build_id_size = read_build_id(*info, module.build_id);
        snapshot.modules[snapshot.module_count] = module;
    }
    ++snapshot.module_count;
    return 0;
}

/// All objects of one moment. Between two passes the list may grow, hence the loop; it ends since loading does.
Snapshot take_snapshot() {
    Snapshot snapshot;
    snapshot.vdso = getauxval(AT_SYSINFO_EHDR);
    std::size_t modules = 64;
    std::size_t names = 8192;
    for (int attempt = 0; attempt < 8; ++attempt) {
        snapshot.modules.resize(modules);
        snapshot.names.resize(names);
        snapshot.module_count = snapshot.name_bytes = 0;
        dl_iterate_phdr(take_object, &snapshot);
        if (snapshot.module_count <= modules && snapshot.name_bytes <= names) {
            break;
        }
        modules = snapshot.module_count + 32;
        names = snapshot.name_bytes + 4096;
    }
    snapshot.module_count = std::min(snapshot.module_count, snapshot.modules.size());
    return snapshot;
}

std::string path_of(const std::string& name) {
    char buffer[PATH_MAX];
    if (name.empty()) {
        const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
        return length > 0 ? std::string(buffer, static_cast<std::size_t>(length)) : std::string();
    }
    // dlopen("./x.so") leaves a relative name, good only while the process stays in this folder.
    return name[0] != '/' && realpath(name.c_str(), buffer) != nullptr ? std::string(buffer) : name;
}

std::string hex(const unsigned char* bytes, unsigned size) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(std::size_t{size} * 2);
    for (unsigned i = 0; i < size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

}  // namespace

std::vector<Module> ModuleMap::refresh() noexcept {
    const QuietScope quiet;
    std::vector<Module> fresh;
    try {
        const std::lock_guard lock(mutex_);
        if (seen_any_ && load_counts() == counts_) {
            return fresh;
        }
        const Snapshot snapshot = take_snapshot();
        std::vector<Known> now;
        now.reserve(snapshot.module_count);
        for (std::size_t i = 0; i < snapshot.module_count; ++i) {
            const RawModule& raw = snapshot.modules[i];
            std::string name;
            if (raw.name_offset + raw.name_length <= snapshot.names.size()) {
                name.assign(snapshot.names.data() + raw.name_offset, raw.name_length);
            }
            Known known{raw.base, raw.begin, raw.end, std::move(name)};
            if (std::find(known_.begin(), known_.end(), known) == known_.end()) {
                fresh.push_back(
                    {path_of(known.path), raw.base, raw.begin, raw.end, hex(raw.build_id, raw.build_id_size)});
            }
            now.push_back(std::move(known));
        }
        known_ = std::move(now);
        counts_ = snapshot.counts;
        seen_any_ = true;
    } catch (...) {
        fresh.clear();  // known_ and counts_ are unchanged: the next call finds the same modules again
    }
    return fresh;
}

}  // namespace keepgraph::trace
