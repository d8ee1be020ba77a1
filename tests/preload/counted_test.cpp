// SPDX-License-Identifier: Apache-2.0
// Costs that are counted, never timed: what a launch calls when nothing was freed, and how the instructions of programs
// that change their graphs in a loop grow with the number of changes.
#include <gtest/gtest.h>

#include <set>

#include "harness/callgrind.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

constexpr const char* library = "libkeepgraph_preload.so";

struct Launches {
    const char* program;
    int threads;
    std::set<std::string> doors;  // functions of the real libraries that the shim must call for each launch
};
void PrintTo(const Launches& launches, std::ostream* stream) {
    *stream << launches.program << ", " << launches.threads << " threads";
}

class CountedLaunches : public testing::TestWithParam<Launches> {};

// Law 5. Every lock, allocation, getenv, clock, file or system call of the shim is a call that leaves its object: its
// own heap takes a pthread mutex, its own getters reach libcuda. So what may leave it is listed, and nothing else may.
TEST_P(CountedLaunches, CallNothingButTheRealLaunch) {
    constexpr long launches = 1000;
    const Launches& parameter = GetParam();
    const Profile counted = profile(
        {victim(parameter.program), std::to_string(parameter.threads), std::to_string(launches)}, {}, "launch_often");
    EXPECT_TRUE(counted.outcome.ended_with(0)) << counted.outcome.describe();
    EXPECT_EQ(counted.outcome.out, "failed: 0\n");
    EXPECT_EQ(summary_of(counted.outcome).value_or(Summary{}).replays, parameter.threads * (launches + 1));

    std::set<std::string> doors;
    for (const Call& call : counted.calls) {
        if (call.caller_object != library || call.callee_object == library)
            continue;
        EXPECT_EQ(parameter.doors.count(call.callee), 1u) << call.caller << " calls " << call.callee << " of "
                                                          << call.callee_object << ", " << call.count << " times";
        EXPECT_EQ(call.count, parameter.threads * (launches + 1)) << call.callee;
        doors.insert(call.callee);
    }
    EXPECT_EQ(doors, parameter.doors) << "the launches did not pass the shim";
}

TEST(CountedLaunchesOff, CallNothingElseEither) {
    // CHECK=off without a recording: nothing is watched, and a launch costs less than it does otherwise.
    const auto counted = [](const char* check) {
        return profile({victim("launches_linked"), "1", "1000"}, Conditions{}.with("KEEPGRAPH_CHECK", check),
                       "launch_often");
    };
    const Profile off = counted("off");
    EXPECT_EQ(off.outcome.out, "failed: 0\n") << off.outcome.describe();
    EXPECT_FALSE(summary_of(off.outcome)) << off.outcome.describe();
    long launches = 0;
    for (const Call& call : off.calls) {
        if (call.caller_object != library || call.callee_object == library)
            continue;
        EXPECT_EQ(call.callee, "cuGraphLaunch") << call.callee_object;
        launches += call.count;
    }
    EXPECT_EQ(launches, 1001);
    EXPECT_LT(off.instructions, counted("inputs").instructions);
}

INSTANTIATE_TEST_SUITE_P(All, CountedLaunches,
                         testing::Values(Launches{"launches_shared", 1, {"cudaGraphLaunch", "cuGraphLaunch"}},
                                         Launches{"launches_shared", 8, {"cudaGraphLaunch", "cuGraphLaunch"}},
                                         Launches{"launches_static", 8, {"cuGraphLaunch"}},
                                         Launches{"launches_driver", 8, {"cuGraphLaunch"}},
                                         Launches{"launches_linked", 1, {"cuGraphLaunch"}},
                                         Launches{"launches_linked", 8, {"cuGraphLaunch"}}),
                         [](const auto& info) {
                             return std::string(info.param.program) + "_" + std::to_string(info.param.threads);
                         });

TEST(CountedLaunchesControl, OtherCallsOfTheShimAreSeen) {
    // The same run as a whole: where graphs are read, the shim locks, allocates and asks the driver.
    const Profile counted = profile({victim("launches_linked"), "1", "10"});
    std::set<std::string> seen;
    for (const Call& call : counted.calls)
        if (call.caller_object == library && call.callee_object != library)
            seen.insert(call.callee.substr(0, call.callee.find('@')));
    for (const char* name : {"pthread_mutex_lock", "getenv", "mmap", "clock_gettime", "cuGraphGetNodes"})
        EXPECT_EQ(seen.count(name), 1u) << name;
}

class CountedChanges : public testing::TestWithParam<const char*> {};

TEST_P(CountedChanges, GrowWithTheirNumberOnly) {
    // Four times the changes cost four times as much, and sixteen times if each looked at those before it.
    const auto instructions = [](const char* rounds) {
        TempFolder folder;
        const Profile counted =
            profile({hostile("changes"), GetParam(), rounds}, Conditions{}.with("KEEPGRAPH_OUT", folder / "recording"));
        EXPECT_TRUE(counted.outcome.ended_with(0)) << counted.outcome.describe();
        EXPECT_EQ(summary_of(counted.outcome).value_or(Summary{}).findings, 0) << counted.outcome.describe();
        return counted.instructions;
    };
    const long none = instructions("0"), some = instructions("1000"), more = instructions("4000");
    EXPECT_GT(some - none, 1000 * 1000) << "nothing was changed";
    EXPECT_LT(more - none, 5 * (some - none)) << none << ", " << some << ", " << more;
}

INSTANTIATE_TEST_SUITE_P(All, CountedChanges, testing::Values("alternate", "renew", "replaced", "updates"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace keepgraph::preload_tests
