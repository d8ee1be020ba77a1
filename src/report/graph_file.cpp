// SPDX-License-Identifier: Apache-2.0
// graph-<n>.json as structs.
#include "report/events.h"
#include "report/json_input.h"
#include "report/reader.h"

namespace keepgraph::report {
namespace {

/// A value of a detail in words; nested values are left out, since the schema has none there.
std::string shown(const Json& value) {
    if (value.is_string())
        return value.get<std::string>();
    return value.is_primitive() ? value.dump() : std::string();
}

/// The number that two schemas of a node write as a string or as a number.
std::uint64_t number_of(const Json& object, const char* key) {
    if (const Number number = count_of(object, key))
        return *number;
    return address_of(object, key).value_or(0);
}

GraphNode parse_node(const Json& object, std::uint64_t position) {
    GraphNode node;
    node.index = count_of(object, "index").value_or(position);
    node.type = text_of(object, "node_type");
    node.tools_id = number_of(object, "tools_id");
    node.graph_id = number_of(object, "graph_id");
    node.node_id = number_of(object, "node_id");
    node.kernel_name = text_of(object, "kernel_name");
    node.dependencies = counts_of(object, "dependencies");
    node.dependents = counts_of(object, "dependents");
    if (const Json* enabled = member(object, "enabled"); enabled != nullptr && enabled->is_boolean())
        node.enabled = enabled->get<bool>();
    if (const Json* kernel = member(object, "kernel")) {
        node.kernel_function = text_of(*kernel, "function");
        node.grid = counts_of(*kernel, "grid");
        node.block = counts_of(*kernel, "block");
        node.shared_bytes = count_of(*kernel, "shared_bytes");
        if (node.kernel_name.empty())
            node.kernel_name = text_of(*kernel, "mangled");
    }
    for (const Json* argument : objects_of(object, "arguments"))
        node.arguments.push_back({count_of(*argument, "parameter"), count_of(*argument, "offset"),
                                  count_of(*argument, "size"), text_of(*argument, "bytes")});
    for (const Json* reference : objects_of(object, "references"))
        node.references.push_back(parse_reference(*reference));
    for (const char* part : {"memcpy", "memset", "memory", "host"}) {
        const Json* values = member(object, part);
        if (values == nullptr || !values->is_object())
            continue;
        for (const auto& [key, value] : values->items()) {
            if (std::string text = shown(value); !text.empty())
                node.details.emplace_back(key, std::move(text));
        }
    }
    if (const Number event = address_of(object, "event_ptr"); event && *event != 0)
        node.details.emplace_back("event", text_of(object, "event_ptr"));
    return node;
}

GraphBody parse_body(const Json& object) {
    GraphBody body;
    body.node = count_of(object, "node");
    body.path = text_of(object, "path");
    for (const Json* node : objects_of(object, "nodes"))
        body.nodes.push_back(parse_node(*node, body.nodes.size()));
    for (const Json* edge : objects_of(object, "edges")) {
        const Number from = count_of(*edge, "from"), to = count_of(*edge, "to");
        if (from && to)
            body.edges.push_back({*from, *to, count_of(*edge, "from_port").value_or(0),
                                  count_of(*edge, "to_port").value_or(0), count_of(*edge, "type").value_or(0)});
    }
    return body;
}

}  // namespace

GraphFile read_graph(const std::string& folder, std::uint64_t number) {
    const std::string path = graph_path(folder, number);
    std::string error;
    const auto object = read_json_file(path, error);
    if (!object)
        throw ReadError(path + ": " + error);
    if (!object->is_object())
        throw ReadError(path + ": not an object");
    check_schema(*object, path);
    GraphFile graph;
    graph.number = number;
    graph.graph_template = count_of(*object, "template");
    graph.capture = count_of(*object, "capture");
    graph.exec = address_of(*object, "exec");
    graph.exec_graph_id = count_of(*object, "exec_graph_id");
    graph.replays = count_of(*object, "replays");
    graph.ids = text_of(*object, "ids");
    graph.ids_reason = text_of(*object, "ids_reason");
    if (const Json* known = member(*object, "edges_known"); known != nullptr && known->is_boolean())
        graph.edges_known = known->get<bool>();
    if (const Json* dropped = member(*object, "data_dropped"); dropped != nullptr && dropped->is_boolean())
        graph.data_dropped = dropped->get<bool>();
    graph.top = parse_body(*object);
    graph.top.node.reset();
    graph.top.path.clear();
    for (const Json* child : objects_of(*object, "graphs"))
        graph.children.push_back(parse_body(*child));
    for (const Json* allocation : objects_of(*object, "allocations"))
        graph.allocations.push_back(parse_allocation(*allocation));
    return graph;
}

}  // namespace keepgraph::report
