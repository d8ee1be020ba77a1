// SPDX-License-Identifier: Apache-2.0
// Programs close their stderr, and its number goes to the next file or socket that they open: their data. Others give
// it to a log: there keepgraph's lines belong.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

struct Case {
    const char* how;
    const char* data;  // of the program, in its file
    bool said;         // the finding is there too
};

class MovedStderr : public testing::TestWithParam<Case> {};

TEST_P(MovedStderr, LinesGoToAStderrAndNowhereElse) {
    const auto [how, data, said] = GetParam();
    TempFolder folder;
    const std::string file = folder / "file";
    const std::vector<std::string> command = {hostile("moves_stderr"), how, file};
    const Outcome bare = run_on_double(command, Conditions{}.bare());
    EXPECT_TRUE(bare.ended_with(0)) << bare.describe();
    EXPECT_EQ(bare.out + bare.err, "");
    EXPECT_EQ(read_file(file), data);
    std::remove(file.c_str());

    const Outcome shimmed = run_on_double(command);
    EXPECT_TRUE(shimmed.ended_with(0)) << shimmed.describe();
    EXPECT_EQ(shimmed.out + foreign_lines(shimmed.err), "");
    EXPECT_EQ(foreign_lines(read_file(file)), data) << read_file(file);
    const auto lines = keepgraph_lines(read_file(file));
    EXPECT_EQ(count_lines_with(lines, "keepgraph: finding 1: "), said ? 1u : 0u) << read_file(file);
    EXPECT_EQ(lines.size() > 1, said);
}

INSTANTIATE_TEST_SUITE_P(Data, MovedStderr,
                         testing::Values(Case{"open_before", "DATA\n", false}, Case{"open", "DATA\n", false},
                                         Case{"append_and_read", "DATA\n", false},
                                         Case{"append_cloexec", "DATA\n", false}, Case{"socketpair", "DATA\n", false},
                                         Case{"pipe", "DATA\n", false}),
                         [](const auto& info) { return std::string(info.param.how); });

INSTANTIATE_TEST_SUITE_P(Log, MovedStderr,
                         testing::Values(Case{"dup2_append", "", true}, Case{"freopen_append", "", true},
                                         Case{"dup2_both", "", true}),
                         [](const auto& info) { return std::string(info.param.how); });

TEST(MovedStderrBack, OneThatComesBackIsUsedAgain) {
    TempFolder folder;
    const std::string file = folder / "file";
    const Outcome outcome = expect_transparent({hostile("moves_stderr"), "back", file});
    EXPECT_EQ(read_file(file), "DATA\n");
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding 1: "), 1u) << outcome.describe();
}

TEST(MovedStderrBack, AProcessThatWasStartedWithoutOneSaysNothing) {
    TempFolder folder;
    const std::string file = folder / "file";
    // The shell has no descriptor 2 to give, and the program's file gets the number.
    const Outcome outcome =
        expect_transparent({"/bin/sh", "-c", "exec 2>&-; exec \"$0\" open \"$1\"", hostile("moves_stderr"), file});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(read_file(file), "DATA\n");
}

// A blocking pipe that is full, and whose reader, who is there, does not read.
TEST(MovedStderrStuck, OneThatNobodyReadsDoesNotHoldTheProgramUp) {
    constexpr const char* with_full_stderr =
        "import os, sys\n"
        "reader, writer = os.pipe()\n"
        "os.set_inheritable(reader, True)\n"
        "os.set_blocking(writer, False)\n"
        "while True:\n"
        "    try:\n"
        "        os.write(writer, b'.')\n"
        "    except BlockingIOError:\n"
        "        break\n"
        "os.set_blocking(writer, True)\n"
        "os.dup2(writer, 2)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n";
    TempFolder folder;
    const Outcome outcome = run_on_double(
        {"/usr/bin/python3", "-c", with_full_stderr, hostile("changes"), "loop", "200"}, recorded(folder, "findings"));
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "at the end 0"), 1u) << outcome.describe();
    const Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), 200u) << "what was not said is recorded";
    EXPECT_EQ(recording.of_type("summary").size(), 1u);
}

}  // namespace
}  // namespace keepgraph::preload_tests
