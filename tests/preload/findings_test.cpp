// SPDX-License-Identifier: Apache-2.0
// What the shim says about programs that free what a graph refers to, in each way of reaching the driver.
#include <gtest/gtest.h>

#include <csignal>

#include "harness/on_double.h"

namespace keepgraph::preload_tests {
namespace {

class Findings : public testing::TestWithParam<const char*> {
  protected:
    static std::vector<std::string> program(const char* name) { return {victim(std::string(name) + "_" + GetParam())}; }
};

TEST_P(Findings, FreedInputIsNamedOnceWithBothStacks) {
    const auto outcome = expect_transparent(program("freed_input"));
    const auto lines = keepgraph_lines(outcome.err);
    EXPECT_EQ(count_lines_with(lines, "keepgraph: finding"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "which was freed [warn]"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "kernel kg_scale, parameter 0 +0"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, ", replay 2 by cuGraphLaunch"), 1u)
        << "as the record says it: " << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "freed by cuMemFree_v2"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "instantiated by"), 1u) << outcome.describe();
    EXPECT_GE(count_lines_with(lines, "#0 "), 2u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "1 graph, 3 replays; 2 inputs checked, 0 opaque; 1 finding"), 1u)
        << outcome.describe();
}

TEST_P(Findings, RecycledAddressNamesTheYoungerAllocation) {
    const auto outcome = expect_transparent(program("recycled"));
    const auto lines = keepgraph_lines(outcome.err);
    EXPECT_EQ(count_lines_with(lines, "which was freed and allocated again [warn]"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "the address was given out again: to"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, "allocated by cuMemAlloc_v2"), 1u) << outcome.describe();
}

TEST_P(Findings, HealthyProgramIsCheckedAndSilent) {
    const auto outcome = expect_transparent(program("healthy"));
    EXPECT_EQ(
        count_lines_with(keepgraph_lines(outcome.err), "3 graphs, 12 replays; 8 inputs checked, 0 opaque; 0 findings"),
        1u)
        << outcome.describe();
    EXPECT_EQ(keepgraph_lines(outcome.err).size(), 1u) << outcome.describe();
}

TEST_P(Findings, RefuseReturnsIllegalStateAndTheProgramGoesOn) {
    const auto outcome = run_on_double(program("freed_input"), Conditions{}.with("KEEPGRAPH_ON_FINDING", "refuse"));
    EXPECT_NE(outcome.out.find("launch 401"), std::string::npos) << outcome.describe();
    EXPECT_EQ(outcome.signal, 0) << outcome.describe();
}

TEST_P(Findings, AbortReportsFirst) {
    const auto outcome = run_on_double(program("freed_input"), Conditions{}.with("KEEPGRAPH_ON_FINDING", "abort"));
    EXPECT_EQ(outcome.signal, SIGABRT) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding 1"), 1u) << outcome.describe();
}

TEST_P(Findings, ThresholdAboveTheGradeIsSilent) {
    const auto outcome =
        run_on_double(program("freed_input"), Conditions{}.with("KEEPGRAPH_ON_FINDING", "warn:certain"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "0 findings"), 1u) << outcome.describe();
}

TEST_P(Findings, CopiesAreCertain) {
    const auto outcome =
        run_on_double(program("memcpy_nodes"), Conditions{}.with("KEEPGRAPH_ON_FINDING", "warn:certain"));
    EXPECT_GE(count_lines_with(keepgraph_lines(outcome.err), "memcpy src"), 1u) << outcome.describe();
}

INSTANTIATE_TEST_SUITE_P(Forms, Findings, testing::Values("shared", "static", "driver", "linked"),
                         [](const auto& info) { return std::string(info.param); });

TEST(FindingsGrades, InputAllocatedRightBehindTheOutputIsNotTakenForAnEndPointer) {
    const auto outcome = expect_transparent({victim("demo")});
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding"), 2u) << outcome.describe();
}

TEST(FindingsGrades, EndPointerIsOnlyPossible) {
    const auto silent = expect_transparent({victim("end_pointer")});
    EXPECT_EQ(count_lines_with(keepgraph_lines(silent.err), "0 findings"), 1u) << silent.describe();
}

TEST(FindingsGrades, OutputRightBehindTheInputIsNoEndPointer) {
    const auto outcome = expect_transparent({victim("end_pointer"), "output"});
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "adjacent: 1"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding"), 1u) << outcome.describe();
}

TEST(FindingsAtExit, QuickExitHasTheLastLineToo) {
    const auto outcome = expect_transparent({victim("exits_shared"), "quick_exit"});
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "1 graph, "), 1u) << outcome.describe();
}

TEST(FindingsAtExit, WhenTheDriverIsGoneTheShimAsksItNothingAndSaysNothingMore) {
    const std::vector<std::string> args{victim("exits_driver"), "static_destructor"};
    const auto outcome = expect_transparent(args);
    EXPECT_NE(outcome.out.find("gpu::free(output): 4\n"), std::string::npos) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "1 graph, 2 replays"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding"), 1u) << outcome.describe();
    const TempFolder folder;
    run_on_double(args, Conditions{}.with("KEEPGRAPH_SIM_COUNTS", folder / "counts"));
    // The three of the program, counted by the double.
    EXPECT_EQ(count_lines_with(split_lines(read_file(folder / "counts")), "calls_after_exit 3"), 1u);
}

TEST(FindingsSettings, MalformedSettingIsNamedWithWhatIsAllowed) {
    const auto outcome = run_on_double({victim("healthy_shared")}, Conditions{}.with("KEEPGRAPH_STACKS", "sometimes"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "KEEPGRAPH_STACKS=sometimes is not allowed"), 1u)
        << outcome.describe();
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
}

}  // namespace
}  // namespace keepgraph::preload_tests
