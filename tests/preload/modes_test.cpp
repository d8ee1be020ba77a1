// SPDX-License-Identifier: Apache-2.0
// Case F9: nothing that the shim does of its own accord may end a capture, whatever its mode.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

TEST(Modes, HundredKernelsInEachModeWithEverythingOn) {
    for (const char* program : {"modes_shared", "modes_driver"}) {
        TempFolder folder;
        Outcome outcome =
            expect_transparent({victim(program)}, everything_on(folder).with("KEEPGRAPH_ON_FINDING", "warn:possible"));
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        std::vector<std::string> lines = split_lines(outcome.out);
        EXPECT_EQ(count_lines_with(lines, "nodes 100"), 6u) << outcome.describe();
        EXPECT_EQ(count_lines_with(lines, "gpu::end_capture(stream, &graph): 0"), 6u) << outcome.describe();
        auto summary = summary_of(outcome);
        ASSERT_TRUE(summary) << outcome.describe();
        EXPECT_EQ(summary->graphs, 6);
        EXPECT_EQ(summary->findings, 0);
        EXPECT_GT(summary->inputs, 0);
    }
}

TEST(Modes, InstantiationDuringAnotherCaptureKeepsThatCapture) {
    TempFolder folder;
    Outcome outcome = expect_transparent({hostile("instantiate_in_capture")},
                                         everything_on(folder).with("KEEPGRAPH_ON_FINDING", "warn:possible"));
    // Relaxed is the mode in which the driver allows it: the shim reads the graph's nodes at that very moment.
    size_t relaxed = outcome.out.find("mode relaxed");
    ASSERT_NE(relaxed, std::string::npos) << outcome.describe();
    EXPECT_NE(outcome.out.find("cuGraphInstantiate 0", relaxed), std::string::npos) << outcome.describe();
    EXPECT_NE(outcome.out.find("other cuStreamEndCapture 0", relaxed), std::string::npos) << outcome.describe();
    EXPECT_NE(outcome.out.find("other nodes 1", relaxed), std::string::npos) << outcome.describe();
    EXPECT_EQ(summary_of(outcome).value_or(Summary{}).inputs, 2) << "the graph was not read: " << outcome.describe();
}

}  // namespace
}  // namespace keepgraph::preload_tests
