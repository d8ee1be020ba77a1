// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace keepgraph::trace {

/// Most Python frames one stack keeps: CPython's own traceback dump stops there too.
inline constexpr unsigned max_python_frames = 100;

struct PythonFrame {
    std::string file;      ///< as Python knows it (co_filename), UTF-8; what is not text is escaped as \xNN or \uNNNN
    unsigned line = 0;     ///< 0: not known
    std::string function;  ///< co_name
    bool operator==(const PythonFrame&) const = default;
};

struct PythonStack {
    std::vector<PythonFrame> frames;  ///< innermost first
    /// Why frames are missing ("python frames unavailable: ..." without any, "python frames incomplete: ..." with
    /// some). Empty when nothing is missing, also when the process has no Python or this thread runs none.
    std::string unavailable;
    bool operator==(const PythonStack&) const = default;
};

/// Finds an exported symbol of the process by name, nullptr when there is none.
using SymbolLookup = void* (*)(const char* name);

/// Replaces the way interpreter symbols are found (default: find_symbol of elf_symbols.h, which takes no lock that
/// waits for foreign code and leaves dlerror alone). nullptr restores the default. For hosts with symbol tables of
/// their own and for tests; call it before other threads capture.
void set_symbol_lookup(SymbolLookup lookup) noexcept;

/// The calling thread's Python frames, without taking the GIL.
///
/// Any thread, GIL held or not, any moment, interpreter shutdown and forked children included. The thread's own frames
/// stand still while it is here, so no lock is needed; whatever is read through the interpreter's pointers is read by
/// read_memory, except inside CPython's own dump function. Allocates; never throws (out of memory: a reason). errno and
/// cancellation state stay. Takes the loader's list lock for an instant (dl_iterate_phdr).
/// Cost: without Python under 0.1 us; a 20-deep stack 0.1 to 0.6 ms (README.md): not for a launch path.
PythonStack capture_python() noexcept;

}  // namespace keepgraph::trace
