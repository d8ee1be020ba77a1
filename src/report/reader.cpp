// SPDX-License-Identifier: Apache-2.0
#include "report/reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "report/events.h"
#include "report/json_input.h"

namespace keepgraph::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_problems = 20;

void note(Recording& recording, const char* file, std::uint64_t line, std::string text) {
    if (recording.problems.size() < most_problems)
        recording.problems.push_back({file, line, std::move(text)});
}

void read_manifest(Recording& recording) {
    std::string error;
    const std::string path = recording.folder + "/manifest.json";
    const auto manifest = read_json_file(path, error);
    if (!manifest || !manifest->is_object()) {
        note(recording, "manifest.json", 0, manifest ? "not an object" : error);
        return;
    }
    check_schema(*manifest, path);
    recording.keepgraph_version = text_of(*manifest, "keepgraph");
    recording.pid = count_of(*manifest, "pid");
    recording.started = text_of(*manifest, "started");
    recording.host = text_of(*manifest, "host");
    if (const Json* command = member(*manifest, "command"); command != nullptr && command->is_array()) {
        for (const Json& word : *command)
            recording.command.push_back(word.is_string() ? word.get<std::string>() : std::string("?"));
    }
    if (const Json* driver = member(*manifest, "driver")) {
        recording.driver_version = count_of(*driver, "version");
        recording.driver_path = text_of(*driver, "path");
    }
    if (const Json* settings = member(*manifest, "settings"); settings != nullptr && settings->is_object()) {
        for (const auto& [name, value] : settings->items()) {
            if (value.is_string())
                recording.settings.emplace_back(name, value.get<std::string>());
        }
    }
    for (const Json* object : objects_of(*manifest, "modules")) {
        RecordedModule module;
        if (parse_module(*object, module))
            recording.modules.push_back(std::move(module));
        else
            note(recording, "manifest.json", 0, "a module without path, base or end");
    }
}

void read_events(Recording& recording) {
    std::string error;
    const bool opened = for_each_line(
        recording.folder + "/events.jsonl",
        [&](std::uint64_t number, const std::string& text, bool complete) {
            std::string reason;
            const auto event = parse_json(text, reason);
            if (!event && !complete) {
                recording.last_line_cut = true;
            } else if (!event || !add_event(recording, *event, number, reason)) {
                ++recording.bad_lines;
                note(recording, "events.jsonl", number, reason);
            }
        },
        error);
    if (!opened)
        note(recording, "events.jsonl", 0, error);
}

/// The number in `graph-<number>.json`.
Number graph_number(const std::string& name) {
    constexpr std::string_view head = "graph-", tail = ".json";
    if (name.size() <= head.size() + tail.size() || name.compare(0, head.size(), head) != 0 ||
        name.compare(name.size() - tail.size(), tail.size(), tail) != 0)
        return std::nullopt;
    std::uint64_t number = 0;
    const char* end = name.data() + name.size() - tail.size();
    const auto [stop, failed] = std::from_chars(name.data() + head.size(), end, number);
    // A name with leading zeros is not what graph_path makes of its number.
    if (failed != std::errc() || stop != end || name != "graph-" + std::to_string(number) + ".json")
        return std::nullopt;
    return number;
}

bool is_recording(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_regular_file(folder / "manifest.json", ignored) ||
           fs::is_regular_file(folder / "events.jsonl", ignored);
}

std::vector<fs::path> entries(const fs::path& folder, std::error_code& failed) {
    std::vector<fs::path> result;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        result.push_back(it->path());
    return result;
}

}  // namespace

void check_schema(const Json& object, const std::string& path) {
    const Json* schema = member(object, "schema");
    if (schema == nullptr)
        return;  // cut by hand or by a converter: what is there is read
    const Number number = count_of(object, "schema");
    if (!number || *number == 0 || *number > known_schema) {
        const std::string value = schema->is_primitive() ? schema->dump(-1, ' ', false, Json::error_handler_t::replace)
                                                         : std::string("no number");
        throw ReadError(path + ": schema is " + value + ", allowed: 1 to " + std::to_string(known_schema) +
                        "; a newer keepgraph wrote it, or the file is damaged");
    }
}

std::string graph_path(const std::string& folder, std::uint64_t number) {
    return folder + "/graph-" + std::to_string(number) + ".json";
}

FoundRecordings find_recordings(const std::string& path) {
    if (is_recording(path))
        return {{path}, {}};
    FoundRecordings found;
    std::vector<fs::path> level{path};
    for (int depth = 1; depth <= deepest_recording && !level.empty(); ++depth) {
        std::vector<fs::path> next;
        for (const fs::path& folder : level) {
            std::error_code failed;
            for (const fs::path& entry : entries(folder, failed)) {
                std::error_code ignored;
                if (is_recording(entry))
                    found.folders.push_back(entry.string());
                else if (fs::symlink_status(entry, ignored).type() == fs::file_type::directory)
                    next.push_back(entry);
            }
            if (failed && depth == 1)
                throw ReadError(path + ": " + failed.message());
            if (failed)
                found.unlisted.push_back(folder.string() + ": " + failed.message());
        }
        level = std::move(next);
    }
    std::sort(found.folders.begin(), found.folders.end());
    std::sort(found.unlisted.begin(), found.unlisted.end());
    return found;
}

Recording read_recording(const std::string& folder) {
    if (!is_recording(folder))
        throw ReadError(folder + ": no recording: neither manifest.json nor events.jsonl is there");
    Recording recording;
    recording.folder = folder;
    read_manifest(recording);
    read_events(recording);
    std::error_code failed;
    for (const fs::path& entry : entries(folder, failed)) {
        if (const Number number = graph_number(entry.filename().string()))
            recording.graph_files.push_back(*number);
    }
    std::sort(recording.graph_files.begin(), recording.graph_files.end());
    return recording;
}

const RecordedStack* Recording::stack(const Number& id) const {
    const auto it = id ? stacks.find(*id) : stacks.end();
    return it == stacks.end() ? nullptr : &it->second;
}

const RecordedModule* Recording::module_of(std::uint64_t address, std::uint64_t line) const {
    // An entry of the manifest says where its file was mapped when the folder was made, so it counts as line 0.
    const RecordedModule* after = nullptr;
    for (auto it = modules.rbegin(); it != modules.rend(); ++it) {
        if (address < it->base || address >= it->end)
            continue;
        if (it->line <= line)
            return &*it;
        after = &*it;
    }
    return after;
}

std::uint64_t Recording::findings_of(std::uint64_t graph) const {
    return static_cast<std::uint64_t>(
        std::count_if(findings.begin(), findings.end(), [&](const RecordedFinding& f) { return f.graph == graph; }));
}

}  // namespace keepgraph::report
