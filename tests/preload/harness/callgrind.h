// SPDX-License-Identifier: Apache-2.0
// What a program executes, counted by valgrind's callgrind: instructions, and which function calls which. Repeatable
// where a time is not, and complete where a preload that counts some functions sees only those that somebody thought
// of.
#pragma once

#include <string>
#include <vector>

#include "on_double.h"

namespace keepgraph::preload_tests {

struct Call {
    std::string caller_object, caller;  // file name without folder; function as its debug information names it
    std::string callee_object, callee;
    long count = 0;  // over the whole run
};

struct Profile {
    Outcome outcome;
    long instructions = 0;
    std::vector<Call> calls;
};

/// Runs on the double under callgrind. With `only_in`, instructions are those executed below the function of that name,
/// and calls those made there. No valgrind is a failure: scripts/setup installs it.
Profile profile(const std::vector<std::string>& args, const Conditions& setup = {}, const std::string& only_in = {});

}  // namespace keepgraph::preload_tests
