// SPDX-License-Identifier: Apache-2.0
// JSON from files that may be cut, hostile or from another version: nothing here throws for what a file holds.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/record.h"

namespace keepgraph::report {

using Json = nlohmann::ordered_json;

/// nullopt with the reason in `error` when `text` is no JSON, is nested deeper than 64, or is larger than 256 MiB.
/// nlohmann's parser does not recurse, but its printing and copying do: deep nesting must not get past this point.
/// Bytes that are no UTF-8 (file names, kernel names) become U+FFFD instead of making the text unreadable.
std::optional<Json> parse_json(std::string_view text, std::string& error);

/// The whole file as JSON. Only a regular file is opened: a FIFO would block for ever.
std::optional<Json> read_json_file(const std::string& path, std::string& error);

/// Calls `line(number, text, complete)` for each line, without the newline; `complete` is false for a last line that
/// has none. A line longer than 256 MiB comes as an empty text. False with the reason when the file cannot be opened.
bool for_each_line(const std::string& path, const std::function<void(std::uint64_t, const std::string&, bool)>& line,
                   std::string& error);

// ---- members of an object; each returns "nothing" for a missing key, a value of another kind, or one out of range.
const Json* member(const Json& object, const char* key);
std::string text_of(const Json& object, const char* key);
Number count_of(const Json& object, const char* key);    ///< a number without sign and fraction
Number address_of(const Json& object, const char* key);  ///< "0x..."
std::optional<double> time_of(const Json& object, const char* key);
std::vector<std::uint64_t> counts_of(const Json& object, const char* key);
/// Elements that are objects, of a member that is an array; empty otherwise. Valid as long as `object`.
std::vector<const Json*> objects_of(const Json& object, const char* key);
Number parse_address(std::string_view text);

}  // namespace keepgraph::report
