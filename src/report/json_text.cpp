// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <algorithm>
#include <cstdio>

namespace keepgraph::report {
namespace {

// How many bytes from `at` are one code point in UTF-8, 0: they are none. (Unicode, table 3-7.)
std::size_t code_point_length(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) {
        return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0);
    };
    const unsigned char first = byte(0);
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const unsigned lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;   // no longer than it must be
    const unsigned highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;  // no surrogate, not past U+10FFFF
    if (byte(1) < lowest || byte(1) > highest)
        return 0;
    for (std::size_t i = 2; i < length; ++i)
        if (byte(i) < 0x80 || byte(i) > 0xbf)
            return 0;
    return length;
}

bool is_plain(char c) noexcept {
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const auto plain = static_cast<std::size_t>(
            std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_plain) - text.begin());
        out.append(text.substr(at, plain - at));
        at = plain;
        if (at == text.size())
            break;
        const std::size_t length = code_point_length(text, at);
        const char c = text[at];
        if (length == 0) {
            out += "\xef\xbf\xbd";
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            out += escape;
        } else {
            out.append(text.substr(at, length));
        }
        at += std::max<std::size_t>(length, 1);
    }
    out += '"';
}

}  // namespace keepgraph::report
