// SPDX-License-Identifier: Apache-2.0
// What KEEP, WRITE, STACKS and OPTIONS change, seen in the recording. Malformed values: settings_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

// A graph whose data was let go: kernels keep their names and what they refer to, not their arguments.
void expect_dropped(const Json& graph) {
    EXPECT_EQ(graph.value("data_dropped", false), true);
    EXPECT_FALSE(graph.at("edges_known"));
    EXPECT_TRUE(graph.at("edges").empty());
    EXPECT_FALSE(graph.at("nodes").empty());
    for (const Json& node : graph.at("nodes")) {
        EXPECT_FALSE(node.contains("arguments")) << node;
        if (node.at("node_type") == "kernel") {
            EXPECT_TRUE(node.at("kernel_name").is_string()) << node;
            EXPECT_FALSE(node.at("references").empty()) << node;
        }
    }
}

TEST(OptionsKeep, OffKeepsNoDataAndStillFinds) {
    TempFolder folder;
    Outcome outcome =
        expect_transparent({victim("freed_input_shared")}, recorded(folder).with("KEEPGRAPH_KEEP", "off"));
    Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.findings().size(), 1u) << outcome.describe();
    EXPECT_EQ(recording.findings()[0].at("references").at(0).at("slot"), "parameter 0 +0");
    expect_dropped(recording.graph(1));
}

TEST(OptionsKeep, OffFindsAfterAnUpdateToo) {
    for (const char* way : {"", "set_params"}) {
        std::vector<std::string> args{victim("exec_update")};
        if (*way != '\0')
            args.push_back(way);
        Outcome outcome = expect_transparent(args, Conditions{}.with("KEEPGRAPH_KEEP", "off"));
        EXPECT_EQ(summary_of(outcome).value_or(Summary{}).findings, 1) << way << ": " << outcome.describe();
    }
}

TEST(OptionsKeep, DataIsWholeBelowTheLimit) {
    TempFolder folder;
    expect_transparent({victim("many_graphs")}, recorded(folder));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.notices_with("KEEP's max"), 0u);
    for (int number = 1; number <= 16; ++number) {
        EXPECT_FALSE(recording.graph(number).contains("data_dropped")) << number;
        EXPECT_TRUE(recording.graph(number).at("edges_known")) << number;
    }
}

TEST(OptionsKeep, OldestGraphsLoseTheirDataOverTheLimitAndItIsSaidOnce) {
    TempFolder folder;
    Outcome outcome =
        expect_transparent({victim("many_graphs")}, recorded(folder).with("KEEPGRAPH_KEEP", "data,max=1000"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "KEEP's max=1000 bytes"), 1u) << outcome.describe();
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.notices_with("KEEP's max=1000 bytes"), 1u);
    EXPECT_EQ(recording.findings().size(), 1u) << "the last graph's input was freed";
    std::vector<bool> dropped;
    for (int number = 1; number <= 16; ++number)
        dropped.push_back(recording.graph(number).contains("data_dropped"));
    EXPECT_TRUE(dropped.front());
    EXPECT_FALSE(dropped.back());
    EXPECT_TRUE(std::is_sorted(dropped.rbegin(), dropped.rend()))
        << "a younger graph lost its data before an older one";
    expect_dropped(recording.graph(1));
    EXPECT_TRUE(recording.graph(16).at("nodes").at(0).contains("arguments"));
}

TEST(OptionsKeep, NoMoreIsDroppedThanMustBe) {
    size_t kept[2] = {};
    for (const int more : {0, 1}) {
        TempFolder folder;
        expect_transparent({victim("many_graphs"), std::to_string(16 + more)},
                           recorded(folder).with("KEEPGRAPH_KEEP", "data,max=1000"));
        Recording recording = Recording::only_one_in(folder.path());
        for (int number = 1; number <= 16 + more; ++number)
            kept[more] += !recording.graph(number).contains("data_dropped");
    }
    EXPECT_GT(kept[0], 1u);
    EXPECT_EQ(kept[1], kept[0]) << "one graph more costs one older graph its data";
}

TEST(OptionsKeep, NoRoomAtAllStillFinds) {
    TempFolder folder;
    expect_transparent({victim("many_graphs")}, recorded(folder).with("KEEPGRAPH_KEEP", "data,max=0"));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), 1u);
    for (int number = 1; number <= 16; ++number)
        expect_dropped(recording.graph(number));
}

TEST(OptionsKeep, NoUpdateBringsDroppedDataBack) {
    for (const char* way : {"whole", "set_params"}) {
        TempFolder folder;
        Outcome outcome =
            expect_transparent({victim("exec_update"), way}, recorded(folder).with("KEEPGRAPH_KEEP", "data,max=0"));
        Recording recording = Recording::only_one_in(folder.path());
        EXPECT_EQ(recording.of_type("update").size(), 1u) << outcome.describe();
        EXPECT_EQ(recording.findings().size(), 1u) << outcome.describe();
        expect_dropped(recording.graph(1));
    }
}

