// SPDX-License-Identifier: Apache-2.0
#include "report/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/text.h"

namespace keepgraph::report {
namespace {

constexpr std::size_t label_columns = 60;
constexpr std::size_t tooltip_columns = 500;

/// Inside "...": graphviz reads backslashes as escapes and `&name;` as entities.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
        if (c == '&')
            out += "amp;";
    }
    return out;
}

std::string dimensions(const std::vector<std::uint64_t>& sizes) {
    return fmt::format("{}", fmt::join(sizes, "x"));
}

std::string label(const GraphNode& node) {
    std::string text = std::to_string(node.index) + "\\n" + escaped(cut_end(printable(node.type), label_columns));
    if (!node.kernel_name.empty())
        text += "\\n" + escaped(cut_end(printable(short_name(node.kernel_name)), label_columns));
    if (!node.grid.empty() || !node.block.empty())
        text += fmt::format("\\ngrid {} block {}", dimensions(node.grid), dimensions(node.block));
    for (const auto& [key, value] : node.details)
        text += "\\n" + escaped(cut_end(printable(fmt::format("{} {}", key, value)), label_columns));
    if (!node.enabled)
        text += "\\ndisabled";
    return text;
}

std::string node_name(std::size_t body, std::uint64_t index) {
    return fmt::format("n{}_{}", body, index);
}

class Printer {
  public:
    Printer(const GraphFile& graph, const std::vector<RecordedFinding>& findings) : graph_(graph) {
        for (const RecordedFinding& finding : findings) {
            if (finding.graph != graph.number)
                continue;
            for (const RecordedReference& reference : finding.references) {
                if (reference.node)
                    found_.emplace(reference.path, *reference.node);
            }
        }
        for (std::size_t i = 0; i < graph.children.size(); ++i)
            bodies_.emplace(graph.children[i].path, i + 1);
        bodies_.insert_or_assign({}, 0);
    }

    std::string print() {
        out_ = fmt::format("digraph graph_{} {{\n", graph_.number);
        out_ += fmt::format("  graph [compound=true labelloc=t label=\"graph {}{}\"];\n", graph_.number,
                            graph_.edges_known ? "" : "\\nedges are not known");
        out_ += "  node [shape=box fontname=\"monospace\" fontsize=10];\n";
        body(graph_.top, 0, "  ");
        for (std::size_t i = 0; i < graph_.children.size(); ++i) {
            const GraphBody& child = graph_.children[i];
            out_ += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n    style=dashed;\n", i + 1,
                                escaped(cut_end(printable(child.path), label_columns)));
            body(child, i + 1, "    ");
            out_ += "  }\n";
        }
        for (std::size_t i = 0; i < graph_.children.size(); ++i)
            tie(graph_.children[i], i + 1);
        return std::move(out_) + "}\n";
    }

  private:
    void body(const GraphBody& body, std::size_t number, const char* indent) {
        std::set<std::uint64_t> known;
        for (const GraphNode& node : body.nodes) {
            if (!known.insert(node.index).second)
                continue;  // a damaged file: graphviz would merge the two
            const bool has_finding = found_.count({body.path, node.index}) != 0;
            out_ += fmt::format("{}{} [label=\"{}\"", indent, node_name(number, node.index), label(node));
            if (!node.kernel_name.empty())
                out_ += fmt::format(" tooltip=\"{}\"",
                                    escaped(cut_end(printable(demangled(node.kernel_name)), tooltip_columns)));
            if (has_finding)
                out_ += " style=filled fillcolor=\"#f4b6b6\" color=red penwidth=2";
            else if (!node.enabled)
                out_ += " style=dotted";
            out_ += "];\n";
        }
        // A file without edges may still have each node's dependencies (torch's form of the same).
        std::vector<GraphEdge> edges = body.edges;
        if (edges.empty()) {
            for (const GraphNode& node : body.nodes) {
                for (const std::uint64_t before : node.dependencies)
                    edges.push_back({before, node.index, 0, 0, 0});
            }
        }
        for (const GraphEdge& edge : edges) {
            if (!known.count(edge.from) || !known.count(edge.to))
                continue;  // graphviz would make up a node
            out_ += fmt::format("{}{} -> {}", indent, node_name(number, edge.from), node_name(number, edge.to));
            if (edge.from_port != 0 || edge.to_port != 0 || edge.type != 0)
                out_ += fmt::format(" [label=\"port {} to {}, type {}\"]", edge.from_port, edge.to_port, edge.type);
            out_ += ";\n";
        }
    }

    /// A dashed line from the node that holds a child graph to the child's first node.
    void tie(const GraphBody& child, std::size_t number) {
        if (!child.node || child.nodes.empty())
            return;
        const std::size_t slash = child.path.rfind('/');
        const std::string parent_path = slash == std::string::npos ? std::string() : child.path.substr(0, slash);
        const auto parent = bodies_.find(parent_path);
        if (parent == bodies_.end())
            return;
        const GraphBody& holder = parent->second == 0 ? graph_.top : graph_.children[parent->second - 1];
        if (std::none_of(holder.nodes.begin(), holder.nodes.end(),
                         [&](const GraphNode& node) { return node.index == *child.node; }))
            return;
        out_ +=
            fmt::format("  {} -> {} [style=dashed arrowhead=none lhead=cluster_{}];\n",
                        node_name(parent->second, *child.node), node_name(number, child.nodes.front().index), number);
    }

    const GraphFile& graph_;
    std::set<std::pair<std::string, std::uint64_t>> found_;  // path and node of every finding's references
    std::map<std::string, std::size_t> bodies_;              // path to position, the graph itself being 0
    std::string out_;
};

}  // namespace

std::string to_dot(const GraphFile& graph, const std::vector<RecordedFinding>& findings) {
    return Printer(graph, findings).print();
}

}  // namespace keepgraph::report
