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

/// Of this thread's requests from now on the `first`-th one (from 1) fails, or that one and all after it.
struct FailingRequests {
    long made = 0;
    long first = 0;  ///< 0: none fails
    bool and_later = false;

    bool next_fails() {
        ++made;
        return first > 0 && (made == first || (and_later && made > first));
    }
};
inline thread_local FailingRequests failing_requests;

}  // namespace keepgraph::unit_tests
