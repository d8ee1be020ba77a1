// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/cuda_types.h"

/// What keepgraph knows about one process: its captures, templates and executable graphs, the memory they refer to, and
/// what became of it. The doors call it around the program's own calls; `call` is always the name of the driver
/// function. Any thread; nothing throws; when book-keeping fails the call of the program goes on and the loss is said
/// once. What a function before the real call gives out as void* goes to its partner after it, null or not.
namespace keepgraph::session {

/// The library was loaded, nothing of the program has run: one fstat, to know what its stderr is.
void loaded() noexcept;
/// Reads the settings and starts; later calls do nothing. Called when the process initialises CUDA, never before.
void start() noexcept;

// ---- captures and templates

/// `stream` captures now. A stream of 0 is the calling thread's own.
void capture_began(const char* call, CUstream stream, CUstreamCaptureMode mode) noexcept;
/// EndCapture returned `result`, and on success `graph`.
void capture_ended(const char* call, CUstream stream, CUresult result, CUgraph graph) noexcept;
/// Called before the real destroy, so that a handle which comes back at once is not mistaken for the old one.
void* stream_destroying(CUstream stream) noexcept;
void stream_destroyed(void* leaving, bool succeeded) noexcept;

/// Called before a template is changed or destroyed: its edges are read now, if they are wanted and were not yet.
void template_changing(CUgraph graph) noexcept;
/// The same when only one node of it is named.
void template_changing(CUgraphNode node) noexcept;
/// Called before the real destroy, so that a handle which comes back at once is not mistaken for the old one.
void* template_destroying(CUgraph graph) noexcept;
void template_destroyed(void* leaving, bool succeeded) noexcept;

// ---- executable graphs

/// `exec` was made from `graph`: its parameters are read now, since templates are usually destroyed at once.
void instantiated(const char* call, CUgraphExec exec, CUgraph graph) noexcept;
/// `exec` took over the parameters of `graph`.
void updated(const char* call, CUgraphExec exec, CUgraph graph) noexcept;

/// A node of `exec` was given new parameters. The pointers are the program's, alive until its call returns.
void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params) noexcept;
void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& params) noexcept;
void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& params) noexcept;
void node_set(const char* call, CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& params) noexcept;
void node_set(const char* call, CUgraphExec exec, CUgraphNode node, CUgraph child) noexcept;
void node_enabled(const char* call, CUgraphExec exec, CUgraphNode node, bool enabled) noexcept;

/// Called before the real destroy, so that a handle which comes back at once is not mistaken for the old one.
void* destroying(CUgraphExec exec) noexcept;
void destroyed(void* exec, bool succeeded) noexcept;

/// Reports what is wrong with the launch, before the driver sees it. False: it must be refused.
/// With nothing freed that the exec refers to: a table look-up and an atomic load.
bool may_launch(const char* call, CUgraphExec exec, void*& launching) noexcept;
/// The driver took the launch: one uncontended atomic add. One that it refused is no replay.
void launched(void* launching) noexcept;

// ---- memory

/// Memory at `base` is about to be freed by `call`. Null when no graph refers to that memory.
void* freeing(const char* call, std::uintptr_t base) noexcept;
/// When the call succeeded the driver is asked whether it died: a free that a capture recorded leaves its BUFFER_ID
/// valid. A call that failed freed nothing.
void freed(const char* call, std::uintptr_t base, void* dying, bool succeeded) noexcept;
/// cuMemMap and cuMemUnmap: all allocations that begin in [base, base + size).
void mapped(const char* call, std::uintptr_t base, std::size_t size) noexcept;
void* unmapping(const char* call, std::uintptr_t base, std::size_t size) noexcept;
void unmapped(const char* call, std::uintptr_t base, std::size_t size, void* dying, bool succeeded) noexcept;
/// New memory. Looked at only when it covers memory that a graph refers to and that is gone, or with STACKS=all.
void born(const char* call, std::uintptr_t base, std::size_t size) noexcept;

// ---- the rest

/// What the driver said of functions is forgotten: their handles come back for other kernels. Called before the real
/// unload, since another thread may be given one of them while that returns. When it fails, or unloads other code, the
/// driver is asked again.
void code_unloading() noexcept;
/// The libcuda in use has none of these functions, whose calls the door would have to see; a null ends the list, which
/// lives for ever. Said at the first graph. Before start() too.
void driver_lacks(const char* const* names) noexcept;
/// A look-up handed `name` out, with a wrapper or without. Kept for OPTIONS=coverage=1; before start() too.
void looked_up(const char* name, bool wrapped) noexcept;
/// The last line on stderr, once, when the process made a graph. No CUDA call.
void finish() noexcept;

}  // namespace keepgraph::session
