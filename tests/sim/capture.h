// SPDX-License-Identifier: Apache-2.0
// Stream capture: who captures, what is forbidden meanwhile and to whom, and what breaks a capture. Everything here is
// called under the lock.
#pragma once

#include <cstdint>
#include <memory>

#include "stream.h"
#include "work.h"

namespace keepgraph::sim {

struct Graph;

struct Capture {
    uint64_t id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    uint64_t thread = 0;  // that began it
    Stream* origin = nullptr;
    Graph* graph = nullptr;
    bool into_given_graph = false;  // cuStreamBeginCaptureToGraph
    bool invalidated = false;
    bool over = false;
    std::vector<Stream*> streams;
};

/// A call that may synchronise implicitly (cuMemAlloc is one). 900, and the captures that forbid it are invalidated.
CUresult unsafe_call();
/// cuCtxSynchronize: forbidden while any stream of the context captures, whatever the modes are.
CUresult check_context_synchronize(const Context* context);
/// Work on the legacy stream waits for all blocking streams: 906 while one of them captures.
CUresult check_legacy(const Stream* stream);
/// Query or synchronize of a stream.
CUresult check_observation(const Stream* stream);
void invalidate(Capture& capture);

/// Work for a stream: a new node while it captures, else it is left in `work` to be run (ran is false then).
CUresult capture_work(Stream* stream, Work& work, bool* captured, Node** node = nullptr);
/// The whole life of asynchronous work: captured, or run at once.
CUresult submit(CUstream handle, Work work);

CUresult join(Stream* stream, const Event* event);  // cuStreamWaitEvent on an event that was recorded in a capture
void leave_captures(Stream* stream);                // it is destroyed

}  // namespace keepgraph::sim
