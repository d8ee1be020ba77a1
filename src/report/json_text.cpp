// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <algorithm>
#include <cstdio>

#include "report/utf8.h"

namespace keepgraph::report {
namespace {

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
        const std::size_t length = decode_utf8(text.substr(at)).length;
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
