// SPDX-License-Identifier: Apache-2.0
//
// From the words of a command line to a program under the shim; `run` and `doctor --coverage` share it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/target.h"

namespace keepgraph::cli {

struct Launch {
    std::vector<std::string> words;  ///< the program and its arguments
    Target target;
    std::string preload;             ///< what LD_PRELOAD has to be
    std::optional<Refusal> refusal;  ///< why it cannot run under the shim, a whole sentence
};
Launch prepare(const std::vector<std::string>& words);

/// Replaces this process; comes back never: when it cannot, it says why and ends with 126 or 127.
[[noreturn]] void become(const Launch& launch);

/// Says on stderr why nothing is run, and gives `code` back.
int refuse(int code, const std::string& reason);

/// setenv that throws: a setting that silently is not in force would be worse than no run.
void set_variable(const std::string& name, const std::string& value);

}  // namespace keepgraph::cli
