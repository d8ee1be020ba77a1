// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "trace/python_stack.h"

namespace keepgraph::trace {

/// CPython's `_Py_DumpTraceback(fd, thread state)`: the routine of its fault handler, made to run without the GIL.
using DumpTraceback = void (*)(int fd, void* thread_state);

/// Runs `dump` for a thread state of the calling thread and parses what it writes. May throw bad_alloc.
/// Opens a pipe for the moment and closes it; no descriptor stays.
void dump_python_frames(DumpTraceback dump, void* thread_state, PythonStack& stack);

/// Parses the text of a dump: lines `  File "x", line N in f`. Undoes the dump's escapes (\xNN, \uNNNN, \UNNNNNNNN);
/// names longer than the dump allows end in "..." and stay so. Incomplete last lines are dropped.
void parse_python_dump(std::string_view text, PythonStack& stack);

}  // namespace keepgraph::trace
