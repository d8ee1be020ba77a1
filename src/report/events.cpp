// SPDX-License-Identifier: Apache-2.0
#include "report/events.h"

#include <iterator>

namespace keepgraph::report {
namespace {

MemoryCall parse_memory_call(const Json& object) {
    MemoryCall result;
    result.call = text_of(object, "call");
    result.runtime_call = text_of(object, "runtime_call");
    result.t = time_of(object, "t");
    result.thread = count_of(object, "thread");
    result.thread_name = text_of(object, "thread_name");
    result.stack = count_of(object, "stack");
    return result;
}

bool missing(const char* key, std::string& error) {
    error = std::string("\"") + key + "\" is missing or of the wrong kind";
    return false;
}

bool add_module(Recording& recording, const Json& event, std::uint64_t line, std::string& error) {
    RecordedModule module;
    if (!parse_module(event, module))
        return missing("path\", \"base\" or \"end", error);
    module.line = line;
    recording.modules.push_back(std::move(module));
    return true;
}

bool add_stack(Recording& recording, const Json& event, std::uint64_t line, std::string& error) {
    const Number id = count_of(event, "id");
    if (!id)
        return missing("id", error);
    RecordedStack stack;
    stack.id = *id;
    stack.line = line;
    stack.python_unavailable = text_of(event, "python_unavailable");
    if (const Json* frames = member(event, "frames"); frames != nullptr && frames->is_array()) {
        for (const Json& frame : *frames) {
            const Number address =
                frame.is_string() ? parse_address(frame.get_ref<const std::string&>()) : std::nullopt;
            if (address)
                stack.frames.push_back(*address);
        }
    }
    for (const Json* frame : objects_of(event, "python"))
        stack.python.push_back(
            {text_of(*frame, "file"), count_of(*frame, "line").value_or(0), text_of(*frame, "function")});
    recording.stacks.emplace(stack.id, std::move(stack));
    return true;
}

bool add_capture(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    const Number number = count_of(event, "capture");
    if (!number)
        return missing("capture", error);
    RecordedCapture capture;
    capture.number = *number;
    capture.result = text_of(event, "result");
    capture.mode = text_of(event, "mode");
    capture.begin_call = text_of(event, "begin_call");
    capture.begin_runtime_call = text_of(event, "begin_runtime_call");
    capture.begin_thread = count_of(event, "begin_thread");
    capture.begin_thread_name = text_of(event, "begin_thread_name");
    capture.begin_stack = count_of(event, "begin_stack");
    capture.end_stack = count_of(event, "end_stack");
    capture.graph_template = count_of(event, "template");
    recording.captures.insert_or_assign(*number, std::move(capture));
    return true;
}

RecordedGraph& graph_of(Recording& recording, std::uint64_t number) {
    RecordedGraph& graph = recording.graphs[number];
    graph.number = number;
    return graph;
}

bool add_instantiate(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    const Number number = count_of(event, "graph");
    if (!number) {
        // An instantiation that failed made no graph, so that it has no number: a fact, not a fault of the file.
        return !text_of(event, "result").empty() || missing("graph", error);
    }
    RecordedGraph& graph = graph_of(recording, *number);
    graph.graph_template = count_of(event, "template");
    graph.capture = count_of(event, "capture");
    graph.call = text_of(event, "call");
    graph.result = text_of(event, "result");
    graph.thread = count_of(event, "thread");
    graph.stack = count_of(event, "stack");
    graph.exec = address_of(event, "exec");
    graph.inputs = count_of(event, "inputs");
    graph.opaque = count_of(event, "opaque");
    if (const Json* nodes = member(event, "nodes"); nodes != nullptr && nodes->is_object()) {
        for (const auto& [type, value] : nodes->items()) {
            if (const Number count = count_of(*nodes, type.c_str()))
                graph.nodes[type] = *count;
        }
    }
    return true;
}

bool add_update(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    const Number number = count_of(event, "graph");
    if (!number)
        return missing("graph", error);
    graph_of(recording, *number).changed = true;
    return true;
}

bool add_counts(Recording& recording, const Json& event, bool destroyed, std::string& error) {
    const Number number = count_of(event, "graph");
    if (!number)
        return missing("graph", error);
    RecordedGraph& graph = graph_of(recording, *number);
    graph.destroyed = graph.destroyed || destroyed;
    graph.replays = count_of(event, "replays");
    graph.updates = count_of(event, "updates");
    return true;
}

bool add_destroy(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    return text_of(event, "what") == "template" || add_counts(recording, event, true, error);
}

bool add_living(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    return add_counts(recording, event, false, error);
}

bool add_finding(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    const Number number = count_of(event, "finding");
    if (!number)
        return missing("finding", error);
    RecordedFinding finding;
    finding.number = *number;
    finding.graph = count_of(event, "graph");
    finding.kind = text_of(event, "kind");
    finding.grade = text_of(event, "grade");
    finding.action = text_of(event, "action");
    finding.exec = address_of(event, "exec");
    if (const Json* allocation = member(event, "allocation"))
        finding.allocation = parse_allocation(*allocation);
    if (const Json* death = member(event, "death"); death != nullptr && death->is_object())
        finding.death = parse_memory_call(*death);
    finding.death_unknown = text_of(event, "death_unknown");
    if (const Json* younger = member(event, "younger"); younger != nullptr && younger->is_object()) {
        finding.younger.emplace();
        if (const Json* allocation = member(*younger, "allocation"))
            finding.younger->allocation = parse_allocation(*allocation);
        finding.younger->birth = parse_memory_call(*younger);
    }
    for (const Json* reference : objects_of(event, "references"))
        finding.references.push_back(parse_reference(*reference));
    finding.references_left_out = count_of(event, "references_left_out").value_or(0);
    finding.capture = count_of(event, "capture");
    finding.capture_stack = count_of(event, "capture_stack");
    finding.instantiate_stack = count_of(event, "instantiate_stack");
    finding.launch_call = text_of(event, "launch_call");
    finding.launch_runtime_call = text_of(event, "launch_runtime_call");
    finding.launch_stack = count_of(event, "launch_stack");
    finding.launch_thread = count_of(event, "thread");  // a finding is written by the thread that launches
    finding.t = time_of(event, "t");
    finding.replay = count_of(event, "replay");
    recording.findings.push_back(std::move(finding));
    return true;
}

bool add_notice(Recording& recording, const Json& event, std::uint64_t, std::string& error) {
    RecordedNotice notice{text_of(event, "text"), time_of(event, "t")};
    if (notice.text.empty())
        return missing("text", error);
    recording.notices.push_back(std::move(notice));
    return true;
}

bool add_summary(Recording& recording, const Json& event, std::uint64_t, std::string&) {
    RecordedSummary summary;
    summary.graphs = count_of(event, "graphs");
    summary.replays = count_of(event, "replays");
    summary.inputs = count_of(event, "inputs");
    summary.opaque = count_of(event, "opaque");
    summary.opaque_reason = text_of(event, "opaque_reason");
    summary.findings = count_of(event, "findings");
    if (const Json* not_shown = member(event, "not_shown"); not_shown != nullptr && not_shown->is_object()) {
        summary.likely_not_shown = count_of(*not_shown, "likely");
        summary.possible_not_shown = count_of(*not_shown, "possible");
    }
    recording.summary = std::move(summary);
    return true;
}

bool add_coverage(Recording& recording, const Json&, std::uint64_t, std::string&) {
    recording.has_coverage = true;
    return true;
}

// Deaths and births are read by no table so far; the JSON output carries them as they were written.
bool ignore(Recording&, const Json&, std::uint64_t, std::string&) {
    return true;
}

struct Handler {
    const char* type;
    bool (*add)(Recording&, const Json&, std::uint64_t, std::string&);
};
constexpr Handler handlers[] = {
    {"module", add_module},   {"stack", add_stack},     {"capture", add_capture}, {"instantiate", add_instantiate},
    {"update", add_update},   {"destroy", add_destroy}, {"finding", add_finding}, {"notice", add_notice},
    {"summary", add_summary}, {"death", ignore},        {"birth", ignore},        {"coverage", add_coverage},
    {"living", add_living},
};

}  // namespace

bool parse_module(const Json& object, RecordedModule& module) {
    module.path = text_of(object, "path");
    module.build_id = text_of(object, "build_id");
    const Number base = address_of(object, "base");
    const Number end = address_of(object, "end");
    if (module.path.empty() || !base || !end)
        return false;
    module.base = *base;
    module.end = *end;
    return true;
}

RecordedAllocation parse_allocation(const Json& object) {
    RecordedAllocation result;
    result.id = count_of(object, "id");
    result.address = address_of(object, "address");
    result.size = count_of(object, "size");
    result.kind = text_of(object, "kind");
    result.device = count_of(object, "device");
    result.stack = count_of(object, "stack");
    return result;
}

RecordedReference parse_reference(const Json& object) {
    RecordedReference result;
    result.node = count_of(object, "node");
    result.path = text_of(object, "path");
    result.node_type = text_of(object, "node_type");
    result.kernel = text_of(object, "kernel");
    result.slot = text_of(object, "slot");
    result.address = address_of(object, "address");
    result.allocation = count_of(object, "allocation");
    result.offset = count_of(object, "offset");
    result.grade = text_of(object, "grade");
    return result;
}

bool add_event(Recording& recording, const Json& event, std::uint64_t line, std::string& error) {
    const std::string type = text_of(event, "type");
    if (type.empty())
        return missing("type", error);
    for (const Handler& handler : handlers) {
        if (type == handler.type)
            return handler.add(recording, event, line, error);
    }
    ++recording.unknown_events;
    return true;
}

}  // namespace keepgraph::report
