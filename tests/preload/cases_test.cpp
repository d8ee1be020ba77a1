// SPDX-License-Identifier: Apache-2.0
// Cases A1, A4, A6, A7 and their kind: how many findings each program must get, and of what grade. Silence is checked
// as strictly as speech.
#include <gtest/gtest.h>

#include <csignal>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

struct Case {
    const char* command;
    const char* on_finding;
    long findings;
    const char* said;            // a part of a line that must be there, or null
    const char* not_shown = "";  // what the closing line says of findings below the grade
};
void PrintTo(const Case& value, std::ostream* stream) {
    *stream << value.command << ", " << value.on_finding;
}

class Cases : public testing::TestWithParam<Case> {};

TEST_P(Cases, HaveTheirFindings) {
    Outcome outcome = expect_transparent(program_line(GetParam().command),
                                         Conditions{}.with("KEEPGRAPH_ON_FINDING", GetParam().on_finding));
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->findings, GetParam().findings) << outcome.describe();
    EXPECT_EQ(summary->not_shown, GetParam().not_shown) << outcome.describe();
    EXPECT_GT(summary->inputs, 0) << "no finding because nothing was looked at";
    if (GetParam().said != nullptr) {
        EXPECT_GE(count_lines_with(keepgraph_lines(outcome.err), GetParam().said), 1u) << outcome.describe();
    }
}

const Case cases[] = {
    {"repointed", "warn", 1, "kernel kg_scale, parameter 0 +0"},
    {"repointed kept", "warn", 0, nullptr},
    {"weights i", "warn", 0, nullptr},
    {"weights ii", "warn", 1, "the address was given out again: to"},
    {"weights iii", "warn", 1, "which was freed ["},
    {"weights refresh", "warn", 0, nullptr},
    {"shared_workspace", "warn", 1, "finding 1: graph 1 is about to use"},  // graph a, although b's teardown freed it
    {"stream_reuse", "warn", 0, nullptr},
    {"memcpy_nodes_shared", "warn:certain", 2, "memcpy dst"},
    {"memcpy_nodes_shared by_hand", "warn:certain", 2, "memcpy src"},
    {"memset_nodes_shared", "warn:certain", 1, "memset dst"},
    {"memset_nodes_driver by_hand", "warn:certain", 1, "memset dst"},
    {"pinned_shared", "warn:certain", 1, "pinned memory"},
    {"pinned_shared freed", "warn:certain", 1, "freed by cuMemFreeHost"},
    {"async_free_shared", "warn", 1, "freed by cuMemFreeAsync"},
    {"vmm", "warn", 1, "freed by cuMemUnmap"},
    {"exec_update", "warn", 1, nullptr},
    {"exec_update set_params", "warn", 1, nullptr},
    {"integer_arg", "warn", 0, nullptr, "1 possible"},
    {"integer_arg", "warn:possible", 1, "possible"},
    {"integer_arg alone", "warn", 1, nullptr},
    {"end_pointer", "warn", 0, nullptr, "1 possible"},
    {"end_pointer", "warn:possible", 1, "possible"},
    // Doubt of an argument is about plain numbers, not about memory that is gone or not there yet.
    {"doubt nothing", "warn", 1, "parameter 0 +0"},
    {"doubt died", "warn", 1, "graph 2 is about to use"},
    {"doubt early", "warn", 1, "graph 3 is about to use"},
    {"doubt number", "warn", 0, nullptr, "1 possible"},
    {"doubt number", "warn:possible", 1, "parameter 0 +0"},
    {"launch_forms", "warn", 6, "kernel kg_copy_struct"},
    {"many_graphs", "warn", 1, nullptr},
    {"many_graphs inputs", "warn", 8, "and 3 more"},
    {"dump_after_destroy_shared", "warn", 0, nullptr},
    {"healthy_shared", "warn:possible", 0, nullptr},
    {"freed_input_shared", "warn:likely", 1, nullptr},
    {"freed_input_shared", "warn:possible", 1, nullptr},
    {"freed_input_shared", "warn:certain", 0, nullptr, "1 likely"},
};
INSTANTIATE_TEST_SUITE_P(All, Cases, testing::ValuesIn(cases), [](const auto& info) {
    return test_name(std::string(info.param.command) + "_" + info.param.on_finding);
});

