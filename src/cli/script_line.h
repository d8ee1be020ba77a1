// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keepgraph::cli {

/// The kernel reads this much of a file for its `#!` line.
inline constexpr std::size_t script_line_limit = 256;

struct ScriptLine {
    std::string interpreter;  ///< empty: not a script with `#!`
    std::string through_env;  ///< NAME in `#!/usr/bin/env NAME` and `#!/usr/bin/env -S VAR=x NAME ...`
};

ScriptLine parse_script_line(std::string_view beginning_of_file);

}  // namespace keepgraph::cli
