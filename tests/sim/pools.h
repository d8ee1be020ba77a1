// SPDX-License-Identifier: Apache-2.0
// Freed memory of pools. It stays mapped until a synchronize that the free comes before, and longer while the pool has
// other memory in use or its release threshold says so.
#pragma once

#include "address_space.h"

namespace keepgraph::sim {

/// `block` of a pool has just ended, by a free in that stream (its id). Under the lock.
void pool_memory_freed(const Block& block, uint64_t stream);
/// What every synchronize does: the frees of this stream, or of all, are over. Without the lock.
void give_back_pool_memory(uint64_t stream = any_stream);

}  // namespace keepgraph::sim
