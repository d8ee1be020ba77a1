// SPDX-License-Identifier: Apache-2.0
// The host's address space is used up (RLIMIT_AS): the shim gets no memory, and says so; the host ends as it does
// without us.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

class NoMemory : public testing::TestWithParam<const char*> {
  protected:
    static void expect_same_end(const Conditions& conditions, const std::string& room) {
        const Outcome outcome = expect_transparent({hostile("no_address_space"), GetParam(), room}, conditions);
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        const auto lines = keepgraph_lines(outcome.err);
        const std::size_t told = count_lines_with(lines, "keepgraph: out of memory in ");
        EXPECT_LE(told, 1u) << outcome.describe();
        EXPECT_NE(told > 0, summary_of(outcome).has_value()) << "says neither or both: " << outcome.describe();
    }
};

TEST_P(NoMemory, TheHostGoesOn) {
    for (const char* room : {"0", "64", "256", "320", "600", "1100", "4000"}) {
        SCOPED_TRACE(room);
        expect_same_end({}, room);
    }
}

TEST_P(NoMemory, TheHostGoesOnWithARecording) {
    for (const char* room : {"0", "320", "1100"}) {
        SCOPED_TRACE(room);
        TempFolder folder;
        expect_same_end(recorded(folder).with("KEEPGRAPH_STACKS", "all"), room);
    }
}

INSTANTIATE_TEST_SUITE_P(From, NoMemory,
                         testing::Values("capture", "end", "instantiate", "free", "launch", "destroy", "threads"),
                         [](const auto& info) { return std::string(info.param); });

TEST(NoMemoryLine, SaysThatNothingIsCheckedAnyMore) {
    const Outcome outcome = run_on_double({hostile("no_address_space"), "capture", "0"});
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), ": nothing is checked from here on"), 1u)
        << outcome.describe();
}

}  // namespace
}  // namespace keepgraph::preload_tests
