// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace keepgraph::cli {

ProgramLine& program_line() {
    static ProgramLine line;
    return line;
}

}  // namespace keepgraph::cli
