// SPDX-License-Identifier: Apache-2.0
// Where the build put its pieces, and how a program is run on the CPU double with or without the shim.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "process.h"

namespace keepgraph::preload_tests {

std::string build_folder();                    // KEEPGRAPH_BUILD, set by meson
std::string source_folder();                   // KEEPGRAPH_SOURCE
std::string shim();                            // libkeepgraph_preload.so
std::string command_path();                    // the keepgraph command
std::string victim(const std::string& name);   // a program of tests/programs
std::string hostile(const std::string& name);  // a program or plugin of tests/preload/programs
std::string double_folder();                   // libcuda.so.1 and libcudart.so.13 of the double

/// The words of `text`, of which the first names a program of either folder.
std::vector<std::string> program_line(const std::string& text);
/// What GoogleTest allows as a name of a parameter's test: letters, digits, underscores.
std::string test_name(std::string text);

/// A variable and its value; no value removes a variable that the harness sets by itself (HOME, PATH, ...).
using Variable = std::pair<std::string, std::optional<std::string>>;

struct Conditions {
    bool with_shim = true;
    std::vector<Variable> env;
    std::vector<std::string> preload_before;  // other libraries in LD_PRELOAD, before and after the shim
    std::vector<std::string> preload_after;
    std::string library_path;  // empty: the double
    std::string directory;
    std::chrono::seconds timeout{25};
    unsigned long file_size_limit = 0;
    int kill_with = 0;
    std::chrono::milliseconds kill_after{0};

    Conditions bare() const {
        Conditions other = *this;
        other.with_shim = false;
        return other;
    }
    Conditions with(const std::string& name, const std::string& value) const {
        Conditions other = *this;
        other.env.emplace_back(name, value);
        return other;
    }
};

Command command_for(const std::vector<std::string>& args, const Conditions& setup);
Outcome run_on_double(const std::vector<std::string>& args, const Conditions& setup = {});
/// A tool of the system or the command itself: no double, no shim. Expects that it succeeds; what it printed.
std::vector<std::string> lines_of(const std::vector<std::string>& args);

/// Build-id of a file as readelf says; "" when it has none.
std::string build_id_of(const std::string& path);

/// stderr without the shim's own lines, and the shim's own lines alone.
std::string foreign_lines(const std::string& err);
std::vector<std::string> keepgraph_lines(const std::string& err);
size_t count_lines_with(const std::vector<std::string>& lines, const std::string& part);

/// Runs twice, without and with the shim, and expects the same stdout, stderr (but for lines of keepgraph) and end.
/// Returns the outcome under the shim.
Outcome expect_transparent(const std::vector<std::string>& args, const Conditions& setup = {});

}  // namespace keepgraph::preload_tests
