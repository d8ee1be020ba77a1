// SPDX-License-Identifier: Apache-2.0
// gcc's libbacktrace reads DWARF, symbol tables, separate debug files (build-id, .gnu_debuglink) and compressed
// sections. It is made for the process it runs in: a state is filled from its own executable and from every object that
// dl_iterate_phdr lists, at the addresses these are loaded at. The files of a recording are not loaded here, so while
// a state is filled, the listing is replaced (-Wl,--wrap) by one that has a single nameless entry at base 0:
// libbacktrace then takes the file that it was given for the executable, and file addresses are its addresses. The
// alternative, to add the load bias of this command to every address, works too, but each state then also reads this
// command's own libraries with their debug information, once per module.
#include "report/symbolizer.h"

#include <backtrace.h>
#include <link.h>

#include "report/build_id.h"
#include "report/text.h"

namespace {
thread_local bool filling_a_state = false;
}

extern "C" {
using PhdrCallback = int (*)(dl_phdr_info*, std::size_t, void*);
int __real_dl_iterate_phdr(PhdrCallback callback, void* data);  // NOLINT: names are the linker's
int __wrap_dl_iterate_phdr(PhdrCallback callback, void* data);  // NOLINT

int __wrap_dl_iterate_phdr(PhdrCallback callback, void* data) {  // NOLINT
    if (!filling_a_state)
        return __real_dl_iterate_phdr(callback, data);
    dl_phdr_info info{};
    info.dlpi_name = "";
    return callback(&info, sizeof info, data);
}
}

namespace keepgraph::report {
namespace {

class FillingScope {
  public:
    FillingScope() { filling_a_state = true; }
    ~FillingScope() { filling_a_state = false; }
    FillingScope(const FillingScope&) = delete;
    FillingScope& operator=(const FillingScope&) = delete;
};

// A file without debug information, or with a form of it that is not understood, is no error here: less is shown.
void ignore_error(void*, const char*, int) {}

int add_source(void* data, std::uintptr_t, const char* file, int line, const char* function) {
    SourceFrame frame;
    frame.file = file != nullptr ? file : "";
    frame.line = line > 0 ? static_cast<std::uint64_t>(line) : 0;
    frame.function = function != nullptr ? demangled(function) : "";
    static_cast<std::vector<SourceFrame>*>(data)->push_back(std::move(frame));
    return 0;
}

void set_symbol(void* data, std::uintptr_t, const char* symbol, std::uintptr_t, std::uintptr_t) {
    if (symbol != nullptr)
        *static_cast<std::string*>(data) = demangled(symbol);
}

}  // namespace

struct Symbolizer::File {
    std::string path;  // libbacktrace keeps the pointer
    ElfIdentity identity;
    backtrace_state* state = nullptr;
};

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

const Symbolizer::File& Symbolizer::file(const std::string& path) {
    std::unique_ptr<File>& entry = files_[path];
    if (!entry) {
        entry = std::make_unique<File>();
        entry->path = path;
        // Relative names ("linux-vdso.so.1") would be looked for in whatever folder the command runs in.
        if (!path.empty() && path[0] == '/')
            entry->identity = identify_elf(path);
        if (entry->identity.readable)
            entry->state = backtrace_create_state(entry->path.c_str(), 0, ignore_error, nullptr);
    }
    return *entry;
}

std::vector<SourceFrame> Symbolizer::resolve(const RecordedModule* module, std::uint64_t address) {
    std::vector<SourceFrame> frames;
    SourceFrame plain;
    plain.address = address;
    if (module == nullptr || address < module->base)
        return {plain};
    plain.module = module->path;
    plain.offset = address - module->base;

    const File& from = file(module->path);
    if (!from.identity.readable)
        plain.trouble = "file not found";
    else if (from.identity.build_id != module->build_id)
        plain.trouble = "file changed on disk";
    if (!plain.trouble.empty() || from.state == nullptr || plain.offset == 0)
        return {plain};

    std::string symbol;
    {
        const FillingScope scope;  // a state is filled at its first look-up
        backtrace_pcinfo(from.state, plain.offset - 1, add_source, ignore_error, &frames);
        backtrace_syminfo(from.state, plain.offset - 1, set_symbol, ignore_error, &symbol);
    }
    std::erase_if(frames, [](const SourceFrame& frame) { return frame.function.empty() && frame.file.empty(); });
    if (frames.empty())
        frames.emplace_back();
    if (frames.back().function.empty())
        frames.back().function = symbol;
    for (SourceFrame& frame : frames) {
        frame.address = plain.address;
        frame.module = plain.module;
        frame.offset = plain.offset;
        frame.inlined = &frame != &frames.back();
    }
    return frames;
}

std::vector<SourceFrame> Symbolizer::resolve(const Recording& recording, const RecordedStack& stack) {
    std::vector<SourceFrame> result;
    for (const std::uint64_t address : stack.frames) {
        for (SourceFrame& frame : resolve(recording.module_of(address, stack.line), address))
            result.push_back(std::move(frame));
    }
    return result;
}

}  // namespace keepgraph::report
