// SPDX-License-Identifier: Apache-2.0
#include "cli/script_line.h"

namespace keepgraph::cli {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view next_word(std::string_view& text) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) {
        text = {};
        return {};
    }
    const std::size_t end = text.find_first_of(blanks, begin);
    const std::string_view word = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
    return word;
}

// The words that env itself takes are passed over. An option that takes a value in a word of its own (-u, -C) is not
// known here: then the value is not found as a program, and env alone is looked at.
std::string program_of_env(std::string_view arguments) {
    while (true) {
        const std::string_view word = next_word(arguments);
        if (word.empty() || (word.front() != '-' && word.find('=') == std::string_view::npos)) {
            return std::string(word);
        }
        constexpr std::string_view split = "-S";
        if (word.substr(0, split.size()) == split && word.size() > split.size()) {
            return std::string(word.substr(split.size()));
        }
    }
}

}  // namespace

ScriptLine parse_script_line(std::string_view beginning_of_file) {
    if (beginning_of_file.substr(0, 2) != "#!") {
        return {};
    }
    std::string_view line = beginning_of_file.substr(2, beginning_of_file.find('\n') - 2);
    line = line.substr(0, line.find('\0'));
    ScriptLine result;
    result.interpreter = next_word(line);
    const std::string_view name = std::string_view(result.interpreter).substr(result.interpreter.rfind('/') + 1);
    if (name == "env") {
        result.through_env = program_of_env(line);
    }
    return result;
}

}  // namespace keepgraph::cli
