// SPDX-License-Identifier: Apache-2.0
// Graphs that are read again after something of theirs died, races between a free and a graph being read, code that
// goes with its context, and programs that change their graphs very often.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

Conditions recorded(const TempFolder& folder) {
    return Conditions{}.with("KEEPGRAPH_OUT", folder / "recording-%p");
}

Summary summary_or_fail(const Outcome& outcome) {
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    const auto summary = summary_of(outcome);
    EXPECT_TRUE(summary) << outcome.describe();
    return summary.value_or(Summary{});
}

class ChangesOfDeadMemory : public testing::TestWithParam<const char*> {};

TEST_P(ChangesOfDeadMemory, AreFoundAtTheNextLaunch) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("changes"), GetParam()}, recorded(folder));
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
    ASSERT_EQ(findings.size(), 1u) << outcome.describe();
    EXPECT_EQ(findings[0].at("kind"), "freed");
    EXPECT_EQ(findings[0].at("death").at("call"), "cuMemFree_v2") << "the free is known, although it came before";
    ASSERT_EQ(findings[0].at("references").size(), 1u);
    EXPECT_EQ(findings[0].at("references")[0].at("slot"), "parameter 0 +0");
    EXPECT_EQ(findings[0].at("graph"), GetParam() == std::string("again") ? 2 : 1);
}
INSTANTIATE_TEST_SUITE_P(All, ChangesOfDeadMemory, testing::Values("again", "update", "set"),
                         [](const auto& info) { return std::string(info.param); });

class ChangesDuringAFree : public testing::TestWithParam<const char*> {};

TEST_P(ChangesDuringAFree, AreFoundAtTheNextLaunch) {
    Conditions conditions;
    conditions.preload_after = {hostile("libheld_free.so")};
    const Outcome outcome = expect_transparent({hostile("overlap"), GetParam()}, conditions);
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "freed by cuMemFree_v2"), 1u) << outcome.describe();
}
INSTANTIATE_TEST_SUITE_P(All, ChangesDuringAFree, testing::Values("instantiate", "set"),
                         [](const auto& info) { return std::string(info.param); });

class ChangesOfGraphMemory : public testing::TestWithParam<const char*> {};

TEST_P(ChangesOfGraphMemory, AreNoFindings) {
    const Outcome outcome = expect_transparent({hostile("nodes"), "memory", GetParam()});
    const Summary summary = summary_or_fail(outcome);
    EXPECT_EQ(summary.findings, 0) << outcome.describe();
    EXPECT_EQ(summary.graphs, 3);
    EXPECT_GT(summary.inputs, 0) << "no finding because nothing was looked at";
}
INSTANTIATE_TEST_SUITE_P(All, ChangesOfGraphMemory, testing::Values("call", "node", "early"),
                         [](const auto& info) { return std::string(info.param); });

class ChangesOfContext : public testing::TestWithParam<const char*> {};

TEST_P(ChangesOfContext, MakeTheLayoutsOfItsFunctionsUnknown) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("new_context"), GetParam()},
                                               recorded(folder).with("KEEPGRAPH_WRITE", "findings,graphs"));
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    ASSERT_EQ(count_lines_with(split_lines(outcome.out), "the handle came back: 1"), 1u) << outcome.describe();
    const Json nodes = Recording::only_one_in(folder.path()).graph(2).at("nodes");
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].at("kernel_name"), "kg_count");
    EXPECT_EQ(nodes[0].at("arguments").size(), 1u);
}
INSTANTIATE_TEST_SUITE_P(All, ChangesOfContext, testing::Values("reset", "destroy"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace keepgraph::preload_tests
