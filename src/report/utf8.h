// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keepgraph::report {

/// A code point as UTF-8 has it.
struct Decoded {
    std::uint32_t code_point = 0;
    std::size_t length = 0;  ///< in bytes; 0: the first byte belongs to no valid sequence
};

/// The first one of `text`, which is not empty. (Unicode, table 3-7: neither longer than it must be, nor a surrogate,
/// nor past U+10FFFF.)
inline Decoded decode_utf8(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80)
        return {byte(0), 1};
    const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length)
        return {};
    std::uint32_t code_point = byte(0) & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return {};
        code_point = (code_point << 6) | (byte(i) & 0x3fu);
    }
    const bool overlong = (length == 3 && code_point < 0x800) || (length == 4 && code_point < 0x10000);
    const bool surrogate = code_point >= 0xd800 && code_point < 0xe000;
    if (overlong || surrogate || code_point > 0x10ffff)
        return {};
    return {code_point, length};
}

}  // namespace keepgraph::report
