// SPDX-License-Identifier: Apache-2.0
// Recordings to read: the hand-written one in fixtures/complete, and what tests make of it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/process.h"

namespace keepgraph::unit_tests {

using preload_tests::Command;
using preload_tests::Outcome;
using preload_tests::read_file;
using preload_tests::TempFolder;
using preload_tests::write_file;

inline std::string from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : throw std::runtime_error(std::string(name) + " is not set: run meson test");
}

inline std::string complete_recording() {
    return from_environment("KEEPGRAPH_FIXTURES") + "/complete";
}

/// A copy of the complete recording that a test may damage.
inline std::string copy_of_recording(const std::string& folder) {
    std::filesystem::copy(complete_recording(), folder, std::filesystem::copy_options::recursive);
    return folder;
}

inline void append(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

inline void replace_in(const std::string& path, const std::string& what, const std::string& by) {
    std::string text = read_file(path);
    const std::size_t at = text.find(what);
    if (at == std::string::npos)
        throw std::runtime_error(path + " does not hold " + what);
    write_file(path, text.replace(at, what.size(), by));
}

inline Outcome show(std::vector<std::string> args, std::map<std::string, std::string> env = {}) {
    Command command;
    command.args = {from_environment("KEEPGRAPH_COMMAND"), "show"};
    command.args.insert(command.args.end(), args.begin(), args.end());
    command.env = std::move(env);
    return preload_tests::run(command);
}

inline Outcome run_tool(std::vector<std::string> args) {
    Command command;
    command.args = std::move(args);
    command.env = {{"PATH", from_environment("PATH")}};
    return preload_tests::run(command);
}

}  // namespace keepgraph::unit_tests
