// SPDX-License-Identifier: Apache-2.0
//
// The subcommands. Each registers itself and has a callback that does the work and sets `exit_code`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace keepgraph::cli {

void add_run(CLI::App& app, int& exit_code);
void add_env(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);

/// What stands behind the first `--` of `run` and `doctor`, byte for byte; empty without a `--`.
/// CLI11 never sees it: it splits `[a,b]`, takes `++` and names of subcommands for its own, and a program's arguments
/// must arrive as they were typed.
std::vector<std::string>& program_line();

}  // namespace keepgraph::cli