TEST(OptionsKeep, GraphsThatGoMakeNoMoreRoomThanTheyTook) {
    // The first eight of sixteen had lost their data before they went.
    size_t kept[2] = {};
    for (const int way : {0, 1}) {
        TempFolder folder;
        Outcome outcome = expect_transparent({hostile("nodes"), "turnover", way == 0 ? "0" : "8"},
                                             recorded(folder).with("KEEPGRAPH_KEEP", "data,max=1000"));
        Recording recording = Recording::only_one_in(folder.path());
        ASSERT_EQ(recording.of_type("instantiate").size(), 24u) << outcome.describe();
        for (int number = 9; number <= 24; ++number)
            kept[way] += !recording.graph(number).contains("data_dropped");
    }
    EXPECT_GT(kept[0], 0u);
    EXPECT_LT(kept[0], 16u);
    EXPECT_EQ(kept[1], kept[0]);
}

TEST(OptionsWrite, DriverDotIsTheDriversOwn) {
    TempFolder folder;
    Outcome outcome = expect_transparent({victim("freed_input_shared")}, recorded(folder, "driver-dot"));
    Recording recording = Recording::only_one_in(folder.path());
    std::string dot = read_file(recording.folder + "/graph-1.driver.dot");
    EXPECT_EQ(dot.find("digraph"), 0u) << dot;
    EXPECT_NE(dot.find("kg_scale"), std::string::npos) << dot;
    EXPECT_NE(dot.find("256"), std::string::npos) << "the block size is in the verbose form alone: " << dot;
    EXPECT_FALSE(recording.has_graph_file(1)) << "findings is not in the list";
    EXPECT_EQ(recording.findings().size(), 1u) << "events are always written: " << outcome.describe();
}

TEST(OptionsWrite, DriverThatPrintsNoDotCostsANotice) {
    TempFolder folder;
    expect_transparent({victim("freed_input_shared")},
                       recorded(folder, "driver-dot").with("KEEPGRAPH_SIM_FAIL", "cuGraphDebugDotPrint:1=801"));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.notices_with("graph 1: no driver DOT: CUDA_ERROR_NOT_SUPPORTED"), 1u);
    EXPECT_FALSE(file_exists(recording.folder + "/graph-1.driver.dot"));
}

TEST(OptionsWrite, GraphsWritesOneFileForEveryGraph) {
    TempFolder folder;
    expect_transparent({victim("healthy_shared")}, recorded(folder, "graphs"));
    Recording recording = Recording::only_one_in(folder.path());
    for (int number = 1; number <= 3; ++number) {
        ASSERT_TRUE(recording.has_graph_file(number)) << number;
        EXPECT_EQ(recording.graph(number).at("replays"), 4) << "written again when the exec goes";
    }
    EXPECT_FALSE(file_exists(recording.folder + "/graph-1.driver.dot"));
}

TEST(OptionsWrite, NoneWritesNoFileOfAGraph) {
    TempFolder folder;
    expect_transparent({victim("freed_input_shared")}, recorded(folder, "none"));
    const Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), 1u) << "events are always written";
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(recording.folder))
        files.insert(entry.path().filename());
    EXPECT_EQ(files, (std::set<std::string>{"events.jsonl", "manifest.json"}));
}

TEST(OptionsStacks, NoneRecordsNoStack) {
    TempFolder folder;
    expect_transparent({victim("recycled_shared")}, recorded(folder).with("KEEPGRAPH_STACKS", "none"));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_TRUE(recording.of_type("stack").empty());
    ASSERT_EQ(recording.findings().size(), 1u);
    Json finding = recording.findings()[0];
    for (const char* key : {"capture_stack", "instantiate_stack", "launch_stack"})
        EXPECT_FALSE(finding.contains(key)) << key;
    for (const char* event : {"death", "younger"}) {
        EXPECT_FALSE(finding.at(event).contains("stack")) << event;
        EXPECT_GT(finding.at(event).at("thread"), 0) << event << ": who it was is known without a stack";
    }
}

TEST(OptionsStacks, AllTellsWhereTheInputWasAllocated) {
    TempFolder folder;
    Outcome outcome = expect_transparent({victim("recycled_shared")}, recorded(folder).with("KEEPGRAPH_STACKS", "all"));
    Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.findings().size(), 1u) << outcome.describe();
    Json allocation = recording.findings()[0].at("allocation");
    ASSERT_TRUE(allocation.contains("stack")) << allocation;
    EXPECT_FALSE(recording.stack(allocation["stack"]).at("frames").empty());
    EXPECT_NE(allocation["stack"], recording.findings()[0].at("death").at("stack"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "first allocated by cuMemAlloc"), 1u)
        << outcome.describe();
}

