// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "report/utf8.h"

namespace keepgraph::report {
namespace {

/// Calls `visit(decoded, bytes)` for each code point, and for each byte that belongs to none.
template <class Visit>
void each_sequence(std::string_view text, Visit visit) {
    while (!text.empty()) {
        const Decoded decoded = decode_utf8(text);
        const std::size_t length = decoded.length == 0 ? 1 : decoded.length;
        visit(decoded, text.substr(0, length));
        text.remove_prefix(length);
    }
}

/// What `append(out, decoded, bytes)` makes of each.
template <class Append>
std::string rewritten(std::string_view text, Append append) {
    std::string out;
    out.reserve(text.size());
    each_sequence(text, [&](const Decoded& decoded, std::string_view bytes) { append(out, decoded, bytes); });
    return out;
}

bool may_do_harm(std::uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x200e && c <= 0x200f) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void append_hex(std::string& out, const char* prefix, std::uint32_t value, int digits) {
    out += prefix;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        out += "0123456789abcdef"[(value >> shift) & 15];
}

/// Byte position of code point `count`, or the size when there are fewer. `utf8` must be valid.
std::size_t position_of(std::string_view utf8, std::size_t count) {
    std::size_t i = 0;
    for (; i < utf8.size(); ++i) {
        if ((static_cast<unsigned char>(utf8[i]) & 0xc0) != 0x80 && count-- == 0)
            break;
    }
    return i;
}

}  // namespace

bool is_utf8(std::string_view text) {
    bool valid = true;
    each_sequence(text, [&](const Decoded& decoded, std::string_view) { valid = valid && decoded.length != 0; });
    return valid;
}

std::string repair_utf8(std::string_view text) {
    return rewritten(text, [](std::string& out, const Decoded& decoded, std::string_view bytes) {
        out += decoded.length == 0 ? "\xef\xbf\xbd" : bytes;
    });
}

std::string printable(std::string_view text) {
    return rewritten(text, [](std::string& out, const Decoded& decoded, std::string_view bytes) {
        if (decoded.length == 0)
            append_hex(out, "\\x", static_cast<unsigned char>(bytes[0]), 2);
        else if (!may_do_harm(decoded.code_point))
            out += bytes;
        else if (decoded.code_point < 0x100)
            append_hex(out, "\\x", decoded.code_point, 2);
        else
            append_hex(out, "\\u", decoded.code_point, 4);
    });
}

std::string printable_json(std::string_view json) {
    return rewritten(json, [](std::string& out, const Decoded& decoded, std::string_view bytes) {
        // A serialiser leaves none of them outside of strings.
        if (decoded.length != 0 && may_do_harm(decoded.code_point) && decoded.code_point != '\n')
            append_hex(out, "\\u", decoded.code_point, 4);
        else
            out += bytes;
    });
}

std::size_t columns(std::string_view utf8) {
    std::size_t count = 0;
    for (const char c : utf8)
        count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return count;
}

std::string cut_end(std::string_view utf8, std::size_t width) {
    if (columns(utf8) <= width)
        return std::string(utf8);
    if (width <= 3)
        return std::string(utf8.substr(0, position_of(utf8, width)));
    return std::string(utf8.substr(0, position_of(utf8, width - 3))) + "...";
}

std::string cut_middle(std::string_view utf8, std::size_t width) {
    const std::size_t all = columns(utf8);
    if (all <= width)
        return std::string(utf8);
    if (width <= 6)
        return cut_end(utf8, width);
    // The end of a path says more than its beginning.
    const std::size_t head = (width - 3) / 3;
    const std::size_t tail = width - 3 - head;
    return std::string(utf8.substr(0, position_of(utf8, head))) + "..." +
           std::string(utf8.substr(position_of(utf8, all - tail)));
}

std::string demangled(const std::string& name) {
    // The demangler recurses with the nesting of the name; the longest real kernel names are some kilobytes.
    if (name.rfind("_Z", 0) != 0 || name.size() > 16384)
        return name;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 && text ? std::string(text.get()) : name;
}

std::string short_name(const std::string& name) {
    std::string full = demangled(name);
    // Without parameters there is no return type either: a plain C name, or whatever the program made up.
    if (full.find('(') == std::string::npos)
        return full;
    std::string out;
    int angles = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
        const char c = full[i];
        const std::string_view rest = std::string_view(full).substr(i);
        constexpr std::string_view anonymous = "(anonymous namespace)";
        if (rest.substr(0, 8) == "operator" && angles == 0 && (i == 0 || full[i - 1] == ':' || full[i - 1] == ' ')) {
            // `operator<`, `operator()`: what follows is part of the name up to its parameters.
            const std::size_t parameters = full.find('(', i + (rest.substr(0, 10) == "operator()" ? 10 : 8));
            out += full.substr(i, parameters == std::string::npos ? parameters : parameters - i);
            break;
        }
        if (rest.substr(0, anonymous.size()) == anonymous) {
            if (angles == 0)
                out += anonymous;
            i += anonymous.size() - 1;
        } else if (c == '{' && full.find('}', i) != std::string::npos) {
            if (angles == 0)
                out += rest.substr(0, 7) == "{lambda" ? "{lambda}" : full.substr(i, full.find('}', i) + 1 - i);
            i = full.find('}', i);
        } else if (c == '<') {
            ++angles;
        } else if (c == '>' && angles > 0) {
            --angles;
        } else if (angles > 0) {
            continue;
        } else if (c == '(') {
            break;
        } else if (c == ' ') {
            out.clear();  // what came before was the return type
        } else {
            out += c;
        }
    }
    return out.empty() ? full : out;
}

}  // namespace keepgraph::report