TEST(CasesReport, OneFindingPerExecAndAllocation) {
    Outcome once = run_on_double({hostile("inputs"), "3"});
    Outcome twice = run_on_double({hostile("inputs"), "3", "again"});
    EXPECT_EQ(summary_of(once).value_or(Summary{}).findings, 3) << once.describe();
    EXPECT_EQ(summary_of(twice).value_or(Summary{}).findings, 6) << twice.describe();
    EXPECT_EQ(summary_of(twice).value_or(Summary{}).graphs, 2) << twice.describe();
}

TEST(CasesReport, FirstFiveAreShownAndTheRestCounted) {
    Outcome outcome = run_on_double({hostile("inputs"), "12"});
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding "), 5u) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "and 7 more"), 1u) << outcome.describe();
    EXPECT_EQ(summary_of(outcome).value_or(Summary{}).findings, 12) << outcome.describe();
}

TEST(CasesReport, DoubtThatHidesATrueFindingIsCounted) {
    // The output begins where the input ends, so its address may be an `end`.
    TempFolder folder;
    const Conditions conditions = Conditions{}.with("KEEPGRAPH_OUT", folder / "default");
    const Outcome outcome = run_on_double({hostile("inputs"), "1", "output"}, conditions);
    const Summary summary = summary_of(outcome).value_or(Summary{});
    EXPECT_EQ(summary.findings, 0) << outcome.describe();
    EXPECT_EQ(summary.not_shown, "1 possible") << "once, although the graph was launched twice: " << outcome.describe();
    EXPECT_EQ(summary.shown_by, "KEEPGRAPH_ON_FINDING=warn:possible");
    EXPECT_EQ(summary.rest, folder / "default");
    const Recording recording = Recording::read(folder / "default");
    EXPECT_EQ(recording.of_type("summary").at(0).at("not_shown"), (Json{{"possible", 1}}));
    const std::vector<std::string> show = shown(folder / "default");
    EXPECT_EQ(count_lines_with(show, "0 opaque; 0 findings, 1 possible not shown"), 1u) << testing::PrintToString(show);
    EXPECT_EQ(count_lines_with(show, "(KEEPGRAPH_ON_FINDING=warn:possible)"), 1u) << testing::PrintToString(show);

    // The advice holds, and then nothing is kept back.
    const Outcome advised =
        run_on_double({hostile("inputs"), "1", "output"}, Conditions{}.with("KEEPGRAPH_ON_FINDING", "warn:possible"));
    EXPECT_EQ(summary_of(advised).value_or(Summary{}).findings, 1) << advised.describe();
    EXPECT_EQ(summary_of(advised).value_or(Summary{}).not_shown, "") << advised.describe();

    const Outcome mixed =
        run_on_double({hostile("inputs"), "1", "both"}, Conditions{}.with("KEEPGRAPH_ON_FINDING", "warn:certain"));
    EXPECT_EQ(summary_of(mixed).value_or(Summary{}).not_shown, "1 likely and 1 possible") << mixed.describe();
}

TEST(CasesReport, SilentProgramSaysThatItLooked) {
    Outcome outcome = run_on_double({hostile("inputs"), "0"});
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->findings, 0);
    EXPECT_EQ(summary->inputs, 2);
    EXPECT_EQ(keepgraph_lines(outcome.err).size(), 1u) << outcome.describe();
}

TEST(CasesReport, RefusedLaunchNeverReachesTheDriver) {
    TempFolder folder;
    Conditions conditions;
    conditions.env = {{"KEEPGRAPH_ON_FINDING", "refuse"}, {"KEEPGRAPH_SIM_COUNTS", folder / "counts"}};
    Outcome outcome = run_on_double({victim("freed_input_driver")}, conditions);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "launch 401"), 2u) << outcome.describe();
    // One launch was good; the two after the free were refused.
    EXPECT_EQ(count_lines_with(split_lines(read_file(folder / "counts")), "cuGraphLaunch 1"), 1u)
        << read_file(folder / "counts");
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "[refuse]"), 1u) << outcome.describe();
}

TEST(CasesReport, RefuseBelowItsThresholdLetsTheLaunchThrough) {
    Outcome outcome =
        run_on_double({victim("freed_input_driver")}, Conditions{}.with("KEEPGRAPH_ON_FINDING", "refuse:certain"));
    EXPECT_EQ(outcome.out, run_on_double({victim("freed_input_driver")}, Conditions{}.bare()).out);
}

