// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "graph/snapshot.h"
#include "memory/allocation.h"
#include "memory/seen.h"

namespace keepgraph::liveness {

/// Where in a node an address stands.
struct Slot {
    enum class Kind : unsigned char { parameter, source, destination };
    Kind kind = Kind::parameter;
    std::uint16_t parameter = 0;  ///< of the kernel
    std::uint32_t offset = 0;     ///< bytes into that parameter
};
/// "parameter N +M", "src", "dst"
std::string to_string(const Slot& slot);

/// One address that a graph will use at replay.
struct Reference {
    std::uint32_t body = 0;  ///< in Snapshot::bodies()
    std::uint32_t node = 0;  ///< in that body
    Slot slot;
    config::Grade grade = config::Grade::likely;  ///< as the node alone tells; see grade_now()
    bool maybe_end = false;                       ///< the first byte behind another parameter's allocation
    std::uint32_t input = 0;                      ///< index of its allocation
    std::uintptr_t address = 0;
};

/// What a graph refers to. Sorted by body and node.
struct Scan {
    std::vector<Reference> references;
    std::vector<memory::Allocation> allocations;  ///< distinct, by Reference::input
    std::uint32_t opaque = 0;                     ///< nodes that could not be looked into
    std::vector<graph::Place> unanswered;         ///< those of them of whose addresses the driver did not say all
    bool raised =
        false;  ///< a slot of some function turned out to hold no ends: older references may have become likely
};

/// Reads the addresses out of the kernel, memcpy and memset nodes; of the latter two there is a reference for each
/// allocation that they touch, to the first byte touched there. Memory that the driver does not know (pageable host
/// memory) gives no reference, and neither do the graph's own memory nodes. Kernel words that are no address, now or
/// ever (`seen`), are noted in the function's slots. May throw std::bad_alloc; the caller holds a
/// driver::RelaxedCapture. Any thread.
/// `dead`: memory that is known to be gone; addresses of it are references too.
Scan scan(const graph::Snapshot& snapshot, memory::Seen& seen, const memory::Dead* dead = nullptr);
/// The same of one node, and of the bodies below it.
Scan scan_node(const graph::Snapshot& snapshot, const graph::Place& place, memory::Seen& seen,
               const memory::Dead* dead = nullptr);

/// The grade in the light of everything seen so far: a slot that ever held a plain number is only `possible`, and so is
/// what may be an `end` pointer, unless its slot once held an address that cannot be one.
config::Grade grade_now(const graph::Snapshot& snapshot, const Reference& reference) noexcept;

}  // namespace keepgraph::liveness
