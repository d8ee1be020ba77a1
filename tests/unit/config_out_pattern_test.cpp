// SPDX-License-Identifier: Apache-2.0
// The folder pattern of OUT.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "config/out_pattern.h"

namespace keepgraph::config {
namespace {

OutContext context() {
    // 2026-01-31 12:34:56 UTC
    return OutContext{1769862896, "node7", 4711, "3"};
}

TEST(OutPatternTest, EachSequenceIsReplaced) {
    EXPECT_EQ(expand_out("a/%t-%h-%p-%r", context()), "a/20260131-123456-node7-4711-3");
    EXPECT_EQ(expand_out("%p%p", context()), "47114711");
    EXPECT_EQ(expand_out("", context()), "");
    EXPECT_EQ(expand_out("no sequence/..", context()), "no sequence/..");
}

TEST(OutPatternTest, TwoPercentSignsAreOneAndStandForNothingElse) {
    EXPECT_EQ(expand_out("%%", context()), "%");
    EXPECT_EQ(expand_out("%%p", context()), "%p");
    EXPECT_EQ(expand_out("%%%p", context()), "%4711");
}

TEST(OutPatternTest, UnknownSequencesStay) {
    EXPECT_EQ(expand_out("%q", context()), "%q");
    EXPECT_EQ(expand_out("50%", context()), "50%");
}

TEST(OutPatternTest, OnlyKnownSequencesAreValid) {
    for (const char* good : {"", "a", "/a/b", "%t", "%h", "%p", "%r", "%%", "a%%b%p/c", "%%%%"}) {
        EXPECT_TRUE(valid_out(good)) << good;
    }
    for (const char* bad : {"%", "a%", "%%%", "%q", "%T", "% p", "%/p", "%1p"}) {
        EXPECT_FALSE(valid_out(bad)) << bad;
    }
}

TEST(OutPatternTest, HostAndRankCannotLeadOutOfTheFolder) {
    OutContext odd = context();
    odd.host = "../../etc";
    odd.rank = "1/2\n";
    EXPECT_EQ(expand_out("out/%h-%r", odd), "out/.._.._etc-1_2_");
}

TEST(OutPatternTest, TimesThatNoCalendarHoldsDoNotCrash) {
    OutContext late = context();
    late.time = std::numeric_limits<std::time_t>::max();
    EXPECT_EQ(expand_out("%t", late), "0");
    late.time = 0;
    EXPECT_EQ(expand_out("%t", late), "19700101-000000");
}

TEST(OutPatternTest, ContextIsThatOfThisProcess) {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"}) {
        unsetenv(name);
    }
    const std::time_t before = std::time(nullptr);
    OutContext now = out_context();
    EXPECT_GE(now.time, before);
    EXPECT_EQ(now.pid, getpid());
    EXPECT_NE(now.host, "");
    EXPECT_EQ(now.rank, "0");
    // The launcher that is nearest to the program wins, and an empty variable is none.
    setenv("RANK", "7", 1);
    EXPECT_EQ(out_context().rank, "7");
    setenv("SLURM_PROCID", "6", 1);
    EXPECT_EQ(out_context().rank, "6");
    setenv("PMI_RANK", "", 1);
    EXPECT_EQ(out_context().rank, "6");
    setenv("OMPI_COMM_WORLD_RANK", "4", 1);
    EXPECT_EQ(out_context().rank, "4");
}

}  // namespace
}  // namespace keepgraph::config
