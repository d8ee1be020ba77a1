// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace keepgraph::cli {

void add_show(CLI::App& app, int& exit_code);

}  // namespace keepgraph::cli
