// SPDX-License-Identifier: Apache-2.0
// Cases F2 and F6: what programs get from dlsym, dlvsym and cuGetProcAddress, and what they do not.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

TEST(Lookup, EveryNameVersionAndFlagAnswersAsBare) {
    // Names x versions x flags through both cuGetProcAddress forms and cudaGetDriverEntryPoint(ByVersion): codes,
    // statuses, null out-parameters, then calls through what came back.
    Outcome outcome = expect_transparent({victim("entry_points")});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_GT(split_lines(outcome.out).size(), 100u) << "the program compared too little";
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->graphs, 2) << "the pointers that were handed out are wrapped";
    EXPECT_EQ(summary->replays, 2);
}

TEST(Lookup, ScopesOfDlsymAreTheCallers) {
    // RTLD_NEXT, RTLD_DEFAULT, handles, dlvsym, and the text of dlerror after each.
    Outcome outcome = expect_transparent({victim("dlsym_probe"), build_folder() + "/tests/programs"});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_FALSE(outcome.out.empty());
}

TEST(Lookup, DriverFunctionsByEveryHandle) {
    Outcome outcome = expect_transparent({victim("entry_dlsym")});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
}

TEST(Lookup, HiddenEntryPointsStayHidden) {
    // A driver that does not know a function says so through the shim, with the same status.
    Conditions conditions;
    conditions.env = {{"KEEPGRAPH_SIM_HIDE", "cuGraphInstantiateWithParams,cuMemAllocAsync,cuGraphAddNode_v2"}};
    Outcome hidden = expect_transparent({victim("entry_points")}, conditions);
    Outcome complete = run_on_double({victim("entry_points")});
    EXPECT_NE(hidden.out, complete.out) << "hiding had no effect, so the test shows nothing";
}

TEST(Lookup, EightThreadsAtOnce) {
    for (const char* program : {"threads8_shared", "threads8_static", "threads8_driver"}) {
        Outcome outcome = expect_transparent({victim(program)});
        auto summary = summary_of(outcome);
        ASSERT_TRUE(summary) << program << ": " << outcome.describe();
        EXPECT_EQ(summary->graphs, 8) << program;
        EXPECT_EQ(summary->replays, 801) << program;
        EXPECT_EQ(summary->findings, 1) << program;
    }
}

TEST(Lookup, ShimInAnOddFolder) {
    TempFolder folder;
    std::string odd = folder / "lib\xc3\xa4 'x' $y";
    // LD_PRELOAD is split at blanks and colons, so the odd name is the folder's, reached by a link without any.
    std::filesystem::create_directory(odd);
    std::filesystem::copy_file(shim(), odd + "/libkeepgraph_preload.so");
    std::filesystem::create_directory_symlink(odd, folder / "odd");
    Conditions conditions = Conditions{}.bare();
    conditions.preload_before = {folder / "odd/libkeepgraph_preload.so"};
    Outcome outcome = run_on_double({victim("freed_input_shared")}, conditions);
    EXPECT_EQ(outcome.out, run_on_double({victim("freed_input_shared")}, Conditions{}.bare()).out);
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->findings, 1);
}

TEST(Lookup, ShimNamedTwiceActsOnce) {
    Conditions conditions;
    conditions.preload_after = {shim()};
    Outcome bare = run_on_double({victim("freed_input_linked")}, Conditions{}.bare());
    Outcome twice = run_on_double({victim("freed_input_linked")}, conditions);
    EXPECT_EQ(twice.out, bare.out) << twice.describe();
    EXPECT_EQ(twice.exit_code, bare.exit_code) << twice.describe();
    auto summary = summary_of(twice);
    ASSERT_TRUE(summary) << twice.describe();
    EXPECT_EQ(summary->replays, 3);
    EXPECT_EQ(summary->findings, 1);
}

}  // namespace
}  // namespace keepgraph::preload_tests
