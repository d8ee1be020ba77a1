// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace keepgraph::cli {

/// `doctor --coverage`: what look-ups of the driver handed out while the program ran. 0 when a recording told.
int report_coverage(const std::vector<std::string>& words);

/// `key        text` on stdout; an empty key continues the one above.
void say(const std::string& key, const std::string& text);

}  // namespace keepgraph::cli
