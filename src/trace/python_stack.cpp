// SPDX-License-Identifier: Apache-2.0
#include "trace/python_stack.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "trace/elf_symbols.h"
#include "trace/python_dump.h"
#include "trace/python_frames.h"
#include "trace/python_layout.h"
#include "trace/quiet_scope.h"
#include "trace/safe_read.h"

namespace keepgraph::trace {
namespace {

/// What one libpython offers. Filled once, then only read.
struct Interpreter {
    enum class Method { dump, frames, none };

    void* (*this_thread_state)() = nullptr;  ///< PyGILState_GetThisThreadState: thread-local storage, no GIL
    void* (*current_state)() = nullptr;      ///< the state that holds the GIL; from 3.12 on only if it is this thread's
    int (*is_initialized)() = nullptr;
    int (*is_finalizing)() = nullptr;
    DumpTraceback dump = nullptr;
    std::uintptr_t runtime = 0;
    unsigned long version = 0;        ///< PY_VERSION_HEX; of older ones only major and minor are filled
    std::size_t state_thread_id = 0;  ///< offset of the owner's pthread_t in a thread state; 0: not known
    Method method = Method::none;
    PythonLayout layout;
    std::string reason;  ///< why the method is none
    const Interpreter* older = nullptr;
};

/// Constant-initialised, never destroyed: valid in constructors before ours and in the host's exit handlers.
/// Atomics instead of a mutex, so that a forked child cannot inherit it locked.
constinit std::atomic<SymbolLookup> symbol_lookup{nullptr};
constinit std::atomic<const Interpreter*> known_interpreter{nullptr};
constinit std::atomic<const Interpreter*> every_interpreter{nullptr};  ///< list by `older`
constinit std::atomic<bool> looked{false};
constinit std::atomic<unsigned long long> adds_when_looked{0};
constinit std::atomic<unsigned long long> subs_when_looked{0};

void* look_up(const char* name) {
    const SymbolLookup lookup = symbol_lookup.load(std::memory_order_acquire);
    return lookup != nullptr ? lookup(name) : find_symbol(name);
}

template <typename Function>
void look_up(const char* name, Function& function) {
    function = reinterpret_cast<Function>(look_up(name));
}

unsigned long version_of_interpreter() {
    if (const void* constant = look_up("Py_Version")) {  // since 3.11
        unsigned long version = 0;
        read_memory(reinterpret_cast<std::uintptr_t>(constant), &version, sizeof version);
        return version;
    }
    const char* (*get_version)() = nullptr;  // a formatted static text such as "3.10.13 (main, ...)"
    look_up("Py_GetVersion", get_version);
    if (get_version == nullptr) {
        return 0;
    }
    char* end = nullptr;
    const unsigned long major = std::strtoul(get_version(), &end, 10);
    const unsigned long minor = *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
    return major > 255 || minor > 255 ? 0 : (major << 24) | (minor << 16);
}

std::string version_text(unsigned long version) {
    return "CPython " + std::to_string(version >> 24) + "." + std::to_string((version >> 16) & 255);
}

/// How to read this interpreter's frames. CPython's own routine first: it knows its structures also in builds that
/// shift them (debug, reference tracing).
void choose_method(Interpreter& python) {
    const unsigned long minor = python.version >> 16;
    const auto code_type = reinterpret_cast<std::uintptr_t>(look_up("PyCode_Type"));
    python.state_thread_id = minor == 0x30a ? 176 : minor == 0x30b ? 152 : 0;
    if (python.dump != nullptr) {
        python.method = Interpreter::Method::dump;
        return;
    }
    if (minor == 0x30a) {
        python.layout = layout_of_3_10();
        python.method = Interpreter::Method::frames;
    } else if (minor >= 0x30d &&
               layout_from_debug_offsets(python.runtime, python.version, python.layout, python.reason)) {
        python.method = Interpreter::Method::frames;
    } else {
        const std::string why = python.reason.empty() ? "exports no traceback dump" : python.reason;
        python.reason =
            "python frames unavailable: " + version_text(python.version) + (python.reason.empty() ? " " : ": ") + why;
        return;
    }
    python.layout.code_type = code_type;
}

std::unique_ptr<Interpreter> look_for_interpreter() {
    auto python = std::make_unique<Interpreter>();
    look_up("PyGILState_GetThisThreadState", python->this_thread_state);
    look_up("Py_IsInitialized", python->is_initialized);
    if (python->this_thread_state == nullptr || python->is_initialized == nullptr) {
        return nullptr;
    }
    look_up("PyThreadState_GetUnchecked", python->current_state);  // 3.13
    if (python->current_state == nullptr) {
        look_up("_PyThreadState_UncheckedGet", python->current_state);
    }
    look_up("Py_IsFinalizing", python->is_finalizing);  // 3.13
    if (python->is_finalizing == nullptr) {
        look_up("_Py_IsFinalizing", python->is_finalizing);
    }
    look_up("_Py_DumpTraceback", python->dump);
    python->runtime = reinterpret_cast<std::uintptr_t>(look_up("_PyRuntime"));
    python->version = version_of_interpreter();
    choose_method(*python);
    return python;
}

/// The interpreter of this process, or nullptr. Looked for again when objects were loaded while none was known, and
/// when any was unloaded (an embedding host may drop libpython). Threads that look at the same time find the same.
const Interpreter* interpreter() {
    const LoadCounts counts = load_counts();
    const Interpreter* known = known_interpreter.load(std::memory_order_acquire);
    if (looked.load(std::memory_order_acquire) && counts.subs == subs_when_looked.load(std::memory_order_relaxed) &&
        (known != nullptr || counts.adds == adds_when_looked.load(std::memory_order_relaxed))) {
        return known;
    }
    std::unique_ptr<Interpreter> found = look_for_interpreter();
    const bool same = found != nullptr && known != nullptr && found->this_thread_state == known->this_thread_state &&
                      found->runtime == known->runtime && found->version == known->version;
    if (!same) {
        // Replaced ones are kept for good, since another thread may be reading them; in a list, so that a leak checker
        // in the host stays quiet. It grows only when libpython itself comes or goes.
        Interpreter* changed = found.release();
        if (changed != nullptr) {
            changed->older = every_interpreter.load(std::memory_order_relaxed);
            while (!every_interpreter.compare_exchange_weak(changed->older, changed, std::memory_order_release,
                                                            std::memory_order_relaxed)) {
            }
        }
        known = changed;
        known_interpreter.store(known, std::memory_order_release);
    }
    adds_when_looked.store(counts.adds, std::memory_order_relaxed);
    subs_when_looked.store(counts.subs, std::memory_order_relaxed);
    looked.store(true, std::memory_order_release);
    return known;
}

/// The calling thread's thread state. PyGILState_GetThisThreadState alone would miss a sub-interpreter: up to 3.11 it
/// names the thread's first state, although Python runs in another. PyGILState_Check() is no help there: it always
/// says yes once sub-interpreters exist. So: when the current state is provably this thread's, it wins.
void* own_thread_state(const Interpreter& python) {
    void* own = python.this_thread_state();
    void* current = python.current_state != nullptr ? python.current_state() : nullptr;
    if (current == nullptr || current == own) {
        return own;
    }
    if (python.version >= 0x030c0000) {
        return current;  // kept in thread-local storage since 3.12: never another thread's
    }
    // Before, it is global and mostly another thread's, which may be ending: look at its owner by a guarded read. If it
    // is ours it cannot change meanwhile, since this thread holds the GIL and is here.
    if (python.state_thread_id != 0) {
        unsigned long owner = 0;
        if (read_memory(reinterpret_cast<std::uintptr_t>(current) + python.state_thread_id, &owner, sizeof owner) ==
                ReadResult::ok &&
            owner == static_cast<unsigned long>(pthread_self())) {
            return current;
        }
    }
    return own;
}

PythonStack capture() {
    PythonStack stack;
    const Interpreter* python = interpreter();
    if (python == nullptr || python->is_initialized() == 0 ||
        (python->is_finalizing != nullptr && python->is_finalizing() != 0)) {
        return stack;
    }
    void* state = own_thread_state(*python);
    if (state == nullptr) {
        return stack;
    }
    switch (python->method) {
        case Interpreter::Method::dump:
            dump_python_frames(python->dump, state, stack);
            break;
        case Interpreter::Method::frames:
            walk_python_frames(python->layout, reinterpret_cast<std::uintptr_t>(state), stack);
            break;
        case Interpreter::Method::none:
            stack.unavailable = python->reason;
            break;
    }
    return stack;
}

}  // namespace

void set_symbol_lookup(SymbolLookup lookup) noexcept {
    symbol_lookup.store(lookup, std::memory_order_release);
    looked.store(false, std::memory_order_release);
}

PythonStack capture_python() noexcept {
    const QuietScope quiet;
    try {
        return capture();
    } catch (...) {
        PythonStack stack;
        try {
            stack.unavailable = "python frames unavailable: out of memory";
        } catch (...) {
        }
        return stack;
    }
}

}  // namespace keepgraph::trace