TEST(OptionsStacks, EventsSaysThatTheAllocationIsNotRecorded) {
    TempFolder folder;
    Outcome outcome = expect_transparent({victim("recycled_shared")}, recorded(folder));
    EXPECT_FALSE(Recording::only_one_in(folder.path()).findings().at(0).at("allocation").contains("stack"));
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "where it was allocated is not recorded"), 1u)
        << outcome.describe();
}

TEST(OptionsCoverage, ListsWhatLookUpsHandedOut) {
    TempFolder folder;
    expect_transparent({victim("freed_input_shared")}, recorded(folder).with("KEEPGRAPH_OPTIONS", "coverage=1"));
    Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.of_type("coverage").size(), 1u);
    Json coverage = recording.of_type("coverage")[0];
    const auto has = [&](const char* list, const char* name) {
        const Json& names = coverage.at(list);
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    EXPECT_TRUE(has("wrapped", "cuGraphLaunch")) << coverage;
    EXPECT_FALSE(has("unwrapped", "cuGraphLaunch")) << coverage;
    EXPECT_TRUE(has("unwrapped", "cuDeviceGetAttribute")) << coverage;
    EXPECT_FALSE(has("wrapped", "cuDeviceGetAttribute")) << coverage;
    EXPECT_EQ(recording.events.back().at("type"), "summary");
}

TEST(OptionsCoverage, IsRecordedWithoutAGraphAndOnlyWhenAskedFor) {
    TempFolder folder;
    expect_transparent({victim("entry_dlsym")}, recorded(folder).with("KEEPGRAPH_OPTIONS", "coverage=1"));
    EXPECT_EQ(Recording::only_one_in(folder.path()).of_type("coverage").size(), 1u);
    TempFolder other;
    expect_transparent({victim("freed_input_shared")}, recorded(other));
    EXPECT_TRUE(Recording::only_one_in(other.path()).of_type("coverage").empty());
}

TEST(OptionsQuiet, RecordingStillHasItsSummary) {
    TempFolder folder;
    Outcome outcome =
        expect_transparent({victim("healthy_shared")}, recorded(folder).with("KEEPGRAPH_OPTIONS", "quiet=1"));
    EXPECT_TRUE(keepgraph_lines(outcome.err).empty()) << outcome.describe();
    EXPECT_EQ(Recording::only_one_in(folder.path()).events.back().at("type"), "summary");
}

TEST(OptionsOutMax, OldestGraphFilesGoFirstAndFindingsStay) {
    TempFolder folder;
    Outcome outcome =
        expect_transparent({victim("many_graphs")}, recorded(folder).with("KEEPGRAPH_OPTIONS", "out_max=24K"));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), 1u) << outcome.describe();
    EXPECT_FALSE(recording.has_graph_file(1));
    EXPECT_TRUE(recording.has_graph_file(16)) << "the newest, which has the finding";
    EXPECT_GE(recording.notices_with("out_max of 24576 bytes is reached: deleted graph-1.json"), 1u);
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(recording.folder))
        if (entry.path().filename() != "manifest.json")
            bytes += entry.file_size();
    EXPECT_LE(bytes, 24576u);
    EXPECT_EQ(recording.events.back().at("type"), "summary");
}

TEST(OptionsLog, LevelsSayWhatIsSeen) {
    const auto lines = [](const char* level) {
        return keepgraph_lines(expect_transparent({victim("exec_update"), "set_params"},
                                                  Conditions{}.with("KEEPGRAPH_OPTIONS", std::string("log=") + level))
                                   .err);
    };
    const std::vector<std::string> graph{
        ": graph 1 of template 1, capture 1, by cuGraphInstantiateWithFlags: 1 nodes, 2 "
        "inputs, 0 opaque"};
    const std::vector<std::string> changes{
        ": capture 1 (thread_local) ended with CUDA_SUCCESS: template 1",
        ": graph 1 changed by cuGraphExecKernelNodeSetParams_v2: node 0",
        ", used by 1 graph, was freed by cuMemFree_v2 in cudaFree",
        ": graph 1 destroyed after 4 replays",
    };
    const auto expect = [](const std::vector<std::string>& said, const std::vector<std::string>& parts, size_t times) {
        for (const std::string& part : parts)
            EXPECT_EQ(count_lines_with(said, part), times) << part;
    };
    expect(lines("warn"), graph, 0);
    expect(lines("warn"), changes, 0);
    expect(lines("info"), graph, 1);
    expect(lines("info"), changes, 0);
    expect(lines("debug"), graph, 1);
    expect(lines("debug"), changes, 1);
    EXPECT_EQ(count_lines_with(lines("off"), "keepgraph: finding 1: "), 1u) << "a finding is no log line";
}

}  // namespace
}  // namespace keepgraph::preload_tests
