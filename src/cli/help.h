// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace keepgraph::cli {

/// Help of a subcommand: its own usage line (CLI11 does not know what stands behind `--`), and long texts below their
/// option in lines of a terminal's width, since CLI11 breaks none.
void set_help(CLI::App& command, const std::string& usage);

}  // namespace keepgraph::cli
