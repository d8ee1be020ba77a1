// SPDX-License-Identifier: Apache-2.0
// Streams and events. Work runs at once, on the calling thread: in-order streams, and no more concurrency than the
// threads of the program have.
#pragma once

#include <memory>
#include <vector>

#include "objects.h"

namespace keepgraph::sim {

struct Capture;
struct Context;
struct Node;

/// A node that the next node of a stream, or the waiter of an event, comes after.
struct Dependency {
    Node* node = nullptr;
    CUgraphEdgeData edge = {};
};

struct Stream : Object<Kind::stream> {
    Context* context = nullptr;
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;
    bool legacy = false;
    std::shared_ptr<Capture> capture;
    std::vector<Dependency> after;         // while it captures
    std::vector<CUgraphNode> nodes_shown;  // what cuStreamGetCaptureInfo gave the program a pointer to
    std::vector<CUgraphEdgeData> edges_shown;
};

struct Event : Object<Kind::event> {
    Context* context = nullptr;
    unsigned flags = 0;
    bool recorded = false;
    uint64_t stream = 0;  // id of the one it was last recorded in
    double milliseconds = 0;
    std::shared_ptr<Capture> capture;  // last recorded in a capturing stream
    std::vector<Dependency> after;
};

/// The stream behind a handle; the handles 0, 1 and 2 are the default streams of the current context. Null: not valid.
Stream* stream_of(CUstream handle);
void forget_streams_of(const Context* context);
void record(Event* event);

void wait_as_long_as_told();  // KEEPGRAPH_SIM_SYNC_US; a cancellation point

}  // namespace keepgraph::sim
