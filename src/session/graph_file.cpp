// SPDX-License-Identifier: Apache-2.0
//
// graph-<n>.json: torch's keys and ours (src/report/README.md).
#include <algorithm>

#include "graph/node_type.h"
#include "session/describe.h"
#include "session/state.h"

namespace keepgraph::session {
namespace {

using graph::Body;

constexpr const char* no_ids = "not asked for; drivers have them since 13.1";

std::string hex_bytes(std::span<const std::byte> bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<unsigned>(byte) >> 4];
        text += digits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

report::Json triple(const unsigned (&values)[3]) {
    return {values[0], values[1], values[2]};
}

void add_kernel(report::Json& node, const Body& body, const graph::Kernel& kernel) {
    const std::string name = graph::demangled(kernel.function->mangled);
    node["kernel_name"] = name;
    node["kernel"] = {{"mangled", kernel.function->mangled},
                      {"function", name},
                      {"grid", triple(kernel.grid)},
                      {"block", triple(kernel.block)},
                      {"shared_bytes", kernel.shared_bytes}};
    if (!kernel.arguments_known)
        return;
    const auto packed = body.arguments_of(kernel);
    report::Json arguments = report::Json::array();
    for (std::size_t i = 0; i < kernel.function->parameters.size(); ++i) {
        const auto [offset, size] = kernel.function->parameters[i];
        arguments.push_back(
            {{"parameter", i}, {"offset", offset}, {"size", size}, {"bytes", hex_bytes(packed.subspan(offset, size))}});
    }
    node["arguments"] = arguments;
}

std::string copy_end(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array) {
    return type == CU_MEMORYTYPE_HOST    ? hex(host)
           : type == CU_MEMORYTYPE_ARRAY ? "array " + hex(array)
                                         : hex(static_cast<std::uintptr_t>(device));
}

void add_detail(report::Json& json, const Body& body, const graph::Node& node) {
    switch (node.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            add_kernel(json, body, body.kernels[node.detail]);
            break;
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
            const CUDA_MEMCPY3D& copy = body.copies[node.detail];
            json["memcpy"] = {{"src", copy_end(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray)},
                              {"dst", copy_end(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray)},
                              {"width_bytes", copy.WidthInBytes},
                              {"height", copy.Height},
                              {"depth", copy.Depth},
                              {"src_pitch", copy.srcPitch},
                              {"dst_pitch", copy.dstPitch}};
            break;
        }
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const CUDA_MEMSET_NODE_PARAMS& set = body.sets[node.detail];
            json["memset"] = {{"dst", hex(static_cast<std::uintptr_t>(set.dst))},
                              {"value", set.value},
                              {"element_size", set.elementSize},
                              {"width", set.width},
                              {"height", set.height},
                              {"pitch", set.pitch}};
            break;
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            const CUDA_HOST_NODE_PARAMS& host = body.hosts[node.detail];
            json["host_fn_addr"] = hex(reinterpret_cast<const void*>(host.fn));
            json["host"] = {{"function", hex(reinterpret_cast<const void*>(host.fn))},
                            {"user_data", hex(host.userData)}};
            break;
        }
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            json["event_ptr"] = hex(body.events[node.detail]);
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        case CU_GRAPH_NODE_TYPE_MEM_FREE: {
            const graph::Memory& memory = body.memories[node.detail];
            json["memory"] = {{"address", hex(static_cast<std::uintptr_t>(memory.address))}};
            if (memory.size > 0)
                json["memory"]["size"] = memory.size;
            break;
        }
        default:
            break;
    }
}

// {"nodes", "edges", "edges_known"} of one body.
void add_body(report::Json& json, const Exec& exec, std::uint32_t index) {
    const Body& body = exec.snapshot.bodies()[index];
    std::vector<report::Json> dependencies(body.nodes.size(), report::Json::array());
    std::vector<report::Json> dependents(body.nodes.size(), report::Json::array());
    report::Json edges = report::Json::array();
    for (const graph::Edge& edge : body.edges) {
        dependencies[edge.to].push_back(edge.from);
        dependents[edge.from].push_back(edge.to);
        edges.push_back({{"from", edge.from},
                         {"to", edge.to},
                         {"from_port", edge.from_port},
                         {"to_port", edge.to_port},
                         {"type", edge.type}});
    }
    auto reference = std::lower_bound(exec.references.begin(), exec.references.end(), index,
                                      [](const liveness::Reference& a, std::uint32_t b) { return a.body < b; });
    report::Json nodes = report::Json::array();
    for (std::uint32_t i = 0; i < body.nodes.size(); ++i) {
        const graph::Node& node = body.nodes[i];
        report::Json entry{{"index", i},
                           {"node_type", graph::node_type_name(node.type)},
                           {"tools_id", 0},
                           {"graph_id", 0},
                           {"node_id", 0},
                           {"kernel_name", nullptr},
                           {"event_ptr", 0},
                           {"host_fn_addr", nullptr},
                           {"host_fn_name", nullptr},
                           {"dependencies", dependencies[i]},
                           {"dependents", dependents[i]}};
        if (!node.enabled)
            entry["enabled"] = false;
        add_detail(entry, body, node);
        report::Json references = report::Json::array();
        for (; reference != exec.references.end() && reference->body == index && reference->node == i; ++reference) {
            const memory::Allocation& allocation = exec.inputs[reference->input].tracked->allocation;
            references.push_back({{"slot", to_string(reference->slot)},
                                  {"address", hex(reference->address)},
                                  {"allocation", allocation.id},
                                  {"offset", reference->address - allocation.base},
                                  {"grade", config::to_string(liveness::grade_now(exec.snapshot, *reference))}});
        }
        if (!references.empty())
            entry["references"] = references;
        nodes.push_back(std::move(entry));
    }
    json["edges_known"] = body.edges_known;
    json["nodes"] = std::move(nodes);
    json["edges"] = std::move(edges);
}

}  // namespace

void write_graph_file(Session& session, Exec& exec) {
    const std::uint64_t replays = exec.launches->total();
    report::Json json{{"schema", 1}, {"graph", exec.number}, {"template", exec.template_number}};
    if (exec.capture != nullptr)
        json["capture"] = exec.capture->number;
    json["exec"] = hex(exec.handle);
    json["exec_graph_id"] = 0;
    json["ids"] = "unavailable";
    json["ids_reason"] = no_ids;
    json["replays"] = replays;
    if (exec.snapshot.data_dropped())
        json["data_dropped"] = true;
    add_body(json, exec, 0);
    report::Json graphs = report::Json::array();
    for (std::uint32_t i = 1; i < exec.snapshot.bodies().size(); ++i) {
        const Body& body = exec.snapshot.bodies()[i];
        report::Json entry{{"node", body.node}, {"path", body.path}};
        add_body(entry, exec, i);
        graphs.push_back(std::move(entry));
    }
    json["graphs"] = std::move(graphs);
    report::Json allocations = report::Json::array();
    for (const Exec::Input& input : exec.inputs)
        if (input.references > 0)
            allocations.push_back(to_json(*input.tracked));
    json["allocations"] = std::move(allocations);
    json["findings"] = exec.findings;
    if (exec.findings_seen > exec.findings.size())
        json["findings_left_out"] = exec.findings_seen - exec.findings.size();
    const std::string text = json.dump(1);
    if (session.recording.file("graph-" + std::to_string(exec.number) + ".json", text + "\n")) {
        exec.has_file = true;
        exec.replays_in_file = replays;
        exec.findings_in_file = exec.findings_seen;
    }
}

}  // namespace keepgraph::session
