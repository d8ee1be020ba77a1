// SPDX-License-Identifier: Apache-2.0
//
// An operator new that fails on request; link no_memory.cpp.
#pragma once

namespace keepgraph::unit_tests {

inline thread_local bool no_memory = false;

struct NoMemory {
    NoMemory() { no_memory = true; }
    ~NoMemory() { no_memory = false; }
};

}  // namespace keepgraph::unit_tests
