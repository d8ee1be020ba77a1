// SPDX-License-Identifier: Apache-2.0
// The two line tables. Decoded here, not by the exported PyCode_Addr2Line: that one is pure computation too, but
// follows co_linetable without any check and, from 3.12 on, caches in the code object under the GIL.
#include "trace/python_frames.h"

namespace keepgraph::trace {
namespace {

unsigned positive(std::int64_t line) {
    return line > 0 && line <= INT32_MAX ? static_cast<unsigned>(line) : 0;
}

/// Six bits per byte, the least significant first; bit 6 set: more follow.
std::uint64_t read_varint(std::span<const unsigned char> table, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < table.size() && shift < 60; shift += 6) {
        const unsigned char byte = table[at++];
        value |= static_cast<std::uint64_t>(byte & 63) << shift;
        if ((byte & 64) == 0) {
            break;
        }
    }
    return value;
}

/// Sign in the lowest bit.
std::int64_t read_signed_varint(std::span<const unsigned char> table, std::size_t& at) {
    const std::uint64_t value = read_varint(table, at);
    const auto magnitude = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

unsigned line_from_pairs(std::span<const unsigned char> table, int first_line, std::int64_t position) {
    if (position < 0) {
        return positive(first_line);
    }
    std::int64_t line = first_line;
    std::int64_t end = 0;
    for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
        const auto delta = static_cast<signed char>(table[i + 1]);
        const bool no_line = delta == -128;
        line += no_line ? 0 : delta;
        end += table[i];
        if (position < end) {
            return no_line ? 0 : positive(line);
        }
    }
    return 0;
}

unsigned line_from_locations(std::span<const unsigned char> table, int first_line, std::int64_t position) {
    if (position < 0) {
        return positive(first_line);
    }
    std::int64_t line = first_line;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < table.size();) {
        // First byte of an entry: bit 7, four bits of form, three bits of length (in two-byte units, minus one).
        const unsigned form = (table[i] >> 3) & 15;
        end += std::int64_t{(table[i] & 7) + 1} * 2;
        std::size_t at = i + 1;
        bool no_line = false;
        if (form == 15) {
            no_line = true;
        } else if (form >= 13) {  // 13: line alone, 14: line, end line and columns
            line += read_signed_varint(table, at);
        } else if (form >= 10) {  // one-line forms carry a small delta in the form itself
            line += form - 10;
        }
        if (position < end) {
            return no_line ? 0 : positive(line);
        }
        do {  // only first bytes have bit 7
            ++i;
        } while (i < table.size() && (table[i] & 0x80) == 0);
    }
    return 0;
}

}  // namespace keepgraph::trace
