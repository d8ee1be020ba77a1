// SPDX-License-Identifier: Apache-2.0
#include "on_double.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace keepgraph::preload_tests {
namespace {

std::string required_variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0)
        throw std::runtime_error(std::string(name) + " is not set (meson test sets it)");
    return value;
}

constexpr const char* search_path = "/usr/local/bin:/usr/bin:/bin";

constexpr std::string_view marker = "keepgraph: ";

bool is_ours(const std::string& line) {
    return line.compare(0, marker.size(), marker) == 0;
}

}  // namespace

std::string build_folder() {
    return required_variable("KEEPGRAPH_BUILD");
}
std::string source_folder() {
    return required_variable("KEEPGRAPH_SOURCE");
}
std::string shim() {
    return build_folder() + "/preload/libkeepgraph_preload.so";
}
std::string command_path() {
    return build_folder() + "/src/cli/keepgraph";
}
std::string victim(const std::string& name) {
    return build_folder() + "/tests/programs/" + name;
}
std::string hostile(const std::string& name) {
    return build_folder() + "/tests/preload/programs/" + name;
}
std::string double_folder() {
    return build_folder() + "/tests/sim";
}

std::vector<std::string> program_line(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    words.at(0) = file_exists(hostile(words[0])) ? hostile(words[0]) : victim(words[0]);
    return words;
}

std::string test_name(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
    return text;
}

Command command_for(const std::vector<std::string>& args, const Conditions& setup) {
    Command command;
    command.args = args;
    command.directory = setup.directory;
    command.timeout = setup.timeout;
    command.file_size_limit = setup.file_size_limit;
    command.kill_with = setup.kill_with;
    command.kill_after = setup.kill_after;
    command.env = {{"PATH", search_path},
                   {"HOME", "/nonexistent"},
                   {"LANG", "C"},
                   {"LC_ALL", "C"},
                   {"LD_LIBRARY_PATH", setup.library_path.empty() ? double_folder() : setup.library_path}};
    std::vector<std::string> libraries = setup.preload_before;
    if (setup.with_shim)
        libraries.push_back(shim());
    libraries.insert(libraries.end(), setup.preload_after.begin(), setup.preload_after.end());
    std::string preload;
    for (const std::string& library : libraries) {
        // ld.so only warns about a library that is not there: the test would then compare bare with bare.
        if (!file_exists(library))
            throw std::runtime_error("not built: " + library);
        preload += (preload.empty() ? "" : ":") + library;
    }
    if (!preload.empty())
        command.env["LD_PRELOAD"] = preload;
    for (const auto& [name, value] : setup.env) {
        if (value) {
            command.env[name] = *value;
        } else {
            command.env.erase(name);
        }
    }
    return command;
}

Outcome run_on_double(const std::vector<std::string>& args, const Conditions& setup) {
    return run(command_for(args, setup));
}

std::vector<std::string> lines_of(const std::vector<std::string>& args) {
    Command command;
    command.args = args;
    command.env = {{"PATH", search_path}, {"LC_ALL", "C"}};
    const Outcome outcome = run(command);
    EXPECT_TRUE(outcome.ended_with(0)) << args[0] << ": " << outcome.describe();
    return split_lines(outcome.out);
}

std::string build_id_of(const std::string& path) {
    const std::string title = "Build ID: ";
    for (const std::string& line : lines_of({"readelf", "-n", path}))
        if (const size_t at = line.find(title); at != std::string::npos)
            return line.substr(at + title.size());
    return "";
}

std::string foreign_lines(const std::string& err) {
    std::string text;
    for (const std::string& line : split_lines(err)) {
        if (!is_ours(line))
            text += line + "\n";
    }
    return text;
}

std::vector<std::string> keepgraph_lines(const std::string& err) {
    std::vector<std::string> lines;
    for (const std::string& line : split_lines(err)) {
        if (is_ours(line))
            lines.push_back(line);
    }
    return lines;
}

size_t count_lines_with(const std::vector<std::string>& lines, const std::string& part) {
    size_t count = 0;
    for (const std::string& line : lines)
        count += line.find(part) != std::string::npos;
    return count;
}

Outcome expect_transparent(const std::vector<std::string>& args, const Conditions& setup) {
    Outcome bare = run_on_double(args, setup.bare());
    Outcome shimmed = run_on_double(args, setup);
    EXPECT_FALSE(bare.timed_out) << args[0] << " hangs without the shim";
    EXPECT_EQ(bare.out, shimmed.out) << "stdout differs; under the shim: " << shimmed.describe();
    EXPECT_EQ(foreign_lines(bare.err), foreign_lines(shimmed.err)) << "stderr differs";
    EXPECT_EQ(keepgraph_lines(bare.err).size(), 0u) << "the program itself prints lines of keepgraph";
    EXPECT_EQ(bare.exit_code, shimmed.exit_code) << shimmed.describe();
    EXPECT_EQ(bare.signal, shimmed.signal) << shimmed.describe();
    EXPECT_FALSE(shimmed.timed_out) << shimmed.describe();
    return shimmed;
}

}  // namespace keepgraph::preload_tests
