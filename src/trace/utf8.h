// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace keepgraph::trace {

/// Appends code point `c` as UTF-8. Control characters would break the lines of a report, and lone surrogates are how
/// Python keeps bytes that are no text: both are written as CPython's traceback dump writes them (\xNN, \uNNNN).
inline void append_utf8(std::string& text, std::uint32_t c) {
    if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
        constexpr char digits[] = "0123456789abcdef";
        const int nibbles = c <= 0xff ? 2 : c <= 0xffff ? 4 : 8;
        text += '\\';
        text += nibbles == 2 ? 'x' : nibbles == 4 ? 'u' : 'U';
        for (int i = nibbles - 1; i >= 0; --i) {
            text += digits[(c >> (4 * i)) & 15];
        }
    } else if (c < 0x80) {
        text += static_cast<char>(c);
    } else if (c < 0x800) {
        text += static_cast<char>(0xc0 | (c >> 6));
        text += static_cast<char>(0x80 | (c & 63));
    } else if (c < 0x10000) {
        text += static_cast<char>(0xe0 | (c >> 12));
        text += static_cast<char>(0x80 | ((c >> 6) & 63));
        text += static_cast<char>(0x80 | (c & 63));
    } else {
        text += static_cast<char>(0xf0 | (c >> 18));
        text += static_cast<char>(0x80 | ((c >> 12) & 63));
        text += static_cast<char>(0x80 | ((c >> 6) & 63));
        text += static_cast<char>(0x80 | (c & 63));
    }
}

}  // namespace keepgraph::trace
