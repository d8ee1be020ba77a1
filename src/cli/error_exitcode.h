// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/launch.h"

namespace keepgraph::cli {

/// `run --error-exitcode CODE`: runs the program with a folder of its own below OUT and returns the exit code, or ends
/// as the program ended.
int run_counting_findings(const Launch& launch, int code);

}  // namespace keepgraph::cli
