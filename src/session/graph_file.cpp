// SPDX-License-Identifier: Apache-2.0
//
// graph-<n>.json: torch's keys and ours (src/report/README.md).
#include <algorithm>
#include <unordered_map>

#include "graph/node_type.h"
#include "report/json_text.h"
#include "session/describe.h"
#include "session/state.h"
#include "trace/demangle.h"

namespace keepgraph::session {
namespace {

using graph::Body;
using report::JsonText;

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

void add_three(JsonText& json, const char* name, const unsigned (&values)[3]) {
    json.key(name);
    json.begin_array();
    for (const unsigned value : values)
        json.value(value);
    json.end_array();
}

// Names are worked out once per kernel, not once per node.
class Names {
  public:
    const std::string& of(const graph::Function& function) {
        const auto [entry, is_new] = names_.try_emplace(&function);
        if (is_new)
            entry->second = trace::demangled(function.mangled);
        return entry->second;
    }

  private:
    std::unordered_map<const graph::Function*, std::string> names_;
};

void add_kernel(JsonText& json, const Body& body, const graph::Kernel& kernel, const std::string& name) {
    json.begin_object("kernel");
    json.member("mangled", kernel.function->mangled);
    json.member("function", name);
    add_three(json, "grid", kernel.grid);
    add_three(json, "block", kernel.block);
    json.member("shared_bytes", kernel.shared_bytes);
    json.end_object();
    if (!kernel.arguments_known)
        return;
    const auto packed = body.arguments_of(kernel);
    json.begin_array("arguments");
    for (std::size_t i = 0; i < kernel.function->parameters.size(); ++i) {
        const auto [offset, size] = kernel.function->parameters[i];
        json.begin_object();
        json.member("parameter", i);
        json.member("offset", offset);
        json.member("size", size);
        json.member("bytes", hex_bytes(packed.subspan(offset, size)));
        json.end_object();
    }
    json.end_array();
}

std::string copy_end(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array) {
    return type == CU_MEMORYTYPE_HOST    ? hex(host)
           : type == CU_MEMORYTYPE_ARRAY ? "array " + hex(array)
                                         : hex(static_cast<std::uintptr_t>(device));
}

void add_detail(JsonText& json, const Body& body, const graph::Node& node, Names& names) {
    switch (node.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
            const graph::Kernel& kernel = body.kernels[node.detail];
            add_kernel(json, body, kernel, names.of(*kernel.function));
            break;
        }
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
            const CUDA_MEMCPY3D& copy = body.copies[node.detail];
            json.begin_object("memcpy");
            json.member("src", copy_end(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray));
            json.member("dst", copy_end(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray));
            json.member("width_bytes", copy.WidthInBytes);
            json.member("height", copy.Height);
            json.member("depth", copy.Depth);
            json.member("src_pitch", copy.srcPitch);
            json.member("dst_pitch", copy.dstPitch);
            json.end_object();
            break;
        }
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const CUDA_MEMSET_NODE_PARAMS& set = body.sets[node.detail];
            json.begin_object("memset");
            json.member("dst", hex(static_cast<std::uintptr_t>(set.dst)));
            json.member("value", set.value);
            json.member("element_size", set.elementSize);
            json.member("width", set.width);
            json.member("height", set.height);
            json.member("pitch", set.pitch);
            json.end_object();
            break;
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            const CUDA_HOST_NODE_PARAMS& host = body.hosts[node.detail];
            json.begin_object("host");
            json.member("function", hex(reinterpret_cast<const void*>(host.fn)));
            json.member("user_data", hex(host.userData));
            json.end_object();
            break;
        }
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        case CU_GRAPH_NODE_TYPE_MEM_FREE: {
            const graph::Memory& memory = body.memories[node.detail];
            json.begin_object("memory");
            json.member("address", hex(static_cast<std::uintptr_t>(memory.address)));
            if (memory.size > 0)
                json.member("size", memory.size);
            json.end_object();
            break;
        }
        default:
            break;
    }
}

