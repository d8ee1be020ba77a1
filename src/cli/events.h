// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace keepgraph::cli {

/// Calls `each` with every event of that type in the recordings (folders with an events.jsonl) below `folder`.
/// A last line without its end, of a process that was killed while writing, is left out. Returns the number of
/// recordings.
std::size_t for_each_event(const std::filesystem::path& folder, std::string_view type,
                           const std::function<void(const nlohmann::json&)>& each);

}  // namespace keepgraph::cli
