// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/allocation.h"
#include "session/event.h"

namespace keepgraph::session {

struct Exec;

/// An allocation that at least one exec refers to. Shared by the execs, the maps by address, and what is being freed.
struct Tracked {
    memory::Allocation allocation;
    bool has_birth = false;  ///< STACKS=all: where it was allocated
    Event birth;
    bool dead = false;
    std::uint64_t death_number = 0;  ///< DeadMemory's: later deaths have higher ones
    Event death;
    bool readable_at_death = true;  ///< by the CPU, or not known
    bool has_younger = false;       ///< its address was given out again
    memory::Allocation younger;     ///< the first that got it; it may be gone as well
    Event younger_birth;
    std::vector<Exec*> execs;  ///< that refer to it
};
using TrackedPtr = std::shared_ptr<Tracked>;

}  // namespace keepgraph::session
