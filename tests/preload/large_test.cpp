// SPDX-License-Identifier: Apache-2.0
// What is said and written of a graph with thousands of nodes that all refer to memory which was freed: the launch that
// the finding is about waits for it.
#include <gtest/gtest.h>

#include "harness/callgrind.h"
#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

constexpr std::size_t nodes = 3000;
constexpr std::size_t recorded_references = 100;
constexpr std::size_t shown_references = 5;

Outcome run_into(const std::string& folder, const std::string& options = {}) {
    return expect_transparent({hostile("inputs"), std::to_string(nodes), "same"},
                              Conditions{}.with("KEEPGRAPH_OUT", folder).with("KEEPGRAPH_OPTIONS", options));
}

TEST(Large, FindingHasItsFirstReferencesAndTheGraphsFileHasAll) {
    TempFolder folder;
    const Outcome outcome = run_into(folder / "recording");
    const std::vector<std::string> lines = keepgraph_lines(outcome.err);
    EXPECT_EQ(count_lines_with(lines, ", kernel kg_scale, parameter 0 +0 = "), shown_references) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "    and " + std::to_string(nodes - shown_references) + " more"), 1u)
        << outcome.describe();

    const Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.findings().size(), 1u);
    const Json finding = recording.findings()[0];
    EXPECT_EQ(finding.at("references").size(), recorded_references);
    EXPECT_EQ(finding.at("references_left_out"), nodes - recorded_references);

    const Json graph = recording.graph(1);
    ASSERT_EQ(graph.at("nodes").size(), nodes);
    const Json& freed = finding.at("allocation").at("id");
    std::size_t refer = 0;
    for (const Json& node : graph.at("nodes"))
        for (const Json& reference : node.at("references"))
            refer += reference.at("allocation") == freed;
    EXPECT_EQ(refer, nodes);

    const std::vector<std::string> show = shown(folder / "recording");
    EXPECT_EQ(count_lines_with(
                  show, "and " + std::to_string(nodes - recorded_references) + " that only the graph's file has"),
              1u)
        << testing::PrintToString(show);
}

TEST(Large, FileThatExceedsOutMaxIsLeftOutAndItIsSaid) {
    TempFolder folder;
    run_into(folder / "recording", "out_max=256K");
    const Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), 1u);
    EXPECT_FALSE(recording.has_graph_file(1));
    EXPECT_EQ(recording.notices_with("out_max of 262144 bytes is reached: graph-1.json is left out"), 1u);
}

// Instructions of one run of `inputs` with so many nodes.
long instructions(int number, const std::string& options) {
    TempFolder folder;
    const Profile counted =
        profile({hostile("inputs"), std::to_string(number), "same"},
                Conditions{}.with("KEEPGRAPH_OUT", folder / "recording").with("KEEPGRAPH_OPTIONS", options));
    EXPECT_EQ(summary_of(counted.outcome).value_or(Summary{}).findings, 1) << counted.outcome.describe();
    return counted.instructions;
}

TEST(Large, FindingGrowsWithTheNodesOnly) {
    const long few = instructions(200, ""), some = instructions(1000, ""), more = instructions(3400, "");
    EXPECT_LT(more - few, 5 * (some - few)) << few << ", " << some << ", " << more;
}

TEST(Large, FileThatHasNoRoomIsNotMadeFirst) {
    // A thirtieth of the file fits. That the program is run at all, and its graph read, is paid in both.
    const long left_out = instructions(3400, "out_max=100K"), made = instructions(3400, "");
    const long none = instructions(1, "");
    EXPECT_LT(2 * (left_out - none), made - none) << none << ", " << left_out << ", " << made;
}

}  // namespace
}  // namespace keepgraph::preload_tests