// torch's keys, which every node has; null or 0 where they are another type's.
void add_common(JsonText& json, const Body& body, const graph::Node& node, Names& names) {
    json.member("node_type", graph::node_type_name(node.type));
    json.member("tools_id", 0);
    json.member("graph_id", 0);
    json.member("node_id", 0);
    json.key("kernel_name");
    if (node.type == CU_GRAPH_NODE_TYPE_KERNEL)
        json.value(names.of(*body.kernels[node.detail].function));
    else
        json.value(nullptr);
    json.key("event_ptr");
    if (node.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT || node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        json.value(hex(body.events[node.detail]));
    else
        json.value(0);
    json.key("host_fn_addr");
    if (node.type == CU_GRAPH_NODE_TYPE_HOST)
        json.value(hex(reinterpret_cast<const void*>(body.hosts[node.detail].fn)));
    else
        json.value(nullptr);
    json.member("host_fn_name", nullptr);
}

void add_references(JsonText& json, const Exec& exec, std::vector<liveness::Reference>::const_iterator first,
                    std::vector<liveness::Reference>::const_iterator last) {
    if (first == last)
        return;
    json.begin_array("references");
    for (; first != last; ++first) {
        const memory::Allocation& allocation = exec.inputs[first->input].tracked->allocation;
        json.begin_object();
        json.member("slot", to_string(first->slot));
        json.member("address", hex(first->address));
        json.member("allocation", allocation.id);
        json.member("offset", first->address - allocation.base);
        json.member("grade", config::to_string(liveness::grade_now(exec.snapshot, *first)));
        json.end_object();
    }
    json.end_array();
}

// Edges come sorted by `to`; for the other direction they are put in order by `from`.
struct Neighbours {
    explicit Neighbours(const Body& body) : by_end(body.edges), by_start(body.edges) {
        std::stable_sort(by_start.begin(), by_start.end(),
                         [](const auto& a, const auto& b) { return a.from < b.from; });
    }
    void add(JsonText& json, std::uint32_t node) {
        json.begin_array("dependencies");
        for (; before < by_end.size() && by_end[before].to == node; ++before)
            json.value(by_end[before].from);
        json.end_array();
        json.begin_array("dependents");
        for (; after < by_start.size() && by_start[after].from == node; ++after)
            json.value(by_start[after].to);
        json.end_array();
    }

    const std::vector<graph::Edge>& by_end;
    std::vector<graph::Edge> by_start;
    std::size_t before = 0;
    std::size_t after = 0;
};

// "edges_known", "nodes", "edges" of one body. Stops when the text has grown beyond `most` bytes.
void add_body(JsonText& json, const Exec& exec, std::uint32_t index, Names& names, std::size_t most) {
    const Body& body = exec.snapshot.bodies()[index];
    json.member("edges_known", body.edges_known);
    auto reference = std::lower_bound(exec.references.begin(), exec.references.end(), index,
                                      [](const liveness::Reference& a, std::uint32_t b) { return a.body < b; });
    json.begin_array("nodes");
    Neighbours neighbours(body);
    for (std::uint32_t i = 0; i < body.nodes.size() && json.text().size() <= most; ++i) {
        const graph::Node& node = body.nodes[i];
        json.break_line();
        json.begin_object();
        json.member("index", i);
        add_common(json, body, node, names);
        neighbours.add(json, i);
        if (!node.enabled)
            json.member("enabled", false);
        add_detail(json, body, node, names);
        const auto first = reference;
        while (reference != exec.references.end() && reference->body == index && reference->node == i)
            ++reference;
        add_references(json, exec, first, reference);
        json.end_object();
    }
    json.end_array();
    json.break_line();
    json.begin_array("edges");
    for (const graph::Edge& edge : neighbours.by_start) {
        if (json.text().size() > most)
            break;
        json.break_line();
        json.begin_object();
        json.member("from", edge.from);
        json.member("to", edge.to);
        json.member("from_port", edge.from_port);
        json.member("to_port", edge.to_port);
        json.member("type", edge.type);
        json.end_object();
    }
    json.end_array();
}

}  // namespace

void write_graph_file(Session& session, Exec& exec) {
    const std::uint64_t replays = exec.launches->total();
    JsonText json;
    Names names;
    json.begin_object();
    json.member("schema", 1);
    json.member("graph", exec.number);
    json.member("template", exec.template_number);
    if (exec.capture != nullptr)
        json.member("capture", exec.capture->number);
    json.member("exec", hex(exec.handle));
    json.member("exec_graph_id", 0);
    json.member("ids", "unavailable");
    json.member("ids_reason", no_ids);
    json.member("replays", replays);
    if (exec.snapshot.data_dropped())
        json.member("data_dropped", true);
    // What does not fit into the recording is not made either: the host waits for this.
    const std::size_t most = session.settings.out_max;
    add_body(json, exec, 0, names, most);
    json.begin_array("graphs");
    for (std::uint32_t i = 1; i < exec.snapshot.bodies().size() && json.text().size() <= most; ++i) {
        json.break_line();
        json.begin_object();
        json.member("node", exec.snapshot.bodies()[i].node);
        json.member("path", exec.snapshot.path(i));
        add_body(json, exec, i, names, most);
        json.end_object();
    }
    json.end_array();
    json.break_line();
    json.begin_array("allocations");
    for (const Exec::Input& input : exec.inputs)
        if (input.references > 0) {
            json.break_line();
            json.raw(to_json(*input.tracked).dump());
        }
    json.end_array();
    json.break_line();
    json.begin_array("findings");
    for (const report::Json& finding : exec.findings) {
        json.break_line();
        json.raw(finding.dump());
    }
    json.end_array();
    if (exec.findings_seen > exec.findings.size())
        json.member("findings_left_out", exec.findings_seen - exec.findings.size());
    json.end_object();
    if (session.recording.file("graph-" + std::to_string(exec.number) + ".json", json.text())) {
        exec.has_file = true;
        exec.replays_in_file = replays;
        exec.findings_in_file = exec.findings_seen;
    }
}

}  // namespace keepgraph::session
