// SPDX-License-Identifier: Apache-2.0
// Graphs that are read again after something of theirs died, races between a free and a graph being read, code that
// goes with its context, and programs that change their graphs very often.
#include <gtest/gtest.h>

#include <cstdio>

#include "harness/on_double.h"
#include "harness/recording.h"
#include "harness/syscalls.h"

namespace keepgraph::preload_tests {
namespace {

class ChangesOfDeadMemory : public testing::TestWithParam<const char*> {};

TEST_P(ChangesOfDeadMemory, AreFoundAtTheNextLaunch) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("changes"), GetParam()}, recorded(folder, "findings"));
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
    ASSERT_EQ(findings.size(), 1u) << outcome.describe();
    const std::string way = GetParam();
    const bool recycled = way.ends_with("_recycled");
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "the address came back: 1"), recycled ? 1u : 0u);
    EXPECT_EQ(findings[0].at("kind"), recycled ? "recycled" : "freed");
    EXPECT_EQ(findings[0].at("death").at("call"), "cuMemFree_v2") << "the free is known, although it came before";
    ASSERT_EQ(findings[0].at("references").size(), 1u);
    EXPECT_EQ(findings[0].at("references")[0].at("slot"), "parameter 0 +0");
    EXPECT_EQ(findings[0].at("graph"), way.starts_with("again") ? 2 : 1);
}
INSTANTIATE_TEST_SUITE_P(All, ChangesOfDeadMemory,
                         testing::Values("again", "update", "set", "again_recycled", "update_recycled", "set_recycled"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ChangesOfDeadHostMemory, ThatStaysReadableArePossible) {
    const Outcome silent = expect_transparent({hostile("changes"), "set_host"});
    const Summary summary = summary_or_fail(silent);
    EXPECT_EQ(summary.findings, 0) << silent.describe();
    EXPECT_EQ(summary.not_shown, "1 possible") << "it may be pageable memory by now, and is not passed over";
    TempFolder folder;
    const Outcome outcome = expect_transparent(
        {hostile("changes"), "set_host"}, recorded(folder, "findings").with("KEEPGRAPH_ON_FINDING", "warn:possible"));
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].at("grade"), "possible");
    EXPECT_EQ(findings[0].at("death").at("call"), "cuMemFreeHost");
    EXPECT_EQ(findings[0].at("references")[0].at("slot"), "src");
}

class ChangesInAnotherOrder : public testing::TestWithParam<const char*> {};

TEST_P(ChangesInAnotherOrder, HandlesOfTheFirstTemplateNameTheirNodes) {
    const std::string kind = GetParam();
    for (const bool used : {false, true}) {
        TempFolder folder;
        const Outcome outcome =
            expect_transparent({hostile("reordered"), kind, used ? "used" : "unused"}, recorded(folder, "findings"));
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        const Summary summary = summary_or_fail(outcome);
        EXPECT_EQ(summary.replays, 2) << outcome.describe();
        EXPECT_EQ(summary.opaque, 0);
        const Recording recording = Recording::only_one_in(folder.path());
        const std::vector<Json> findings = recording.findings();
        ASSERT_EQ(findings.size(), used ? 1u : 0u) << outcome.describe();
        if (!used)
            continue;
        const Json& reference = findings[0].at("references").at(0);
        const bool off = kind == "off" || kind == "off_copy";
        EXPECT_EQ(reference.at("node"), off ? 0 : 1);
        EXPECT_EQ(reference.at("slot"), kind == "copy" ? "src" : "parameter 0 +0");
        const Json graph = recording.graph(1);
        ASSERT_EQ(graph.at("edges").size(), 1u);
        EXPECT_EQ(graph.at("edges")[0].at("from"), 0);
        EXPECT_EQ(graph.at("nodes")[0].at("kernel_name"), "kg_scale");
        EXPECT_EQ(graph.at("nodes")[1].value("enabled", true), !off);
    }
}
INSTANTIATE_TEST_SUITE_P(All, ChangesInAnotherOrder, testing::Values("kernels", "copy", "off", "off_copy"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ChangesInAnotherOrderWithoutEdges, NodesThatCannotBeToldApartAreOpaque) {
    // Without a recording nobody reads edges: which node a handle names, and which one is off, is not known.
    for (const char* kind : {"copy", "off_copy"}) {
        const Outcome outcome = expect_transparent({hostile("reordered"), kind, "unused"});
        const Summary summary = summary_or_fail(outcome);
        EXPECT_EQ(summary.findings, 0) << outcome.describe();
        EXPECT_EQ(summary.opaque, 2) << outcome.describe();
    }
}

class ChangesDuringAFree : public testing::TestWithParam<const char*> {};

TEST_P(ChangesDuringAFree, AreFoundAtTheNextLaunch) {
    Conditions conditions;
    conditions.preload_after = {hostile("libheld_call.so")};
    const Outcome outcome = expect_transparent({hostile("overlap"), GetParam()}, conditions);
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "freed by cuMemFree_v2"), 1u) << outcome.describe();
}
INSTANTIATE_TEST_SUITE_P(All, ChangesDuringAFree, testing::Values("instantiate", "set"),
                         [](const auto& info) { return std::string(info.param); });

