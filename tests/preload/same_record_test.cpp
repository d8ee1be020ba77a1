// SPDX-License-Identifier: Apache-2.0
// Case F1: one program built four ways gives one record, and each call of the program reaches the driver once.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

const std::vector<std::string> forms = {"shared", "static", "driver", "linked"};

/// What stderr says, without addresses, allocation numbers, threads and stacks.
std::string normalised_report(const Outcome& outcome) {
    std::string text;
    for (const std::string& line : keepgraph_lines(outcome.err)) {
        static const std::regex frame(R"(keepgraph: +#\d+ .*)");
        if (std::regex_match(line, frame))
            continue;
        std::string plain = std::regex_replace(line, std::regex("0x[0-9a-f]+"), "ADDRESS");
        plain = std::regex_replace(plain, std::regex("allocation #\\d+"), "allocation #N");
        plain = std::regex_replace(plain, std::regex("thread \\d+ \"[^\"]*\""), "thread T");
        // A static cudart and the driver alone have no runtime door to say what was above.
        plain = std::regex_replace(plain, std::regex(" in cuda[A-Z]\\w*(, thread T|$)"), "$1");
        text += plain + "\n";
    }
    return text;
}

class SameRecord : public testing::TestWithParam<const char*> {};

TEST_P(SameRecord, FourBuildsSayTheSame) {
    std::map<std::string, std::string> reports;
    for (const std::string& form : forms) {
        std::vector<std::string> args = program_line(GetParam());
        args[0] += "_" + form;
        Outcome outcome = run_on_double(args);
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        reports[form] = normalised_report(outcome);
        EXPECT_NE(reports[form].find("checked"), std::string::npos) << form << " has no last line";
    }
    for (const std::string& form : forms)
        EXPECT_EQ(reports[form], reports["shared"]) << form;
}

INSTANTIATE_TEST_SUITE_P(Programs, SameRecord,
                         testing::Values("healthy", "freed_input", "recycled", "memcpy_nodes", "memset_nodes", "pinned",
                                         "async_free", "dump_after_destroy", "memcpy_nodes by_hand",
                                         "memset_nodes by_hand", "dump_after_destroy by_hand"),
                         [](const auto& info) { return test_name(info.param); });

std::map<std::string, long> driver_calls(const std::vector<std::string>& args, bool with_shim) {
    TempFolder folder;
    Conditions conditions;
    conditions.with_shim = with_shim;
    conditions.env = {{"KEEPGRAPH_SIM_COUNTS", folder / "counts"}};
    Outcome outcome = run_on_double(args, conditions);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    std::map<std::string, long> counts;
    for (const std::string& line : split_lines(read_file(folder / "counts"))) {
        std::istringstream stream(line);
        std::string function;
        long count = 0;
        stream >> function >> count;
        counts[function] = count;
    }
    EXPECT_GT(counts.size(), 5u) << "the double counted nothing";
    return counts;
}

std::set<std::string> interposed() {
    std::set<std::string> names;
#define DRIVER(symbol, handler, need, parameters, arguments) names.insert(#symbol);
#define RUNTIME(symbol, handler, parameters, arguments)
#include "symbols.def"
#undef DRIVER
#undef RUNTIME
    return names;
}

std::set<std::string> own_calls() {
    std::set<std::string> names;
#define FUNCTION(symbol) names.insert(#symbol);
#include "functions.def"
#undef FUNCTION
    return names;
}

TEST(SameRecordCounts, EachCallReachesTheDriverOnceAndTheShimAddsGettersOnly) {
    for (const char* name : {"healthy", "freed_input", "recycled", "memcpy_nodes", "async_free"}) {
        const std::string program = name;
        for (const std::string& form : forms) {
            std::vector<std::string> args{victim(program + "_" + form)};
            auto bare = driver_calls(args, false);
            auto shimmed = driver_calls(args, true);
            for (const std::string& function : interposed()) {
                EXPECT_EQ(shimmed[function], bare[function]) << program << "_" << form << ": " << function;
            }
            EXPECT_GT(shimmed["cuGraphKernelNodeGetParams_v2"] + shimmed["cuGraphMemcpyNodeGetParams"],
                      bare["cuGraphKernelNodeGetParams_v2"] + bare["cuGraphMemcpyNodeGetParams"])
                << program << "_" << form << ": the shim looked at nothing";
            auto allowed = own_calls();
            for (const auto& [function, count] : shimmed) {
                if (count == bare[function])
                    continue;
                EXPECT_EQ(allowed.count(function), 1u) << program << "_" << form << ": " << function << " was called "
                                                       << count << " times, " << bare[function] << " without the shim";
            }
        }
    }
}

TEST(SameRecordCounts, LastLineCountsWhatTheDriverCounts) {
    for (const std::string& form : forms) {
        std::vector<std::string> args{victim("healthy_" + form)};
        auto counts = driver_calls(args, true);
        auto summary = summary_of(run_on_double(args));
        ASSERT_TRUE(summary);
        EXPECT_EQ(summary->replays, counts["cuGraphLaunch"] + counts["cuGraphLaunch_ptsz"]) << form;
    }
}

TEST(SameRecordCounts, LaunchWithNothingFreedMakesNoDriverCall) {
    // Law 5 as far as the driver sees it: 500 launches more, and not one getter more. counted_test sees every call,
    // where there is a valgrind.
    auto few = driver_calls({hostile("inputs"), "0", "rounds", "10"}, true);
    auto more = driver_calls({hostile("inputs"), "0", "rounds", "510"}, true);
    EXPECT_EQ(more["cuGraphLaunch"] - few["cuGraphLaunch"], 500);
    EXPECT_GT(few["cuPointerGetAttributes"] + few["cuPointerGetAttribute"], 0) << "the shim looked at nothing";
    for (const std::string& name : own_calls())
        EXPECT_EQ(more[name], few[name]) << name << " grows with the launches";
}

}  // namespace
}  // namespace keepgraph::preload_tests
