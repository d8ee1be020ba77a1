// SPDX-License-Identifier: Apache-2.0
// The keepgraph command, started with an environment that holds what the test says and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/on_double.h"
#include "harness/process.h"

namespace keepgraph::cli_tests {

using preload_tests::command_path;
using preload_tests::Outcome;
using preload_tests::shim;
using preload_tests::split_lines;
using preload_tests::TempFolder;
using preload_tests::write_file;

using Environment = std::map<std::string, std::string>;

inline std::string program(const std::string& name) {
    return preload_tests::build_folder() + "/tests/cli/programs/" + name;
}
inline std::string fake_app() {
    return program("fake_app");
}

/// Runs `keepgraph WORDS...` in `folder` ("/": nothing may be written there).
inline Outcome keepgraph(std::vector<std::string> words, const Environment& more = {},
                         const std::string& folder = "/") {
    preload_tests::Command command;
    words.insert(words.begin(), command_path());
    command.args = words;
    command.directory = folder;
    command.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
    for (const auto& [name, value] : more) {
        command.env[name] = value;
    }
    return preload_tests::run(command);
}

/// A shell's line in `folder`, for what the shell itself has to set up before the command; programs find the double.
inline Outcome by_shell(const std::string& line, const std::string& folder = "/") {
    preload_tests::Command command;
    command.args = {"/bin/sh", "-c", line};
    command.directory = folder;
    command.env = {{"PATH", "/usr/bin:/bin"}, {"LD_LIBRARY_PATH", preload_tests::double_folder()}};
    return preload_tests::run(command);
}

/// Runs fake_app, which does as `words` say, under `run --error-exitcode 99 OPTIONS...`.
inline Outcome counted(const TempFolder& folder, std::vector<std::string> words,
                       const std::vector<std::string>& options = {}, const Environment& more = {}) {
    words.insert(words.begin(), {"--", fake_app()});
    words.insert(words.begin(), options.begin(), options.end());
    words.insert(words.begin(), {"run", "--error-exitcode", "99"});
    return keepgraph(words, more, folder.path());
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// What doctor says: the texts behind a key, one per line that begins with it.
inline std::vector<std::string> all_told(const Outcome& outcome, const std::string& key) {
    std::vector<std::string> texts;
    for (const std::string& line : split_lines(outcome.out)) {
        if (line.rfind(key + " ", 0) == 0) {
            texts.push_back(line.substr(line.find_first_not_of(' ', key.size())));
        }
    }
    return texts;
}

/// The first of them, "" when there is none.
inline std::string told(const Outcome& outcome, const std::string& key) {
    const std::vector<std::string> texts = all_told(outcome, key);
    return texts.empty() ? "" : texts.front();
}

/// "" when the program's environment (mode `env` of fake_app) has no such variable.
inline std::string variable(const Outcome& outcome, const std::string& name) {
    for (const std::string& line : split_lines(outcome.out)) {
        if (line.rfind(name + "=", 0) == 0) {
            return line.substr(name.size() + 1);
        }
    }
    return "";
}

inline std::string copy_to(const TempFolder& folder, const std::string& from, const std::string& name,
                           unsigned mode = 0755) {
    const std::string to = folder / name;
    std::filesystem::copy_file(from, to);
    std::filesystem::permissions(to, static_cast<std::filesystem::perms>(mode));
    return to;
}

}  // namespace keepgraph::cli_tests
