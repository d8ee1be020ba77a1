// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace keepgraph::session {

/// Who did something and when: one call of the program.
struct Event {
    const char* call = "";               ///< the driver function, a row of symbols.def
    const char* runtime_call = nullptr;  ///< the runtime function above it, where its door was passed
    double time = 0;                     ///< seconds since the session began
    long thread = 0;                     ///< kernel's thread id
    std::string thread_name;
    std::uint32_t stack = 0;              ///< number in the session's stack table, 0: none
    const char* stack_missing = nullptr;  ///< why there is none
};

}  // namespace keepgraph::session
