// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <set>

#include "cli/show.h"
#include "report/text.h"

namespace keepgraph::cli {
namespace {

using report::GraphBody;
using report::GraphFile;
using report::GraphNode;
using report::Number;
using report::RecordedReference;

std::string shape_of(const GraphNode& node) {
    std::string text;
    if (!node.grid.empty() || !node.block.empty())
        text = fmt::format("grid {} block {}", fmt::join(node.grid, "x"), fmt::join(node.block, "x"));
    if (node.shared_bytes && *node.shared_bytes != 0)
        text += fmt::format(" shared {}", *node.shared_bytes);
    for (const auto& [key, value] : node.details)
        text += (text.empty() ? "" : " ") + key + " " + value;
    if (!node.enabled)
        text += text.empty() ? "disabled" : ", disabled";
    return text;
}

std::string list_of(const std::vector<std::uint64_t>& numbers) {
    return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, " "));
}

class GraphPage {
  public:
    GraphPage(Page& page, const report::Recording& recording, const GraphFile& graph) : page_(page), graph_(graph) {
        for (const report::RecordedFinding& finding : recording.findings) {
            if (finding.graph == graph.number && finding.allocation.id)
                dead_.emplace(*finding.allocation.id, finding.number);
        }
        const auto known = recording.graphs.find(graph.number);
        replays_final_ = recording.summary || (known != recording.graphs.end() && known->second.destroyed);
    }

    void print() {
        std::string head = fmt::format("graph {}", graph_.number);
        if (graph_.graph_template)
            head += fmt::format(", template {}", *graph_.graph_template);
        head += graph_.capture ? fmt::format(", capture {}", *graph_.capture) : std::string(", built by hand");
        head += ", exec " + address_text(graph_.exec);
        if (graph_.replays)
            head += ", " + counted(*graph_.replays, "replay") + (replays_final_ ? "" : " or more");
        page_.paragraph(head);
        if (!graph_.ids.empty())
            page_.paragraph("driver's ids: " + graph_.ids +
                            (graph_.ids_reason.empty() ? std::string() : " (" + graph_.ids_reason + ")"));
        else if (graph_.exec_graph_id)
            page_.line(fmt::format("driver's graph id: {}", *graph_.exec_graph_id));
        if (graph_.data_dropped)
            page_.paragraph("arguments and dependencies are not known: KEEP was off, or its max was reached");
        else if (!graph_.edges_known)
            page_.line("dependencies are not known");
        body(graph_.top);
        for (const GraphBody& child : graph_.children)
            body(child);
        print_allocations();
    }

  private:
    void body(const GraphBody& body) {
        const std::string of = body.path.empty() ? std::string() : " of " + body.path;
        page_.heading("nodes" + of);
        if (body.nodes.empty()) {
            page_.line("  none");
            return;
        }
        Table nodes({{"node", Table::Kind::number},
                     {"type"},
                     {"name", Table::Kind::elastic},
                     {"shape", Table::Kind::words},
                     {"after", Table::Kind::words}});
        Table arguments({{"node", Table::Kind::number},
                         {"argument"},
                         {"bytes", Table::Kind::elastic},
                         {"address", Table::Kind::address},
                         {"allocation"},
                         {"offset", Table::Kind::number},
                         {"grade"},
                         {""}});
        bool any_arguments = false;
        for (const GraphNode& node : body.nodes) {
            nodes.add({std::to_string(node.index), node.type,
                       page_.screen().full ? report::demangled(node.kernel_name) : report::short_name(node.kernel_name),
                       shape_of(node), list_of(node.dependencies)});
            any_arguments = add_arguments(arguments, node) || any_arguments;
        }
        nodes.print(page_);
        if (any_arguments) {
            page_.heading("arguments and references" + of);
            arguments.print(page_);
        }
    }

    bool add_arguments(Table& table, const GraphNode& node) {
        std::set<const RecordedReference*> shown;
        for (const GraphNode::Argument& argument : node.arguments) {
            const std::string name =
                argument.parameter ? fmt::format("parameter {}", *argument.parameter) : "parameter ?";
            const std::size_t shown_before = shown.size();
            for (const RecordedReference& reference : node.references) {
                if (reference.slot == name || reference.slot.rfind(name + " ", 0) == 0) {
                    add_reference(table, node, reference, argument.bytes);
                    shown.insert(&reference);
                }
            }
            if (shown.size() == shown_before)
                table.add({std::to_string(node.index), name, argument.bytes});
        }
        for (const RecordedReference& reference : node.references) {
            if (shown.count(&reference) == 0)
                add_reference(table, node, reference, "");
        }
        return !node.arguments.empty() || !node.references.empty();
    }

    void add_reference(Table& table, const GraphNode& node, const RecordedReference& reference,
                       const std::string& bytes) {
        std::string remark;
        if (const auto dead = reference.allocation ? dead_.find(*reference.allocation) : dead_.end();
            dead != dead_.end())
            remark = fmt::format("freed: finding {}", dead->second);
        table.add({std::to_string(node.index), reference.slot, bytes, address_text(reference.address),
                   reference.allocation ? fmt::format("#{}", *reference.allocation) : "",
                   reference.offset ? fmt::format("+{}", *reference.offset) : "", reference.grade, remark});
    }

    void print_allocations() {
        if (graph_.allocations.empty())
            return;
        page_.heading("allocations");
        for (const report::RecordedAllocation& allocation : graph_.allocations)
            page_.paragraph("  " + allocation_text(allocation));
    }

    Page& page_;
    const GraphFile& graph_;
    bool replays_final_ = false;                   // false: the file was written while the program still ran
    std::map<std::uint64_t, std::uint64_t> dead_;  // allocation id to finding
};

}  // namespace

void print_graph(Page& page, const report::Recording& recording, const GraphFile& graph) {
    GraphPage(page, recording, graph).print();
}

}  // namespace keepgraph::cli
