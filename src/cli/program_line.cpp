// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace keepgraph::cli {

std::vector<std::string>& program_line() {
    static std::vector<std::string> words;
    return words;
}

}  // namespace keepgraph::cli
