// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/python_layout.h"
#include "trace/python_stack.h"

namespace keepgraph::trace {

/// Walks the frames of the thread state at `thread_state` into `stack`, reading every byte through read_memory.
/// What cannot be read or makes no sense ends the walk with a reason in `stack.unavailable`; it never faults and always
/// ends. The caller makes sure that the frames stand still: they belong to the calling thread. May throw bad_alloc.
void walk_python_frames(const PythonLayout& layout, std::uintptr_t thread_state, PythonStack& stack);

/// Line of byte `position` of the bytecode by a 3.10 line table ((bytes, lines) pairs); 0 when it has none.
unsigned line_from_pairs(std::span<const unsigned char> table, int first_line, std::int64_t position);

/// The same by a location table of 3.11 and later.
unsigned line_from_locations(std::span<const unsigned char> table, int first_line, std::int64_t position);

}  // namespace keepgraph::trace