TEST(CasesReport, FindingIsOutBeforeTheLaunchReachesTheDriver) {
    // The launch after the free loses the process: the double is told to fail it, and abort comes before it returns.
    Outcome outcome = run_on_double({victim("freed_input_driver")}, Conditions{}.with("KEEPGRAPH_ON_FINDING", "abort"));
    EXPECT_EQ(outcome.signal, SIGABRT) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding 1"), 1u) << outcome.describe();
    EXPECT_EQ(outcome.out.find("after the free: launch"), std::string::npos) << "the launch was made";
}

TEST(CasesReport, CheckOffIsSilent) {
    Outcome outcome = expect_transparent({victim("freed_input_shared")}, Conditions{}.with("KEEPGRAPH_CHECK", "off"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding"), 0u) << outcome.describe();
}

TEST(CasesReport, InjectedFailuresArePassedOn) {
    // A call that fails in the driver changes nothing: no death, no birth, no graph.
    struct Injected {
        const char* fail;
        long findings;
        long graphs;
    };
    for (const Injected& injected : {Injected{"cuMemFree_v2:1=1", 0, 1}, Injected{"cuGraphLaunch:1=1", 1, 1}}) {
        Conditions conditions;
        conditions.env = {{"KEEPGRAPH_SIM_FAIL", injected.fail}};
        Outcome outcome = expect_transparent({victim("exits_driver"), "return"}, conditions);
        auto summary = summary_of(outcome);
        ASSERT_TRUE(summary) << injected.fail << ": " << outcome.describe();
        EXPECT_EQ(summary->findings, injected.findings) << injected.fail << ": " << outcome.describe();
        EXPECT_EQ(summary->graphs, injected.graphs) << injected.fail;
    }
    Conditions conditions;
    conditions.env = {{"KEEPGRAPH_SIM_FAIL", "cuGraphInstantiateWithFlags:1=2"}};
    Outcome outcome = expect_transparent({victim("exits_driver"), "return"}, conditions);
    EXPECT_TRUE(outcome.ended_with(3)) << outcome.describe();
    EXPECT_FALSE(summary_of(outcome)) << "no graph was made, so there is nothing to sum up: " << outcome.describe();
}

// How often the program, run so, makes cuPointerGetAttribute called. The last one of `exits return` asks whether the
// input is gone: its launches ask nothing.
long attribute_calls() {
    TempFolder folder;
    const Outcome outcome =
        run_on_double({victim("exits_driver"), "return"}, Conditions{}.with("KEEPGRAPH_SIM_COUNTS", folder / "counts"));
    for (const std::string& line : split_lines(read_file(folder / "counts")))
        if (line.rfind("cuPointerGetAttribute ", 0) == 0)
            return std::stol(line.substr(line.find(' ')));
    ADD_FAILURE() << outcome.describe();
    return 0;
}

TEST(CasesReport, DriverThatFailsToAnswerMakesNoDeath) {
    struct Answer {
        int code;
        long findings;
    };
    const std::string last = "cuPointerGetAttribute:" + std::to_string(attribute_calls()) + "=";
    // Not initialised, deinitialised, no valid context, a lost context, anything else; and last what is a death.
    for (const Answer& answer :
         {Answer{3, 0}, Answer{4, 0}, Answer{201, 0}, Answer{700, 0}, Answer{999, 0}, Answer{1, 1}}) {
        TempFolder folder;
        const Outcome outcome = expect_transparent({victim("exits_driver"), "return"},
                                                   Conditions{}
                                                       .with("KEEPGRAPH_SIM_FAIL", last + std::to_string(answer.code))
                                                       .with("KEEPGRAPH_OUT", folder / "out"));
        const Summary summary = summary_of(outcome).value_or(Summary{});
        EXPECT_EQ(summary.findings, answer.findings) << answer.code << ": " << outcome.describe();
        EXPECT_EQ(summary.inputs, 2) << "the call that was meant is not the one that failed: " << outcome.describe();
        const std::size_t unanswered = answer.code == 1 ? 0 : 1;
        EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "the driver does not say whether memory"), unanswered)
            << answer.code << ": " << outcome.describe();
        const Recording recording = Recording::read(folder / "out");
        EXPECT_EQ(recording.of_type("notice").size(), unanswered) << answer.code;
        EXPECT_EQ(recording.of_type("death").size(), static_cast<std::size_t>(answer.findings)) << answer.code;
    }
}

}  // namespace
}  // namespace keepgraph::preload_tests
