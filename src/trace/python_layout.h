// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace keepgraph::trace {

/// Where one CPython keeps what a traceback needs. All numbers are byte offsets in the structure named.
struct PythonLayout {
    enum class Lines {
        pairs,      ///< 3.10: co_linetable of (bytes, lines) pairs; frame says an instruction index
        locations,  ///< 3.11 on: variable-length location entries; frame says an instruction address
    };
    Lines lines = Lines::locations;

    // thread state
    std::size_t thread_frame = 0;

    // frame
    std::size_t frame_previous = 0;
    std::size_t frame_code = 0;
    std::size_t frame_position = 0;    ///< f_lasti (pairs) or instr_ptr (locations)
    std::size_t frame_line = 0;        ///< pairs only: f_lineno, which a tracer may have set
    std::size_t frame_owner = 0;       ///< locations only: 3 and more are entry frames without code of their own
    std::size_t frame_tlbc_index = 0;  ///< free-threaded 3.14: which copy of the bytecode runs; 0 when there is none

    // code object
    std::size_t code_file = 0;
    std::size_t code_name = 0;
    std::size_t code_first_line = 0;
    std::size_t code_lines = 0;         ///< co_linetable, a bytes object
    std::size_t code_instructions = 0;  ///< locations only: the bytecode itself, inside the code object
    std::size_t code_tlbc = 0;          ///< free-threaded 3.14: table of per-thread bytecode copies

    // objects
    std::size_t object_type = 8;
    std::size_t bytes_size = 16;
    std::size_t bytes_data = 32;
    std::size_t text_length = 16;
    std::size_t text_state = 32;
    std::size_t text_ascii_data = 40;    ///< characters of a pure ASCII string
    std::size_t text_compact_data = 56;  ///< characters of any other string
    unsigned text_kind_shift = 2;        ///< bits below `kind` in the state word

    std::uintptr_t code_type = 0;  ///< &PyCode_Type: what is not of this type is not read as code; 0: not checked
};

/// The layout of CPython 3.10, which describes itself nowhere (default build, LP64; others fail the type check).
PythonLayout layout_of_3_10() noexcept;

/// The layout that CPython 3.13 or 3.14 describes itself, at the start of its `_PyRuntime`.
/// `runtime` may be any address; false and `reason` when it is no such description, of another version than
/// `version` (PY_VERSION_HEX), of a pre-release, or holds numbers that cannot be offsets.
bool layout_from_debug_offsets(std::uintptr_t runtime, unsigned long version, PythonLayout& layout,
                               std::string& reason);

}  // namespace keepgraph::trace
