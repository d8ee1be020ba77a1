// SPDX-License-Identifier: Apache-2.0
// keepgraph run --error-exitcode. fake_app writes the recordings that the shim would.
#include <signal.h>

#include "command.h"

namespace keepgraph::cli_tests {
namespace {

std::size_t recordings_below(const std::string& folder) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        count += entry.path().filename() == "events.jsonl";
    }
    return count;
}

TEST(ErrorExitcode, TheProgramsOwnCodeWithoutFindings) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"exit", "7"});
    EXPECT_TRUE(outcome.ended_with(7)) << outcome.describe();
    EXPECT_EQ(outcome.err, "");
    // No process had a graph: nothing stays but the folder for all runs.
    EXPECT_TRUE(std::filesystem::is_empty(folder / "keepgraph-out"));
    EXPECT_TRUE(counted(folder, {"no-finding", "exit", "8"}).ended_with(8));
    EXPECT_EQ(recordings_below(folder.path()), 1u);
}

TEST(ErrorExitcode, NWithFindingsHoweverTheProgramEnds) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"finding"},
                                               {"finding", "exit", "3"},
                                               {"finding", "raise", "9"},
                                               {"fork", "finding"},
                                               {"fork", "fork", "finding", "exit", "1"}}) {
        TempFolder folder;
        const Outcome outcome = counted(folder, words);
        EXPECT_TRUE(outcome.ended_with(99)) << outcome.describe();
        EXPECT_TRUE(
            preload_tests::count_lines_with(split_lines(outcome.err), "keepgraph: 2 findings in " + folder.path()) == 1)
            << outcome.describe();
        EXPECT_EQ(recordings_below(folder / "keepgraph-out"), 1u);
    }
}

TEST(ErrorExitcode, EveryProcessHasARecordingInTheRunsFolder) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"finding", "fork", "finding"}, {"--out", "runs/one"});
    EXPECT_TRUE(outcome.ended_with(99)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "keepgraph: 4 findings in " + folder.path() + "/runs/one:"))
        << outcome.describe();
    EXPECT_EQ(recordings_below(folder / "runs/one"), 2u);
}

TEST(ErrorExitcode, RecordingsOfOtherRunsDoNotCount) {
    TempFolder folder;
    EXPECT_TRUE(counted(folder, {"finding"}, {"--out", "rec"}).ended_with(99));
    const Outcome second = counted(folder, {"no-finding", "exit", "4"}, {"--out", "rec"});
    EXPECT_TRUE(second.ended_with(4)) << second.describe();
    EXPECT_EQ(recordings_below(folder / "rec"), 1u);
    EXPECT_EQ(recordings_below(folder / "rec-1"), 1u);
    // Another run writes to the same OUT while this one lasts.
    const Outcome outer = keepgraph({"run", "--error-exitcode", "99", "--out", "rec", "--", command_path(), "run",
                                     "--out", folder / "rec/%p", "--", fake_app(), "finding", "exit", "5"},
                                    {}, folder.path());
    EXPECT_TRUE(outer.ended_with(5)) << outer.describe();
    EXPECT_EQ(recordings_below(folder / "rec"), 2u);
}

TEST(ErrorExitcode, LineThatWasCutShortDoesNotCount) {
    TempFolder folder;
    EXPECT_TRUE(counted(folder, {"torn-finding", "exit", "6"}).ended_with(6));
}

TEST(ErrorExitcode, WorksWithOutSwitchedOff) {
    TempFolder folder;
    const Outcome outcome = keepgraph({"run", "--error-exitcode", "99", "--out", "", "--", fake_app(), "finding"},
                                      {{"TMPDIR", folder.path()}}, folder.path());
    EXPECT_TRUE(outcome.ended_with(99)) << outcome.describe();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ErrorExitcode, TemporaryFolderIsMeantWhereTheCommandWasTyped) {
    TempFolder folder;
    const Outcome outcome =
        keepgraph({"run", "--error-exitcode", "99", "--out", "", "--", fake_app(), "chdir", "/dev", "finding"},
                  {{"TMPDIR", "."}}, folder.path());
    EXPECT_TRUE(outcome.ended_with(99)) << outcome.describe();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ErrorExitcode, ProgramThatCannotBeStartedIsSaid) {
    TempFolder folder;
    const Environment no_fork{{"LD_PRELOAD", program("libfake_fork.so")}};
    const Outcome outcome = keepgraph({"run", "--error-exitcode", "99", "--", fake_app()}, no_fork, folder.path());
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "keepgraph: cannot start the program: Resource temporarily unavailable"))
        << outcome.describe();
    EXPECT_TRUE(std::filesystem::is_empty(folder / "keepgraph-out"));
    const Outcome coverage = keepgraph({"doctor", "--coverage", fake_app()}, no_fork);
    EXPECT_TRUE(coverage.ended_with(125)) << coverage.describe();
}

TEST(ErrorExitcode, ShowFindsTheRecordingsOfTheRun) {
    TempFolder folder;
    const Environment on_double{{"LD_LIBRARY_PATH", preload_tests::double_folder()}};
    const std::string victim = preload_tests::victim("freed_input_driver");
    const Outcome counted_run = keepgraph({"run", "--error-exitcode", "9", "--", victim}, on_double, folder.path());
    EXPECT_TRUE(counted_run.ended_with(9)) << counted_run.describe();
    const Outcome only = keepgraph({"show", folder / "keepgraph-out"});
    EXPECT_TRUE(contains(only.out, "finding 1: graph 1 was about to use")) << only.describe();

    const Outcome plain = keepgraph({"run", "--", victim}, on_double, folder.path());
    EXPECT_TRUE(contains(plain.err, "finding 1")) << plain.describe();
    const Outcome both = keepgraph({"show", folder / "keepgraph-out"});
    EXPECT_TRUE(contains(both.out, "2 recordings in ")) << both.describe();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "keepgraph-out")) {
        if (entry.path().filename() == "events.jsonl") {
            const auto below = entry.path().parent_path().lexically_relative(folder / "keepgraph-out");
            EXPECT_TRUE(contains(both.out, " " + below.native() + " ")) << both.describe();
        }
    }
}

