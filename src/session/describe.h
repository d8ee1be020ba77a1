// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "session/state.h"

// Memory, events and references in words and in JSON (src/report/README.md).
namespace keepgraph::session {

/// "0x7f..."
std::string hex(std::uintptr_t value);
inline std::string hex(const void* handle) {
    return hex(reinterpret_cast<std::uintptr_t>(handle));
}

/// "4096 bytes of device memory at 0x7f.. (allocation #5)"
std::string to_text(const memory::Allocation& allocation);
report::Json to_json(const memory::Allocation& allocation);
/// With its birth's stack, where it is known.
report::Json to_json(const Tracked& tracked);

/// "call", "runtime_call", "t", "thread", "thread_name", "stack" of `event`, as a finding names it. On a line of its
/// own the writer leaves `t` and `thread` out for those of the line: the moment of writing, so that time goes on.
report::Json to_json(const Event& event);

/// Whether the node, or the child graph that it is in, was switched off by cuGraphNodeSetEnabled.
bool is_disabled(const graph::Snapshot& snapshot, const liveness::Reference& reference) noexcept;

/// "cuMemFree_v2 in cudaFree"
std::string call_of(const Event& event);

/// "node 2 of child#1"
std::string to_text(const graph::Snapshot& snapshot, const graph::Place& place);
/// "node 0, kernel kg_scale, parameter 0 +8" or "node 2 of child#1, memcpy src"
std::string to_text(const graph::Snapshot& snapshot, const liveness::Reference& reference);
/// An entry of "references".
report::Json to_json(const Exec& exec, const liveness::Reference& reference, config::Grade grade);

}  // namespace keepgraph::session