class ChangesOfGraphMemory : public testing::TestWithParam<const char*> {};

TEST_P(ChangesOfGraphMemory, AreNoFindings) {
    const Outcome outcome = expect_transparent({hostile("nodes"), "memory", GetParam()});
    const Summary summary = summary_or_fail(outcome);
    EXPECT_EQ(summary.findings, 0) << outcome.describe();
    EXPECT_EQ(summary.graphs, GetParam() == std::string("node") ? 3 : 2);
    EXPECT_GT(summary.inputs, 0) << "no finding because nothing was looked at";
}
INSTANTIATE_TEST_SUITE_P(All, ChangesOfGraphMemory, testing::Values("call", "node", "early", "captured"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ChangesOfGraphMemoryThatIsGone, AreFoundAlthoughAnEarlierLaunchWasSilent) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("nodes"), "memory", "gone"}, recorded(folder, "findings"));
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].at("replay"), 2) << "while the graph that allocates lived, it could bring the memory back";
    EXPECT_EQ(findings[0].at("death").at("call"), "cuMemFreeAsync");
}

TEST(ChangesOfTemplates, CapturedFreeIsNoDeath) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("nodes"), "memory", "captured"}, recorded(folder, "findings"));
    EXPECT_EQ(summary_or_fail(outcome).replays, 3) << outcome.describe();
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "captured cuMemFreeAsync 0"), 1u) << outcome.describe();
    EXPECT_EQ(Recording::only_one_in(folder.path()).of_type("death"), std::vector<Json>{});
}

TEST(ChangesOfTemplates, EdgesAreReadBeforeANodeGoes) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("changes"), "destroy_node"}, recorded(folder, "findings"));
    EXPECT_EQ(summary_or_fail(outcome).findings, 1) << outcome.describe();
    const Json graph = Recording::only_one_in(folder.path()).graph(1);
    EXPECT_EQ(graph.at("nodes").size(), 2u);
    EXPECT_EQ(graph.at("edges_known"), true);
    ASSERT_EQ(graph.at("edges").size(), 1u);
    EXPECT_EQ(graph.at("edges")[0].at("from"), 0);
    EXPECT_EQ(graph.at("edges")[0].at("to"), 1);
}

TEST(ChangesOfStreams, CaptureOfADestroyedStreamIsNotThatOfItsSuccessor) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("stream_gone")}, recorded(folder, "findings"));
    ASSERT_EQ(count_lines_with(split_lines(outcome.out), "the handle came back: 1"), 1u) << outcome.describe();
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "cuStreamEndCapture 0"), 0u) << outcome.describe();
    const Recording recording = Recording::only_one_in(folder.path());
    const std::vector<Json> captures = recording.of_type("capture");
    ASSERT_EQ(captures.size(), 1u) << "the end of no capture was taken for the end of the first stream's";
    EXPECT_EQ(captures[0].at("capture"), 2);
    EXPECT_EQ(captures[0].at("result"), "CUDA_SUCCESS");
    ASSERT_EQ(recording.findings().size(), 1u);
    EXPECT_EQ(recording.findings()[0].at("capture"), 2);
}

class ChangesOfContext : public testing::TestWithParam<const char*> {};

TEST_P(ChangesOfContext, MakeTheLayoutsOfItsFunctionsUnknown) {
    TempFolder folder;
    Conditions conditions = recorded(folder);
    if (GetParam() == std::string("unload"))
        conditions.preload_after = {hostile("libheld_call.so")};
    const Outcome outcome = expect_transparent({hostile("new_context"), GetParam()}, conditions);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    ASSERT_EQ(count_lines_with(split_lines(outcome.out), "the handle came back: 1"), 1u) << outcome.describe();
    const Json nodes = Recording::only_one_in(folder.path()).graph(2).at("nodes");
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].at("kernel_name"), "kg_count");
    EXPECT_EQ(nodes[0].at("arguments").size(), 1u);
}
INSTANTIATE_TEST_SUITE_P(All, ChangesOfContext, testing::Values("reset", "destroy", "unload"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ChangesInALoop, FindingsFillNeitherTheLogNorTheGraphsFile) {
    constexpr size_t rounds = 2000;
    TempFolder folder;
    Conditions conditions = recorded(folder, "findings");
    conditions.timeout = std::chrono::seconds{120};
    const Outcome outcome = expect_transparent({hostile("changes"), "loop", std::to_string(rounds)}, conditions);
    EXPECT_EQ(summary_or_fail(outcome).findings, long{rounds});

    const std::vector<std::string> lines = keepgraph_lines(outcome.err);
    EXPECT_EQ(count_lines_with(lines, "keepgraph: finding "), 5u);
    std::vector<std::string> more;
    for (const std::string& line : lines)
        if (line.find("keepgraph: and ") == 0)
            more.push_back(line);
    EXPECT_EQ(more, (std::vector<std::string>{"keepgraph: and 1 more finding of graph 1 so far",
                                              "keepgraph: and 10 more findings of graph 1 so far",
                                              "keepgraph: and 100 more findings of graph 1 so far",
                                              "keepgraph: and 1000 more findings of graph 1 so far"}));

    const Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), rounds);
    const Json graph = recording.graph(1);
    EXPECT_EQ(graph.at("findings").size(), 1000u);
    EXPECT_EQ(graph.at("findings").back().at("finding"), 1000);
    EXPECT_EQ(graph.at("findings_left_out"), rounds - 1000);
}

