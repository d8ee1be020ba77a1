// SPDX-License-Identifier: Apache-2.0
#include "report/dot.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "report/reader.h"

namespace keepgraph::report {
namespace {

using namespace unit_tests;

/// What graphviz makes of it; a syntax error fails the test.
std::string rendered(const std::string& dot) {
    TempFolder temp;
    write_file(temp / "graph.dot", dot);
    const Outcome outcome = run_tool({"dot", "-Tsvg", temp / "graph.dot"});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe() << dot;
    EXPECT_EQ(outcome.err.find("syntax error"), std::string::npos) << outcome.err;
    return outcome.out;
}

std::size_t count_of_text(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

TEST(DotTest, EqualsTheGoldenFile) {
    const std::string dot = to_dot(read_graph(complete_recording(), 1), read_recording(complete_recording()).findings);
    EXPECT_EQ(dot, read_file(complete_recording() + "/../graph-1.dot"));
}

TEST(DotTest, GraphvizSeesEveryNodeEdgeAndCluster) {
    const std::string svg =
        rendered(to_dot(read_graph(complete_recording(), 1), read_recording(complete_recording()).findings));
    EXPECT_EQ(count_of_text(svg, "class=\"node\""), 6u);
    EXPECT_EQ(count_of_text(svg, "class=\"edge\""), 5u);  // 3, 1 inside the child, 1 from the node to the child
    EXPECT_EQ(count_of_text(svg, "class=\"cluster\""), 1u);
    EXPECT_EQ(count_of_text(svg, "#f4b6b6"), 1u);
}

TEST(DotTest, OnlyNodesThatAFindingOfThisGraphNamesAreRed) {
    const GraphFile graph = read_graph(complete_recording(), 1);
    std::vector<RecordedFinding> findings = read_recording(complete_recording()).findings;
    findings[0].references[0].path = "child#2";
    EXPECT_NE(to_dot(graph, findings).find("n1_0 [label=\"0\\nmemset"), std::string::npos);
    EXPECT_EQ(count_of_text(to_dot(graph, findings), "fillcolor"), 1u);
    findings[0].graph = 2;
    EXPECT_EQ(count_of_text(to_dot(graph, findings), "fillcolor"), 0u);
}

TEST(DotTest, AnyBytesInNamesRender) {
    std::string every_byte;
    for (int c = 0; c < 256; ++c)
        every_byte += static_cast<char>(c);
    for (const std::string& name : {every_byte, std::string("\""), std::string("\\"), std::string("\\\""),
                                    std::string("&lt;&#0;&amp"), std::string("</svg>"), std::string("a\nb\tc\\n"),
                                    std::string("\xff\xfe"), std::string(10240, 'k'), std::string(10240, '\\')}) {
        GraphFile graph;
        graph.number = 1;
        GraphNode node;
        node.type = name;
        node.kernel_name = name;
        node.details = {{"src", name}};
        graph.top.nodes.push_back(node);
        GraphBody child;
        child.path = name;
        child.node = 0;
        child.nodes.push_back(node);
        graph.children.push_back(child);
        const std::string dot = to_dot(graph, {});
        EXPECT_LT(dot.size(), 10000u);
        const std::string svg = rendered(dot);
        EXPECT_EQ(count_of_text(svg, "class=\"node\""), 2u) << name;
    }
}

TEST(DotTest, KernelNamesAreShown) {
    GraphFile graph;
    GraphNode node;
    node.kernel_name = "a&lt;b\\n\"c\"";
    graph.top.nodes.push_back(node);
    // As SVG text: what graphviz shows is the name itself, not an entity or a line break.
    EXPECT_NE(rendered(to_dot(graph, {})).find(">a&amp;lt;b\\n&quot;c&quot;<"), std::string::npos)
        << rendered(to_dot(graph, {}));
}

TEST(DotTest, DamagedGraphsRender) {
    GraphFile graph;
    graph.edges_known = false;
    graph.top.nodes.resize(3);  // three nodes with index 0
    graph.top.edges = {{0, 7, 0, 0, 0}, {0, 0, 0, 0, 0}};
    GraphBody child;
    child.node = 99;
    child.path = "child#99/child#1";
    graph.children.assign(2, child);
    const std::string svg = rendered(to_dot(graph, {}));
    EXPECT_EQ(count_of_text(svg, "class=\"node\""), 1u);
    EXPECT_EQ(count_of_text(svg, "class=\"edge\""), 1u);
    EXPECT_NE(svg.find("edges are not known"), std::string::npos);
}

TEST(DotTest, WithoutEdgesTheDependenciesAreDrawn) {
    GraphFile graph;
    graph.top.nodes.resize(2);
    graph.top.nodes[1].index = 1;
    graph.top.nodes[1].dependencies = {0};
    EXPECT_NE(to_dot(graph, {}).find("n0_0 -> n0_1;"), std::string::npos);
}

}  // namespace
}  // namespace keepgraph::report
