// SPDX-License-Identifier: Apache-2.0
//
// One flag per row of config::settings_table(), for every subcommand that sets up an environment.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace keepgraph::cli {

class SettingFlags {
  public:
    /// The object must stay where it is until the command line is parsed. Help shows what is allowed and the default.
    void add_to(CLI::App& command);

    /// Variables and values of the flags that were given, in the table's order.
    std::vector<std::pair<std::string, std::string>> given() const;

  private:
    std::vector<std::string> values_;
    std::vector<CLI::Option*> options_;
};

/// The table for README.md, in Markdown.
std::string settings_markdown();

}  // namespace keepgraph::cli
