// SPDX-License-Identifier: Apache-2.0
// Names that come out of a recording (kernels, files, threads, command lines), made fit to be shown. The program under
// observation chose them, so they may hold anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keepgraph::report {

bool is_utf8(std::string_view text);

/// Each byte that belongs to no valid UTF-8 sequence becomes U+FFFD.
std::string repair_utf8(std::string_view text);

/// Safe for a terminal: control characters (C0, DEL, C1), line and paragraph separators and bidirectional overrides
/// become \xNN or \uNNNN, and bytes that are no UTF-8 become \xNN. Text without them stays as it is.
std::string printable(std::string_view text);

/// JSON text as a serialiser writes it, with \uNNNN for each of those characters but the ends of lines: the same
/// values, safe for a terminal.
std::string printable_json(std::string_view json);

/// Code points, which is close enough to columns for names of functions and files.
std::size_t columns(std::string_view utf8);

/// At most `width` columns: the end, or the middle, is replaced by "...".
std::string cut_end(std::string_view utf8, std::size_t width);
std::string cut_middle(std::string_view utf8, std::size_t width);

/// The demangled form of a mangled C++ name; anything else stays as it is.
std::string demangled(const std::string& name);

/// What a reader recognises a function by: demangled, without parameters, return type and template arguments.
/// `void at::native::kernel<4, float>(int, float*)` becomes `at::native::kernel`.
std::string short_name(const std::string& name);

}  // namespace keepgraph::report