TEST(ChangesInALoop, GraphsFileIsWrittenLessAndLessOften) {
    TempFolder folder;
    const Trace trace =
        trace_system_calls(command_for({hostile("changes"), "loop", "300"}, recorded(folder, "findings")));
    ASSERT_EQ(trace.exit_code, 0);
    size_t written = 0;
    for (const std::string& path : trace.opened)
        written += path.find("graph-1.json") != std::string::npos;
    EXPECT_GE(written, 2u) << "the file must not wait for the end";
    EXPECT_LE(written, 12u) << "once per finding is quadratic";
}

TEST(ChangesInALoop, BetweenTwoBuffersCountEachOfThemOnce) {
    const Outcome outcome = expect_transparent({hostile("changes"), "alternate", "500"});
    const Summary summary = summary_or_fail(outcome);
    EXPECT_EQ(summary.inputs, 3) << "two inputs in turn, one output";
    EXPECT_EQ(summary.opaque, 0);
    EXPECT_EQ(summary.findings, 0);
}

TEST(ChangesInALoop, BetweenASmallAndALargeKernelStayFlat) {
    const Outcome outcome =
        expect_transparent({hostile("changes"), "kernels", "20000"}, recorded(TempFolder{}, "findings"));
    summary_or_fail(outcome);
    EXPECT_EQ(outcome.out.find("grew by more than 1 MB: 0"), 0u) << outcome.describe();
}

TEST(ChangesInALoop, EachOfManyGraphsLosesItsDataOnce) {
    constexpr int graphs = 300;
    TempFolder folder;
    const Outcome outcome = expect_transparent({hostile("changes"), "many", std::to_string(graphs)},
                                               recorded(folder).with("KEEPGRAPH_KEEP", "data,max=1K"));
    EXPECT_EQ(summary_or_fail(outcome).graphs, graphs);
    const Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.notices_with("KEEP's max"), 1u);
    int dropped = 0;
    for (int number = 1; number <= graphs; ++number) {
        const Json graph = recording.graph(number);
        const bool gone = graph.value("data_dropped", false);
        dropped += gone;
        EXPECT_NE(gone, graph.at("nodes")[0].contains("arguments")) << "graph " << number;
    }
    EXPECT_GE(dropped, graphs - 10) << "the oldest go first, all but the few that 1 KB has room for";
    EXPECT_LT(dropped, graphs) << "the newest keeps its data";
}

TEST(ChangesInALoop, LaunchesThatTheDriverRefusesAreNoReplays) {
    // Before and after the death, so on both ways to the driver; the finding stays.
    for (const char* fail : {"cuGraphLaunch:1=1", "cuGraphLaunch:2=1"}) {
        TempFolder folder;
        const Outcome outcome = expect_transparent({hostile("changes"), "set"},
                                                   recorded(folder, "findings").with("KEEPGRAPH_SIM_FAIL", fail));
        const Summary summary = summary_or_fail(outcome);
        EXPECT_EQ(summary.replays, 1) << fail << ": " << outcome.describe();
        EXPECT_EQ(summary.findings, 1) << fail << ": " << outcome.describe();
        EXPECT_EQ(Recording::only_one_in(folder.path()).graph(1).at("replays"), 1) << fail;
    }
}

TEST(ChangesOfManyThreads, EveryReplayOfDeadMemoryIsFoundAndNoOther) {
    for (const char* threads : {"1", "8"}) {
        const Outcome outcome = expect_transparent({hostile("mix"), threads, "150"});
        long graphs = 0;
        long replays = 0;
        long wrong = 0;
        ASSERT_EQ(std::sscanf(outcome.out.c_str(), "%ld graphs, %ld replays, %ld wrong", &graphs, &replays, &wrong), 3)
            << outcome.describe();
        EXPECT_GT(wrong, graphs / 3) << "the mix lost what it is for";
        EXPECT_LT(wrong, graphs);
        const Summary summary = summary_or_fail(outcome);
        EXPECT_EQ(summary.graphs, graphs);
        EXPECT_EQ(summary.replays, replays);
        EXPECT_EQ(summary.findings, wrong);
        EXPECT_EQ(summary.not_shown, "");
    }
}

}  // namespace
}  // namespace keepgraph::preload_tests
