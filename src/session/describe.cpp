// SPDX-License-Identifier: Apache-2.0
#include "session/describe.h"

#include <cstdio>

#include "graph/node_type.h"
#include "trace/demangle.h"

namespace keepgraph::session {

std::string hex(std::uintptr_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
    return text;
}

std::string to_text(const memory::Allocation& allocation) {
    return std::to_string(allocation.size) + " bytes of " + memory::to_string(allocation.kind) + " memory at " +
           hex(allocation.base) + " (allocation #" + std::to_string(allocation.id) + ")";
}

report::Json to_json(const memory::Allocation& allocation) {
    return {{"id", allocation.id},
            {"address", hex(allocation.base)},
            {"size", allocation.size},
            {"kind", memory::to_string(allocation.kind)},
            {"device", allocation.device}};
}

report::Json to_json(const Tracked& tracked) {
    report::Json keys = to_json(tracked.allocation);
    if (tracked.has_birth && tracked.birth.stack != 0)
        keys["stack"] = tracked.birth.stack;
    return keys;
}

report::Json to_json(const Event& event) {
    report::Json keys{{"call", event.call}};
    if (event.runtime_call != nullptr)
        keys["runtime_call"] = event.runtime_call;
    keys["t"] = event.time;
    keys["thread"] = event.thread;
    keys["thread_name"] = event.thread_name;
    if (event.stack != 0)
        keys["stack"] = event.stack;
    return keys;
}

bool is_disabled(const graph::Snapshot& snapshot, const liveness::Reference& reference) noexcept {
    graph::Place place{reference.body, reference.node};
    while (snapshot.node(place).enabled && place.body != 0) {
        const graph::Body& body = snapshot.bodies()[place.body];
        place = {body.parent, body.node};
    }
    return !snapshot.node(place).enabled;
}

namespace {

const graph::Kernel* kernel_of(const graph::Body& body, std::uint32_t index) {
    const graph::Node& node = body.nodes[index];
    return node.type == CU_GRAPH_NODE_TYPE_KERNEL ? &body.kernels[node.detail] : nullptr;
}

}  // namespace

std::string call_of(const Event& event) {
    return event.call + (event.runtime_call != nullptr ? std::string(" in ") + event.runtime_call : "");
}

std::string to_text(const graph::Snapshot& snapshot, const graph::Place& place) {
    return "node " + std::to_string(place.node) + (place.body != 0 ? " of " + snapshot.path(place.body) : "");
}

std::string to_text(const graph::Snapshot& snapshot, const liveness::Reference& reference) {
    const graph::Body& body = snapshot.bodies()[reference.body];
    const std::string text = to_text(snapshot, graph::Place{reference.body, reference.node});
    if (const graph::Kernel* const kernel = kernel_of(body, reference.node))
        return text + ", kernel " + trace::demangled(kernel->function->mangled) + ", " + to_string(reference.slot);
    return text + ", " + graph::node_type_name(body.nodes[reference.node].type) + " " + to_string(reference.slot);
}

report::Json to_json(const Exec& exec, const liveness::Reference& reference, config::Grade grade) {
    const graph::Body& body = exec.snapshot.bodies()[reference.body];
    report::Json keys{{"node", reference.node}};
    if (reference.body != 0)
        keys["path"] = exec.snapshot.path(reference.body);
    keys["node_type"] = graph::node_type_name(body.nodes[reference.node].type);
    if (const graph::Kernel* const kernel = kernel_of(body, reference.node))
        keys["kernel"] = trace::demangled(kernel->function->mangled);
    keys["slot"] = to_string(reference.slot);
    keys["address"] = hex(reference.address);
    keys["offset"] = reference.address - exec.inputs[reference.input].tracked->allocation.base;
    keys["grade"] = config::to_string(grade);
    return keys;
}

}  // namespace keepgraph::session
