// SPDX-License-Identifier: Apache-2.0
// The little of PTX that a driver's caller can see: the entries and their parameters.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "code.h"

namespace keepgraph::sim {
namespace {

std::string without_comments(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text.compare(i, 2, "//") == 0) {
            i = std::min(text.find('\n', i), text.size());
            out += '\n';
        } else if (text.compare(i, 2, "/*") == 0) {
            i = std::min(text.find("*/", i), text.size() - 2) + 1;
            out += ' ';
        } else {
            out += text[i];
        }
    }
    return out;
}

/// Words, and single punctuation characters.
std::vector<std::string_view> tokens(std::string_view text) {
    std::vector<std::string_view> out;
    auto in_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.' || c == '%';
    };
    for (size_t i = 0; i < text.size();) {
        if (std::isspace(static_cast<unsigned char>(text[i]))) {
            ++i;
        } else if (in_word(text[i])) {
            size_t end = i;
            while (end < text.size() && in_word(text[end]))
                ++end;
            out.push_back(text.substr(i, end - i));
            i = end;
        } else {
            out.push_back(text.substr(i++, 1));
        }
    }
    return out;
}

/// ".u64" is 8; 0 for words that name no type (.ptr, .global).
size_t size_of_type(std::string_view word) {
    if (word.size() < 3 || word[0] != '.' || std::string_view("bsuf").find(word[1]) == std::string_view::npos)
        return 0;
    size_t bits = 0;
    for (const char c : word.substr(2)) {
        if (!std::isdigit(static_cast<unsigned char>(c)))
            return 0;
        bits = bits * 10 + (c - '0');
    }
    return bits / 8;
}

size_t number(std::string_view word) {
    return std::strtoull(std::string(word).c_str(), nullptr, 10);
}

/// One parameter between commas: .param [.align N] .type [.ptr ...] name[count]
void add_parameter(Code& code, const std::vector<std::string_view>& words) {
    Parameter parameter;
    size_t element = 0, alignment = 0, count = 1;
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == ".align" && i + 1 < words.size()) {
            // The alignment after .ptr is that of the memory pointed to.
            if (element == 0)
                alignment = number(words[i + 1]);
            ++i;
        } else if (words[i] == "[" && i + 1 < words.size()) {
            count = number(words[i + 1]);
            break;
        } else if (words[i][0] == '.') {
            if (element == 0)
                element = size_of_type(words[i]);
        } else {
            parameter.name = words[i];
        }
    }
    if (alignment == 0)
        alignment = std::max<size_t>(element, 1);
    parameter.size = element * count;
    parameter.offset = (code.parameter_bytes + alignment - 1) / alignment * alignment;
    code.parameter_bytes = parameter.offset + parameter.size;
    code.parameters.push_back(parameter);
}

}  // namespace

std::vector<std::shared_ptr<const Code>> parse_ptx(const std::string& text) {
    std::vector<std::shared_ptr<const Code>> entries;
    const std::string clean = without_comments(text);
    const auto words = tokens(clean);
    for (size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] != ".entry")
            continue;
        auto code = std::make_shared<Code>();
        code->name = words[++i];
        if (i + 1 < words.size() && words[i + 1] == "(") {
            std::vector<std::string_view> parameter;
            for (i += 2; i < words.size() && words[i] != ")"; ++i) {
                if (words[i] != ",") {
                    parameter.push_back(words[i]);
                    continue;
                }
                add_parameter(*code, parameter);
                parameter.clear();
            }
            if (!parameter.empty())
                add_parameter(*code, parameter);
        }
        code->run = host_kernel(code->name);
        entries.push_back(std::move(code));
    }
    return entries;
}

}  // namespace keepgraph::sim
