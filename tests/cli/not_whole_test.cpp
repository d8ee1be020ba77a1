// SPDX-License-Identifier: Apache-2.0
// keepgraph run --error-exitcode, when the recordings cannot say that there was no finding.
#include <signal.h>

#include "command.h"

namespace keepgraph::cli_tests {
namespace {

/// Below `limit` blocks of `ulimit -f`.
Outcome limited(const TempFolder& folder, const std::string& limit, const std::string& program,
                const std::string& redirection = "") {
    return by_shell(
        "ulimit -f " + limit + "; exec " + command_path() + " run --error-exitcode 9 -- " + program + redirection,
        folder.path());
}

TEST(NotWhole, ARecordingThatCannotBeMadeIsNoSuccess) {
    TempFolder folder;
    const Outcome outcome = limited(folder, "0", preload_tests::victim("freed_input_driver"));
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "keepgraph: finding 1: graph 1")) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "could not be made, or was removed\n")) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "findings may be missing: exit code 125\n")) << outcome.describe();
    // Nor is the command killed by its own message.
    const Outcome silent = limited(folder, "0", preload_tests::victim("freed_input_driver"), " 2>log");
    EXPECT_TRUE(silent.ended_with(125)) << silent.describe();
    // Without a graph there is no recording to make.
    const Outcome without = limited(folder, "0", fake_app() + " exit 0");
    EXPECT_TRUE(without.ended_with(0)) << without.describe();
    EXPECT_EQ(without.err, "");
}

TEST(NotWhole, TheReasonIsSaidAndSuccessIsRefused) {
    const std::map<std::string, std::string> reasons{{"no-summary", " has no summary: events were lost, or process "},
                                                     {"torn-finding", " has no summary: events were lost, or process "},
                                                     {"damaged", "/events.jsonl has 1 damaged line"},
                                                     {"not-made", " could not be made, or was removed"},
                                                     {"unreadable", "/events.jsonl cannot be read: "},
                                                     {"newer", "/manifest.json: schema is 99"}};
    for (const auto& [word, reason] : reasons) {
        TempFolder folder;
        const Outcome outcome = counted(folder, {word});
        EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "keepgraph: the program ended well, but findings may be missing"))
            << outcome.describe();
        EXPECT_EQ(preload_tests::count_lines_with(split_lines(outcome.err), reason), 1u) << outcome.describe();
        // What the program itself says goes first, and a finding before all.
        const Outcome failed = counted(folder, {word, "exit", "7"});
        EXPECT_TRUE(failed.ended_with(7)) << failed.describe();
        EXPECT_TRUE(contains(failed.err, reason)) << failed.describe();
        EXPECT_EQ(counted(folder, {word, "raise", "15"}).signal, SIGTERM);
        EXPECT_TRUE(counted(folder, {word, "fork", "finding"}).ended_with(99));
        // Of a process that the command did not start as well.
        EXPECT_TRUE(counted(folder, {"fork", word}).ended_with(125));
    }
}

TEST(NotWhole, ARecordingThatTheProgramRemovesIsMissed) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"finding", "remove-recording"}, {"finding", "remove-run"}, {"no-finding", "remove-recording"}}) {
        TempFolder folder;
        const Outcome outcome = counted(folder, words);
        EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "removed")) << outcome.describe();
    }
}

TEST(NotWhole, FindingsThatTheSummaryAloneTellsOfCount) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"lost-finding"});
    EXPECT_TRUE(outcome.ended_with(99)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "keepgraph: 1 finding in ")) << outcome.describe();
}

TEST(NotWhole, AProcessThatStillRunsNeedNotHaveEnded) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"leave-running", "exit", "0"});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(outcome.err, "");
}

TEST(NotWhole, ARunInsideARunIsNoRecordingThatCouldNotBeMade) {
    TempFolder folder;
    const auto nested = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", "--error-exitcode", "99", "--", command_path(), "run", "--error-exitcode",
                                     "98", "--", fake_app()});
        return keepgraph(words, {}, folder.path());
    };
    const Outcome without = nested({"exit", "0"});
    EXPECT_TRUE(without.ended_with(0)) << without.describe();
    EXPECT_EQ(without.err, "");
    EXPECT_TRUE(nested({"no-finding"}).ended_with(0));
    EXPECT_TRUE(nested({"finding"}).ended_with(99));
    EXPECT_TRUE(nested({"not-made"}).ended_with(125));
}

TEST(NotWhole, CoverageWithoutAGraphIsWhole) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"coverage"});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_TRUE(counted(folder, {"no-summary", "coverage"}).ended_with(125));
}

TEST(NotWhole, CheckOffIsWrongUsage) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"exit", "0"}, {}, {{"KEEPGRAPH_CHECK", "off"}});
    EXPECT_TRUE(outcome.ended_with(2)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "CHECK=off")) << outcome.describe();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace keepgraph::cli_tests
