// SPDX-License-Identifier: Apache-2.0
// Nodes that are switched off, and graphs inside graphs: what they refer to counts while it will be used, no longer.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

TEST(Nodes, DisabledNodeIsReportedWhenItIsSwitchedOnAgain) {
    TempFolder folder;
    Outcome outcome = expect_transparent({hostile("nodes"), "disabled"}, recorded(folder));
    Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.findings().size(), 1u) << outcome.describe();
    Json finding = recording.findings()[0];
    EXPECT_EQ(finding.at("replay"), 2) << "not at the launch that left the node out";
    ASSERT_EQ(finding.at("references").size(), 1u);
    EXPECT_EQ(finding.at("references")[0].at("node"), 0);
    EXPECT_EQ(recording.events.back().at("inputs"), 3) << "the memory of a node that is off is still an input";
    Json nodes = recording.graph(1).at("nodes");
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_FALSE(nodes[0].contains("enabled")) << "only said when false";
    EXPECT_EQ(nodes[1].value("enabled", true), false);
}

TEST(Nodes, DisabledNodeIsNotRefused) {
    Outcome outcome =
        run_on_double({hostile("nodes"), "disabled"}, Conditions{}.with("KEEPGRAPH_ON_FINDING", "refuse"));
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "both off 0"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "one on 401"), 1u) << outcome.describe();
}

TEST(Nodes, OpaqueNodeCountsOnceHoweverOftenItIsSet) {
    // The driver does not tell the layout of any kernel.
    std::string fail;
    for (const char* function : {"cuFuncGetParamInfo", "cuKernelGetParamInfo"})
        for (int call = 1; call <= 8; ++call)
            fail += (fail.empty() ? "" : ",") + std::string(function) + ":" + std::to_string(call) + "=801";
    Outcome outcome =
        expect_transparent({victim("exec_update"), "set_params"}, Conditions{}.with("KEEPGRAPH_SIM_FAIL", fail));
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->opaque, 1) << outcome.describe();
    EXPECT_EQ(summary->inputs, 0);
}

TEST(Nodes, OpaqueNodeThatIsSetToSomethingKnownIsOpaqueNoMore) {
    // A node that could not be read, then one whose address the driver did not answer for: the freed input of the
    // latter is the one that it no longer has.
    for (const char* fail : {"cuGraphKernelNodeGetParams_v2:1=1", "cuPointerGetAttribute:1=999"}) {
        const Outcome outcome =
            expect_transparent({victim("exec_update"), "set_params"}, Conditions{}.with("KEEPGRAPH_SIM_FAIL", fail));
        const auto summary = summary_of(outcome);
        ASSERT_TRUE(summary) << fail << ": " << outcome.describe();
        EXPECT_EQ(summary->opaque, 0) << fail << ": " << outcome.describe();
        EXPECT_EQ(summary->inputs, 2) << fail;
        EXPECT_EQ(summary->findings, 1) << fail;
    }
}

TEST(Nodes, AddressThatTheDriverSaysNothingAboutMakesItsNodeOpaque) {
    // The first question is for the input, which is freed later: without an answer there can be no finding.
    Outcome outcome = expect_transparent({victim("freed_input_driver")},
                                         Conditions{}.with("KEEPGRAPH_SIM_FAIL", "cuPointerGetAttribute:1=999"));
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->opaque, 1) << outcome.describe();
    EXPECT_EQ(summary->inputs, 1) << "the output was answered";
    EXPECT_EQ(summary->findings, 0);
}

TEST(Nodes, ChildGraphsAreLookedIntoAndNamedByTheirPath) {
    TempFolder folder;
    Outcome outcome = expect_transparent({hostile("nodes"), "child"}, recorded(folder));
    std::vector<std::string> lines = keepgraph_lines(outcome.err);
    Recording recording = Recording::only_one_in(folder.path());
    std::vector<Json> findings = recording.findings();
    ASSERT_EQ(findings.size(), 2u) << outcome.describe();
    EXPECT_EQ(findings[0].at("replay"), 2) << "the input that was replaced is used no more";
    EXPECT_EQ(findings[0].at("references").at(0).at("path"), "child#1");
    EXPECT_EQ(findings[1].at("replay"), 3);
    EXPECT_EQ(findings[1].at("references").at(0).at("path"), "child#0");
    EXPECT_EQ(count_lines_with(lines, "node 0 of child#1, kernel kg_scale, parameter 0 +0"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "node 0 of child#0, kernel kg_scale, parameter 0 +0"), 1u) << outcome.describe();
    EXPECT_EQ(recording.of_type("update").size(), 1u);

    Json graph = recording.graph(1);
    EXPECT_EQ(graph.at("nodes").size(), 2u);
    EXPECT_EQ(graph.at("edges").size(), 1u);
    ASSERT_EQ(graph.at("graphs").size(), 2u);
    for (const Json& body : graph.at("graphs")) {
        EXPECT_EQ(body.at("path"), "child#" + body.at("node").dump());
        ASSERT_EQ(body.at("nodes").size(), 1u) << body.at("path");
        ASSERT_EQ(body.at("nodes")[0].at("references").size(), 2u) << body.at("path");
        // The finding and the graph's file mean the same memory.
        const Json& finding = findings[body.at("node") == 1 ? 0 : 1];
        EXPECT_EQ(body.at("nodes")[0].at("references")[0].at("allocation"), finding.at("allocation").at("id"));
    }
}

}  // namespace
}  // namespace keepgraph::preload_tests
