// SPDX-License-Identifier: Apache-2.0
// Bad settings cost one warning each, and never the program.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

struct Bad {
    const char* variable;
    const char* value;
    const char* allowed;  // a part of what the warning must offer
};
void PrintTo(const Bad& bad, std::ostream* stream) {
    *stream << bad.variable << "=" << bad.value;
}

class SettingsMalformed : public testing::TestWithParam<Bad> {};

TEST_P(SettingsMalformed, OneWarningWithNameValueAndWhatIsAllowed) {
    const Bad& bad = GetParam();
    Outcome outcome = expect_transparent({victim("freed_input_shared")}, Conditions{}.with(bad.variable, bad.value));
    std::vector<std::string> lines = keepgraph_lines(outcome.err);
    std::string given = std::string(bad.variable) + "=" + bad.value;
    EXPECT_EQ(count_lines_with(lines, given), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(lines, bad.allowed), 1u) << outcome.describe();
    // The default is in force: the finding is there.
    EXPECT_EQ(summary_of(outcome).value_or(Summary{}).findings, 1) << outcome.describe();
}

INSTANTIATE_TEST_SUITE_P(All, SettingsMalformed,
                         testing::Values(Bad{"KEEPGRAPH_CHECK", "everything", "inputs, all or off"},
                                         Bad{"KEEPGRAPH_ON_FINDING", "explode", "warn, refuse or abort"},
                                         Bad{"KEEPGRAPH_ON_FINDING", "warn:surely", ":certain, :likely or :possible"},
                                         Bad{"KEEPGRAPH_KEEP", "forever", "off or data"},
                                         Bad{"KEEPGRAPH_OUT", "x%q", "%t"},
                                         Bad{"KEEPGRAPH_WRITE", "findings,poems", "findings, graphs and driver-dot"},
                                         Bad{"KEEPGRAPH_STACKS", "some", "none, events or all"},
                                         Bad{"KEEPGRAPH_OPTIONS", "log=loud", "log=LEVEL"},
                                         Bad{"KEEPGRAPH_OPTIONS", "out_max=-1", "out_max=SIZE"}),
                         [](const auto& info) {
                             return std::string(info.param.variable).substr(10) + "_" + std::to_string(info.index);
                         });

TEST(Settings, SeveralBadOnesGiveOneWarningEach) {
    Conditions conditions;
    conditions.env = {{"KEEPGRAPH_CHECK", "x"}, {"KEEPGRAPH_STACKS", "y"}, {"KEEPGRAPH_WRITE", "z"}};
    Outcome outcome = expect_transparent({victim("healthy_shared")}, conditions);
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "is not allowed"), 3u) << outcome.describe();
}

TEST(Settings, UnknownVariableIsNamed) {
    Outcome outcome = expect_transparent({victim("healthy_shared")}, Conditions{}.with("KEEPGRAPH_STAKCS", "all"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "KEEPGRAPH_STAKCS"), 1u) << outcome.describe();
}

TEST(Settings, NothingIsSaidInAProcessWithoutCuda) {
    Outcome outcome = expect_transparent({"/bin/ls", "/"}, Conditions{}.with("KEEPGRAPH_STACKS", "sometimes"));
    EXPECT_TRUE(keepgraph_lines(outcome.err).empty()) << outcome.describe();
}

TEST(Settings, QuietHidesTheLastLineButNotTheFinding) {
    Outcome outcome =
        expect_transparent({victim("freed_input_shared")}, Conditions{}.with("KEEPGRAPH_OPTIONS", "quiet=1"));
    EXPECT_FALSE(summary_of(outcome)) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding 1"), 1u) << outcome.describe();
}

TEST(Settings, NoStacksMeansNoFrames) {
    Outcome outcome = expect_transparent({victim("freed_input_shared")}, Conditions{}.with("KEEPGRAPH_STACKS", "none"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), " #0 "), 0u) << outcome.describe();
    EXPECT_EQ(summary_of(outcome).value_or(Summary{}).findings, 1) << outcome.describe();
}

TEST(Settings, UnwritableFolderCostsOneWarning) {
    // Below a file no folder can be made, not even by root.
    for (const std::string& out : {std::string("/dev/null/recording"), std::string("/proc/recording-%p")}) {
        Outcome outcome = expect_transparent({victim("freed_input_shared")}, Conditions{}.with("KEEPGRAPH_OUT", out));
        std::vector<std::string> lines = keepgraph_lines(outcome.err);
        EXPECT_EQ(summary_of(outcome).value_or(Summary{}).findings, 1) << outcome.describe();
        EXPECT_EQ(count_lines_with(lines, "keepgraph: finding 1"), 1u) << outcome.describe();
        size_t warnings = 0;
        for (const std::string& line : lines) {
            bool of_the_finding = line.find("keepgraph: finding ") == 0 || line.find("keepgraph:  ") == 0;
            warnings += !of_the_finding && !parse_summary(line);
        }
        EXPECT_EQ(warnings, 1u) << outcome.describe();
    }
}

TEST(Settings, FileSizeLimitKillsNobody) {
    // RLIMIT_FSIZE stands for a full disk, and brings SIGXFSZ with it.
    TempFolder folder;
    Conditions conditions = recorded(folder);
    conditions.file_size_limit = 200;
    Outcome outcome = expect_transparent({victim("freed_input_shared")}, conditions);
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding 1"), 1u) << outcome.describe();
}

}  // namespace
}  // namespace keepgraph::preload_tests
