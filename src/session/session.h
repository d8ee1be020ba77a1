// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/cuda_types.h"

/// What keepgraph knows about one process: its executable graphs, the memory they refer to, and what became of it.
/// The doors call it around the program's own calls. Any thread; nothing throws; when book-keeping fails the call of
/// the program goes on and the loss is said once.
namespace keepgraph::session {

/// Reads the settings and starts; later calls do nothing. Called when the process initialises CUDA, never before.
void start() noexcept;

/// `exec` was made from `graph`: its parameters are read now, since templates are usually destroyed at once.
void instantiated(CUgraphExec exec, CUgraph graph) noexcept;
/// `exec` took over the parameters of `graph`.
void updated(CUgraphExec exec, CUgraph graph) noexcept;
/// A single node of `exec` was changed: what it refers to is no longer known, and the last line says so.
void changed(CUgraphExec exec) noexcept;
/// Called before the real destroy, so that a handle which comes back at once is not mistaken for the old one.
void destroying(CUgraphExec exec) noexcept;

/// Counts the launch and reports what is wrong with it, before the driver sees it. False: it must be refused.
/// With nothing freed since the last launch: two atomic operations.
bool may_launch(CUgraphExec exec) noexcept;

/// Memory at `base` is about to be freed by `call`. The answer goes to freed() after the real call; null when no graph
/// refers to that memory.
void* freeing(const char* call, std::uintptr_t base) noexcept;
/// Every referenced allocation that begins in [base, base + size), for cuMemUnmap.
void* freeing_range(const char* call, std::uintptr_t base, std::size_t size) noexcept;
/// The driver decides whether it died: a failed free or one that a capture recorded leaves its BUFFER_ID valid.
void freed(void* dying) noexcept;

/// New memory. Only remembered when it covers memory that a graph refers to and that is gone.
void born(const char* call, std::uintptr_t base, std::size_t size) noexcept;

/// What cuFuncGetParamInfo and cuFuncGetName said is forgotten: function handles come back for other kernels.
void code_unloaded() noexcept;

/// The last line on stderr, once, when the process made a graph. No CUDA call.
void finish() noexcept;

}  // namespace keepgraph::session
