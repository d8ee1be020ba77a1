// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>

namespace keepgraph::preload_tests {
namespace {

/// Keys whose values differ between runs or between builds of one program.
const std::set<std::string> volatile_keys = {"t",
                                             "thread",
                                             "thread_name",
                                             "began",
                                             "begin_thread",
                                             "begin_thread_name",
                                             "stack",
                                             "begin_stack",
                                             "end_stack",
                                             "capture_stack",
                                             "instantiate_stack",
                                             "launch_stack",
                                             "exec",
                                             "stream",
                                             "address",
                                             "runtime_call",
                                             "user_data",
                                             "begin_call",
                                             "begin_runtime_call",
                                             "launch_runtime_call"};

Json strip(const Json& value, std::map<std::string, int>& allocations) {
    if (value.is_array()) {
        Json result = Json::array();
        for (const Json& item : value)
            result.push_back(strip(item, allocations));
        return result;
    }
    if (!value.is_object())
        return value;
    Json result = Json::object();
    for (const auto& [key, item] : value.items()) {
        if (volatile_keys.count(key) != 0)
            continue;
        if (key == "id" && value.contains("size")) {
            auto [position, inserted] = allocations.emplace(item.dump(), static_cast<int>(allocations.size()) + 1);
            result[key] = position->second;
        } else {
            result[key] = strip(item, allocations);
        }
    }
    return result;
}

}  // namespace

std::vector<std::string> recordings_in(const std::string& parent) {
    std::vector<std::string> folders;
    if (!std::filesystem::exists(parent))
        return folders;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(parent)) {
        if (entry.path().filename() == "events.jsonl")
            folders.push_back(entry.path().parent_path().string());
    }
    std::sort(folders.begin(), folders.end());
    return folders;
}

Recording Recording::only_one_in(const std::string& parent) {
    std::vector<std::string> folders = recordings_in(parent);
    if (folders.size() != 1) {
        throw std::runtime_error(std::to_string(folders.size()) + " recordings in " + parent + ", expected one");
    }
    return read(folders[0]);
}

Recording Recording::read(const std::string& folder) {
    Recording recording;
    recording.folder = folder;
    recording.manifest = Json::parse(read_file(folder + "/manifest.json"));
    std::string text = read_file(folder + "/events.jsonl");
    if (!text.empty() && text.back() != '\n')
        throw std::runtime_error("events.jsonl ends inside a line");
    for (const std::string& line : split_lines(text)) {
        Json event = Json::parse(line);
        if (!event.is_object() || !event.contains("type"))
            throw std::runtime_error("event without type: " + line);
        recording.events.push_back(std::move(event));
    }
    return recording;
}

std::vector<Json> Recording::of_type(const std::string& type) const {
    std::vector<Json> result;
    for (const Json& event : events) {
        if (event["type"] == type)
            result.push_back(event);
    }
    return result;
}

Json Recording::graph(int number) const {
    return Json::parse(read_file(folder + "/graph-" + std::to_string(number) + ".json"));
}

bool Recording::has_graph_file(int number) const {
    return file_exists(folder + "/graph-" + std::to_string(number) + ".json");
}

Json Recording::stack(const Json& id) const {
    for (const Json& event : events) {
        if (event["type"] == "stack" && event["id"] == id)
            return event;
    }
    return nullptr;
}

size_t Recording::notices_with(const std::string& part) const {
    size_t count = 0;
    for (const Json& notice : of_type("notice"))
        count += notice.at("text").get<std::string>().find(part) != std::string::npos;
    return count;
}

Conditions recorded(const TempFolder& folder, const std::string& write) {
    return Conditions{}.with("KEEPGRAPH_OUT", folder / "recording-%p").with("KEEPGRAPH_WRITE", write);
}

Conditions everything_on(const TempFolder& folder) {
    return recorded(folder, "findings,graphs,driver-dot")
        .with("KEEPGRAPH_STACKS", "all")
        .with("KEEPGRAPH_CHECK", "all");
}

Json normalise(const std::vector<Json>& events) {
    std::map<std::string, int> allocations;
    Json result = Json::array();
    for (const Json& event : events) {
        if (event["type"] == "module" || event["type"] == "stack")
            continue;
        result.push_back(strip(event, allocations));
    }
    return result;
}

std::optional<Summary> parse_summary(const std::string& line) {
    static const std::regex pattern(
        R"(keepgraph: (\d+) graphs?, (\d+) replays?; (\d+) inputs? checked(?:, (\d+) ([^;]*))?; (\d+) findings?(?:, (.*) not shown \(([^)]*)\))?(?:; (.*))?)");
    std::smatch match;
    if (!std::regex_match(line, match, pattern))
        return std::nullopt;
    return Summary{std::stol(match[1]),
                   std::stol(match[2]),
                   std::stol(match[3]),
                   match[4].matched ? std::stol(match[4]) : 0,
                   std::stol(match[6]),
                   match[7],
                   match[8],
                   match[9]};
}

std::optional<Summary> summary_of(const Outcome& outcome) {
    std::vector<std::string> lines = keepgraph_lines(outcome.err);
    if (lines.empty())
        return std::nullopt;
    return parse_summary(lines.back());
}

Summary summary_or_fail(const Outcome& outcome) {
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    const auto summary = summary_of(outcome);
    EXPECT_TRUE(summary) << outcome.describe();
    return summary.value_or(Summary{});
}

std::vector<std::string> shown(const std::string& recording) {
    return lines_of({command_path(), "show", recording});
}

}  // namespace keepgraph::preload_tests
