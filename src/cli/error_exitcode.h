// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/launch.h"

namespace keepgraph::cli {

/// Goes before the reason why there can be none.
inline constexpr const char* needs_recording = "--error-exitcode needs a recording: ";

/// `run --error-exitcode CODE`: runs the program with a folder of its own below OUT and returns the exit code, or ends
/// as the program ended.
int run_counting_findings(const Launch& launch, int code);

}  // namespace keepgraph::cli
