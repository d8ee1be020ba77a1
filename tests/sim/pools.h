// SPDX-License-Identifier: Apache-2.0
// Freed memory of pools: it stays mapped until the next synchronize, as long as a pool has other memory in use, and as
// far as its release threshold lets it. Addresses are never another pool's page.
#pragma once

#include "address_space.h"

namespace keepgraph::sim {

/// `block` of a pool has just ended. Under the lock.
void pool_memory_freed(const Block& block);
/// What every synchronize does. Without the lock.
void give_back_pool_memory();

}  // namespace keepgraph::sim
