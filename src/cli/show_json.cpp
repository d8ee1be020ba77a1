// SPDX-License-Identifier: Apache-2.0
// JSON for other programs: what was recorded, unchanged and complete (keys that this reader does not know included),
// plus `stacks`, which maps each stack's id to its frames with function, file and line.
#include <fmt/format.h>

#include <set>

#include "cli/show.h"
#include "report/events.h"
#include "report/json_input.h"
#include "report/reader.h"
#include "report/text.h"

namespace keepgraph::cli {
namespace {

using report::Json;
using report::Recording;

std::string hex(std::uint64_t value) {
    return fmt::format("{:#x}", value);
}

Json stack_json(const Recording& recording, report::Symbolizer& symbolizer, const report::RecordedStack& stack) {
    Json result = Json::object();
    if (!stack.python_unavailable.empty())
        result["python_unavailable"] = stack.python_unavailable;
    else if (!stack.python.empty())
        result["python"] = Json::array();
    for (const report::PythonFrame& frame : stack.python)
        result["python"].push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
    result["frames"] = Json::array();
    for (const report::SourceFrame& frame : symbolizer.resolve(recording, stack)) {
        Json entry = {{"address", hex(frame.address)}};
        if (!frame.module.empty()) {
            entry["module"] = frame.module;
            entry["offset"] = frame.offset;
        }
        if (!frame.function.empty())
            entry["function"] = frame.function;
        if (!frame.file.empty()) {
            entry["file"] = frame.file;
            entry["line"] = frame.line;
        }
        if (frame.inlined)
            entry["inlined"] = true;
        if (!frame.trouble.empty())
            entry["trouble"] = frame.trouble;
        result["frames"].push_back(std::move(entry));
    }
    return result;
}

/// Ids of stacks anywhere in `value`: the keys `stack` and `..._stack`. Nesting is bounded by report::parse_json.
void collect_stacks(const Json& value, std::set<std::uint64_t>& ids) {
    if (!value.is_structured())
        return;
    for (const auto& [key, inner] : value.items()) {
        const bool names_stack = key == "stack" || (key.size() > 6 && key.compare(key.size() - 6, 6, "_stack") == 0);
        if (value.is_object() && names_stack && inner.is_number_unsigned())
            ids.insert(inner.get<std::uint64_t>());
        collect_stacks(inner, ids);
    }
}

Json stacks_json(const Recording& recording, report::Symbolizer& symbolizer, const std::set<std::uint64_t>& ids) {
    Json result = Json::object();
    for (const std::uint64_t id : ids) {
        if (const report::RecordedStack* stack = recording.stack(id))
            result[std::to_string(id)] = stack_json(recording, symbolizer, *stack);
    }
    return result;
}

/// The keys of torch's graph data come first and are always there, so that its readers work on this file too.
Json torch_node(const Json& node, std::size_t position) {
    Json result = {{"index", position},
                   {"node_type", "unknown"},
                   {"tools_id", 0},
                   {"graph_id", 0},
                   {"node_id", 0},
                   {"kernel_name", nullptr},
                   {"event_ptr", 0},
                   {"host_fn_addr", 0},
                   {"host_fn_name", nullptr},
                   {"dependencies", Json::array()},
                   {"dependents", Json::array()}};
    for (const auto& [key, value] : node.items())
        result[key] = value;
    return result;
}

Json torch_nodes(const Json& object) {
    Json result = Json::array();
    for (const Json* node : report::objects_of(object, "nodes"))
        result.push_back(torch_node(*node, result.size()));
    return result;
}

Json array_of(const Json& object, const char* key) {
    const Json* value = report::member(object, key);
    return value != nullptr && value->is_array() ? *value : Json::array();
}

Json graph_file_json(const Recording& recording, std::uint64_t number) {
    const std::string path = report::graph_path(recording.folder, number);
    std::string error;
    const auto file = report::read_json_file(path, error);
    if (!file || !file->is_object())
        throw report::ReadError(path + ": " + (file ? "not an object" : error));
    report::check_schema(*file, path);
    Json result = {{"exec_graph_id", 0},
                   {"nodes", torch_nodes(*file)},
                   {"edges", array_of(*file, "edges")},
                   {"graphs", Json::array()}};
    for (const Json* child : report::objects_of(*file, "graphs")) {
        Json body = *child;
        body["nodes"] = torch_nodes(*child);
        result["graphs"].push_back(std::move(body));
    }
    for (const auto& [key, value] : file->items()) {
        if (key != "nodes" && key != "edges" && key != "graphs")
            result[key] = value;
    }
    return result;
}

/// Every usable line of events.jsonl.
template <typename Visitor>
void for_each_event(const Recording& recording, Visitor visit) {
    std::string error;
    report::for_each_line(
        recording.folder + "/events.jsonl",
        [&](std::uint64_t, const std::string& text, bool) {
            std::string reason;
            if (auto event = report::parse_json(text, reason); event && event->is_object())
                visit(std::move(*event));
        },
        error);
}

std::string printed(const Json& value) {
    return report::printable_json(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace

std::string graph_as_json(const Recording& recording, report::Symbolizer& symbolizer, std::uint64_t graph) {
    Json result = graph_file_json(recording, graph);
    std::set<std::uint64_t> ids;
    Json findings = Json::array();
    for_each_event(recording, [&](Json&& event) {
        const std::string type = report::text_of(event, "type");
        const bool of_graph = report::count_of(event, "graph") == graph;
        const bool its_capture = type == "capture" && report::count_of(event, "capture") &&
                                 report::count_of(event, "capture") == report::count_of(result, "capture");
        if ((of_graph && type != "stack") || its_capture)
            collect_stacks(event, ids);
        if (type == "finding" && of_graph)
            findings.push_back(std::move(event));
    });
    // The events are what reached the disk first; a graph file may be older than its graph's last finding.
    if (!findings.empty() || !result.contains("findings"))
        result["findings"] = std::move(findings);
    collect_stacks(result, ids);
    result["stacks"] = stacks_json(recording, symbolizer, ids);
    return printed(result);
}

std::string recording_as_json(const Recording& recording, report::Symbolizer& symbolizer) {
    std::string error;
    Json result = {{"recording", recording.folder}, {"ended_in_order", recording.summary.has_value()}};
    auto manifest = report::read_json_file(recording.folder + "/manifest.json", error);
    result["manifest"] = manifest ? std::move(*manifest) : Json();
    result["graphs"] = Json::array();
    Json problems = Json::array();
    for (const std::uint64_t number : recording.graph_files) {
        try {
            result["graphs"].push_back(graph_file_json(recording, number));
        } catch (const report::ReadError& failure) {
            problems.push_back({{"text", failure.what()}});
        }
    }
    result["events"] = Json::array();
    for_each_event(recording, [&](Json&& event) {
        if (report::text_of(event, "type") != "stack")  // they are in `stacks`, with names
            result["events"].push_back(std::move(event));
    });
    std::set<std::uint64_t> ids;
    for (const auto& [id, stack] : recording.stacks)
        ids.insert(id);
    result["stacks"] = stacks_json(recording, symbolizer, ids);
    for (const report::Problem& problem : recording.problems)
        problems.push_back({{"file", problem.file}, {"line", problem.line}, {"text", problem.text}});
    result["problems"] = std::move(problems);
    result["unusable_lines"] = recording.bad_lines;
    result["last_line_cut"] = recording.last_line_cut;
    return printed(result);
}

}  // namespace keepgraph::cli
