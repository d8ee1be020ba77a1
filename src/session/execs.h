// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session/state.h"

// What the files about executable graphs share. Everything under the session's lock; may throw std::bad_alloc.
namespace keepgraph::session {

/// What KEEP's max counts. Of a graph whose data was dropped nothing: the rest stays for findings and cannot be
/// dropped.
inline std::size_t counted_bytes(const graph::Snapshot& snapshot) noexcept {
    return snapshot.data_dropped() ? 0 : snapshot.bytes();
}

/// Takes what `scan` found into `exec`, and returns its references: their input numbers are places in exec.inputs. The
/// caller holds a RelaxedCapture.
std::vector<liveness::Reference> take(Session& session, Exec& exec, liveness::Scan scan);
/// `exec` no longer holds `reference`.
void release(Session& session, Exec& exec, const liveness::Reference& reference);
/// `exec` is gone: counts, references, its place in the lists, the event.
void retire(Session& session, Exec& exec);
/// Counts an update; the first one by each call is recorded. `node` is null when it was a whole-graph update.
void note_update(Session& session, Exec& exec, const char* call, const graph::Place* node);
/// Reads the edges of every exec of the template that lacks them. The caller holds a RelaxedCapture.
void read_missing_edges(Session& session, CUgraph graph);
/// Before `exec` takes over `later`, which was read from `graph`: reads the edges of both where the
/// order of the nodes may not tell which of them the driver pairs. The caller holds a RelaxedCapture.
void read_edges_to_pair(Session& session, Exec& exec, graph::Snapshot& later, CUgraph graph);
/// Which nodes changed is not known: none is looked into until an update tells all parameters again.
void lose_sight(Session& session, Exec& exec);
/// Nobody wants the edges of `exec` any more.
void forget_missing_edges(Session& session, Exec& exec);

}  // namespace keepgraph::session