TEST(ErrorExitcode, FolderThatCannotBeMadeIsSaid) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"exit", "0"}, {"--out", "/dev/null/rec"});
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_EQ(outcome.err,
              "keepgraph: --error-exitcode needs a recording: KEEPGRAPH_OUT=/dev/null/rec: cannot make the folder "
              "/dev/null/rec: Not a directory\n");
    // Without OUT it goes to a temporary folder.
    const Outcome temporary = keepgraph({"run", "--out", "", "--error-exitcode", "9", "--", fake_app(), "exit", "0"},
                                        {{"TMPDIR", "/no/such"}});
    EXPECT_TRUE(temporary.ended_with(125)) << temporary.describe();
    EXPECT_EQ(temporary.err,
              "keepgraph: --error-exitcode needs a recording: TMPDIR=/no/such cannot hold a temporary folder: No such "
              "file or directory\n");
    const Outcome bad = keepgraph({"run", "--error-exitcode", "9", "--", fake_app()}, {{"KEEPGRAPH_OUT", "x%q"}});
    EXPECT_TRUE(bad.ended_with(2)) << bad.describe();
}

TEST(ErrorExitcode, PercentSignsAndChdirKeepThePlace) {
    TempFolder folder;
    std::filesystem::create_directory(folder / "5%p");
    const Outcome outcome =
        keepgraph({"run", "--error-exitcode", "99", "--out", "rec", "--", fake_app(), "chdir", "/", "finding"}, {},
                  folder / "5%p");
    EXPECT_TRUE(outcome.ended_with(99)) << outcome.describe();
    EXPECT_EQ(recordings_below(folder / "5%p/rec"), 1u);
}

TEST(ErrorExitcode, DeathBySignalIsPassedOn) {
    for (const int number : {SIGTERM, SIGSEGV, SIGKILL, SIGABRT, SIGINT}) {
        TempFolder folder;
        const Outcome outcome = counted(folder, {"raise", std::to_string(number)});
        EXPECT_EQ(outcome.signal, number) << outcome.describe();
    }
}

TEST(ErrorExitcode, SignalsReachTheProgram) {
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT}) {
        TempFolder folder;
        const Outcome outcome = counted(folder, {"signal-parent", std::to_string(number), "exit", "42"});
        EXPECT_TRUE(outcome.ended_with(42)) << number << ": " << outcome.describe();
        EXPECT_EQ(outcome.out, "got " + std::to_string(number) + "\n");
    }
}

TEST(ErrorExitcode, CommandAndProgramStopAndGoOnTogether) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"stop-parent", "exit", "42"});
    EXPECT_TRUE(outcome.ended_with(42)) << outcome.describe();
    EXPECT_EQ(outcome.out, "program T, command T\n");
}

TEST(ErrorExitcode, ProgramThatHandlesAStopGoesOnAndTheCommandWithIt) {
    TempFolder folder;
    const Outcome outcome = counted(folder, {"signal-parent", std::to_string(SIGTSTP), "exit", "42"});
    EXPECT_TRUE(outcome.ended_with(42)) << outcome.describe();
    EXPECT_EQ(outcome.out, "got " + std::to_string(SIGTSTP) + "\n");
}

TEST(ErrorExitcode, ProgramStartsWithACleanMaskAndDiesWithTheCommand) {
    TempFolder folder;
    EXPECT_EQ(counted(folder, {"mask"}).out, "0 blocked, SIGCHLD default\n");
    EXPECT_EQ(counted(folder, {"death-signal"}).out, std::to_string(SIGKILL) + "\n");
    // A caller that ignores SIGCHLD keeps the program's state from being lost, and the program inherits it.
    preload_tests::Command command;
    command.args = {"/usr/bin/env",
                    "--ignore-signal=CHLD",
                    command_path(),
                    "run",
                    "--error-exitcode",
                    "99",
                    "--out",
                    "",
                    "--",
                    fake_app(),
                    "mask",
                    "exit",
                    "13"};
    const Outcome ignored = preload_tests::run(command);
    EXPECT_TRUE(ignored.ended_with(13)) << ignored.describe();
    EXPECT_EQ(ignored.out, "0 blocked, SIGCHLD ignored\n");
}

TEST(ErrorExitcode, RefusalsAndRangeAreTheSame) {
    EXPECT_TRUE(keepgraph({"run", "--error-exitcode", "9", "--", "/no/such"}).ended_with(127));
    EXPECT_TRUE(keepgraph({"run", "--error-exitcode", "9", "--", program("static_app")}).ended_with(125));
    for (const char* bad : {"0", "256", "-1", "x"}) {
        const Outcome outcome = keepgraph({"run", "--error-exitcode", bad, "--", fake_app()});
        EXPECT_TRUE(outcome.ended_with(2)) << bad << ": " << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "--error-exitcode")) << outcome.describe();
    }
}

}  // namespace
}  // namespace keepgraph::cli_tests
