// SPDX-License-Identifier: Apache-2.0
// The reader: what a good recording says, and that a damaged, foreign or hostile one never does worse than say so.
#include "report/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fixture.h"
#include "report/json_input.h"

namespace keepgraph::report {
namespace {

using namespace unit_tests;

std::string reason_of_refusal(const std::string& folder) {
    try {
        read_recording(folder);
    } catch (const ReadError& error) {
        return error.what();
    }
    return "it was read";
}

class ReaderTest : public testing::Test {
  protected:
    TempFolder temp_;
    std::string folder_ = copy_of_recording(temp_ / "r");
    std::string events_ = folder_ + "/events.jsonl";
};

TEST_F(ReaderTest, ReadsWhatTheSchemaSays) {
    const Recording recording = read_recording(folder_);
    EXPECT_EQ(recording.pid, 4242u);
    EXPECT_EQ(recording.command, (std::vector<std::string>{"./train", "--epochs", "two words"}));
    EXPECT_EQ(recording.driver_version, 13000u);
    ASSERT_EQ(recording.graphs.size(), 2u);
    const RecordedGraph& graph = recording.graphs.at(1);
    EXPECT_EQ(graph.exec, 0x5500u);
    EXPECT_EQ(graph.nodes.at("kernel"), 2u);
    EXPECT_EQ(graph.replays, 40u);
    EXPECT_TRUE(graph.destroyed);
    EXPECT_EQ(recording.graphs.at(2).capture, std::nullopt);
    ASSERT_EQ(recording.findings.size(), 1u);
    const RecordedFinding& finding = recording.findings[0];
    EXPECT_EQ(finding.kind, "recycled");
    EXPECT_EQ(finding.allocation.address, 0x7f82c2c01000u);
    ASSERT_TRUE(finding.death.has_value());
    EXPECT_EQ(finding.death->thread_name, "worker");
    ASSERT_TRUE(finding.younger.has_value());
    EXPECT_EQ(finding.younger->allocation.id, 9u);
    EXPECT_EQ(finding.younger->birth.runtime_call, "cudaMalloc");
    ASSERT_EQ(finding.references.size(), 1u);
    EXPECT_EQ(finding.references[0].offset, 16u);
    ASSERT_NE(recording.stack(finding.death->stack), nullptr);
    EXPECT_EQ(recording.stack(finding.death->stack)->frames, (std::vector<std::uint64_t>{0x7f0000000104, 0x400400}));
    EXPECT_EQ(recording.stacks.at(1).python.at(0).line, 12u);
    EXPECT_EQ(recording.stacks.at(2).python_unavailable, "no interpreter");
    ASSERT_TRUE(recording.summary.has_value());
    EXPECT_EQ(recording.summary->replays, 43u);
    EXPECT_EQ(recording.unknown_events, 1u);
    EXPECT_EQ(recording.bad_lines, 0u);
    EXPECT_TRUE(recording.problems.empty());
    EXPECT_EQ(recording.graph_files, (std::vector<std::uint64_t>{1}));
}

TEST_F(ReaderTest, ReadsAGraphWithItsChild) {
    const GraphFile graph = read_graph(folder_, 1);
    ASSERT_EQ(graph.top.nodes.size(), 4u);
    EXPECT_EQ(graph.top.nodes[0].grid, (std::vector<std::uint64_t>{4, 1, 1}));
    EXPECT_EQ(graph.top.nodes[0].arguments.at(1).bytes, "07000000");
    EXPECT_EQ(graph.top.nodes[0].references.at(0).allocation, 5u);
    EXPECT_FALSE(graph.top.nodes[3].enabled);
    EXPECT_EQ(graph.top.edges.at(2).from_port, 1u);
    ASSERT_EQ(graph.children.size(), 1u);
    EXPECT_EQ(graph.children[0].node, 2u);
    EXPECT_EQ(graph.children[0].nodes.at(1).type, "unknown (99)");
    EXPECT_EQ(graph.allocations.at(1).kind, "pinned");
}

TEST_F(ReaderTest, KilledProcessHasNoSummaryAndACutLine) {
    std::string text = read_file(events_);
    text.resize(text.rfind("\"replays\": 43"));
    write_file(events_, text);
    const Recording recording = read_recording(folder_);
    EXPECT_TRUE(recording.last_line_cut);
    EXPECT_FALSE(recording.summary.has_value());
    EXPECT_EQ(recording.bad_lines, 0u);
    EXPECT_EQ(recording.findings.size(), 1u);
}

TEST_F(ReaderTest, LastLineWithoutNewlineIsReadWhenItIsWhole) {
    std::string text = read_file(events_);
    text.pop_back();
    write_file(events_, text);
    const Recording recording = read_recording(folder_);
    EXPECT_FALSE(recording.last_line_cut);
    EXPECT_TRUE(recording.summary.has_value());
}

TEST_F(ReaderTest, MalformedLinesAreCountedWithTheirNumbers) {
    append(events_, "{\"type\": \"notice\"\n");                        // 14: no JSON
    append(events_, "[1, 2]\n");                                       // 15: no object
    append(events_, "{\"type\": 7}\n");                                // 16
    append(events_, "{\"type\": \"stack\", \"id\": \"one\"}\n");       // 17: id of the wrong kind
    append(events_, "{\"type\": \"finding\", \"finding\": -1}\n");     // 18: out of range
    append(events_, "\n");                                             // 19
    append(events_, "{\"type\": \"notice\", \"text\": \"after\"}\n");  // good again
    const Recording recording = read_recording(folder_);
    EXPECT_EQ(recording.bad_lines, 6u);
    std::vector<std::uint64_t> lines;
    for (const Problem& problem : recording.problems)
        lines.push_back(problem.line);
    EXPECT_EQ(lines, (std::vector<std::uint64_t>{14, 15, 16, 17, 18, 19}));
    EXPECT_EQ(recording.notices.back().text, "after");
}

TEST_F(ReaderTest, ProblemsKeptAreLimitedAndTheirNumberIsNot) {
    for (int i = 0; i < 1000; ++i)
        append(events_, "?\n");
    const Recording recording = read_recording(folder_);
    EXPECT_EQ(recording.bad_lines, 1000u);
    EXPECT_EQ(recording.problems.size(), 20u);
}

TEST_F(ReaderTest, HostileValuesNeverCrash) {
    const std::string deep(2'000'000, '[');
    for (const std::string& value :
         {std::string("null"), std::string("[]"), std::string("{}"), std::string("-1"), std::string("1e999"),
          std::string("99999999999999999999999"), std::string("1.5"), std::string("\"0xfffffffffffffffff\""),
          std::string("\"\\ud800\""), std::string("[[1]]"), std::string("{\"stack\": []}"), deep}) {
        for (const std::string type : {"module", "stack", "capture", "instantiate", "update", "destroy", "death",
                                       "birth", "finding", "coverage", "living", "notice", "summary"}) {
            std::string line = "{\"type\": \"" + type + "\"";
            for (const std::string key :
                 {"id", "frames", "python", "capture", "graph", "nodes", "finding", "allocation", "death", "younger",
                  "references", "path", "base", "end", "text", "what", "stack", "t", "exec"})
                line += ", \"" + key + "\": " + (value == deep && key != "nodes" ? "1" : value);
            append(events_, line + "}\n");
        }
    }
    const Recording recording = read_recording(folder_);
    EXPECT_GT(recording.bad_lines, 50u);
    ASSERT_FALSE(recording.findings.empty());
    EXPECT_EQ(recording.findings[0].allocation.id, 5u);
}

TEST_F(ReaderTest, DeepNestingIsRefusedBeforeItIsParsed) {
    std::string error;
    EXPECT_FALSE(parse_json(std::string(10'000'000, '['), error).has_value());
    EXPECT_NE(error.find("64"), std::string::npos) << error;
    EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), error).has_value());
    EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']'), error).has_value());
    // Brackets inside strings are no nesting.
    EXPECT_TRUE(parse_json("\"\\\"" + std::string(1000, '[') + "\"", error).has_value());
}

TEST_F(ReaderTest, BytesThatAreNoTextDoNotHideTheLine) {
    append(events_, "{\"type\": \"notice\", \"text\": \"caf\xe9\"}\n");
    EXPECT_EQ(read_recording(folder_).notices.back().text, "caf\xef\xbf\xbd");
}

TEST_F(ReaderTest, NewerSchemaIsRefusedWithFileValueAndAllowed) {
    replace_in(folder_ + "/manifest.json", "\"schema\": 1", "\"schema\": 2");
    const std::string reason = reason_of_refusal(folder_);
    EXPECT_NE(reason.find(folder_ + "/manifest.json: schema is 2, allowed: 1 to 1"), std::string::npos) << reason;
    replace_in(folder_ + "/manifest.json", "\"schema\": 2", "\"schema\": [1]");
    EXPECT_NE(reason_of_refusal(folder_).find("schema is no number"), std::string::npos);

    replace_in(folder_ + "/graph-1.json", "\"schema\": 1", "\"schema\": 3");
    EXPECT_THROW(read_graph(folder_, 1), ReadError);
}

TEST_F(ReaderTest, WithoutManifestTheEventsAreRead) {
    std::filesystem::remove(folder_ + "/manifest.json");
    const Recording recording = read_recording(folder_);
    EXPECT_EQ(recording.findings.size(), 1u);
    ASSERT_EQ(recording.problems.size(), 1u);
    EXPECT_EQ(recording.problems[0].file, "manifest.json");
    std::filesystem::remove(folder_ + "/events.jsonl");
    EXPECT_NE(reason_of_refusal(folder_).find("no recording"), std::string::npos);
}

TEST_F(ReaderTest, OnlyRegularFilesAreOpened) {
    std::filesystem::remove(folder_ + "/graph-1.json");
    ASSERT_EQ(mkfifo((folder_ + "/graph-1.json").c_str(), 0600), 0);
    EXPECT_THROW(read_graph(folder_, 1), ReadError);  // and does not wait for a writer
    EXPECT_THROW(read_graph(folder_, 77), ReadError);
}

TEST_F(ReaderTest, OnlyNamesThatGraphPathMakesAreGraphFiles) {
    for (const char* name : {"graph-02.json", "graph-.json", "graph-x.json", "graph-12.json", "graph-3.json.tmp",
                             "graph-99999999999999999999999.json"})
        write_file(folder_ + "/" + name, "{}");
    EXPECT_EQ(read_recording(folder_).graph_files, (std::vector<std::uint64_t>{1, 12}));
}

TEST_F(ReaderTest, FindsOneRecordingOrSeveral) {
    EXPECT_EQ(find_recordings(folder_).folders, std::vector<std::string>{folder_});
    copy_of_recording(temp_ / "q");
    std::filesystem::create_directory(temp_ / "empty");
    EXPECT_EQ(find_recordings(temp_.path()).folders, (std::vector<std::string>{temp_ / "q", temp_ / "r"}));
    EXPECT_TRUE(find_recordings(temp_ / "empty").folders.empty());
    EXPECT_THROW(find_recordings(temp_ / "absent"), ReadError);
}

TEST_F(ReaderTest, FindsRecordingsFourLevelsDownAndNotInCircles) {
    const std::string top = temp_ / "top";
    std::filesystem::create_directories(top + "/run/host/day");
    std::filesystem::create_directories(top + "/a/b/c/d");
    copy_of_recording(top + "/run/host/day/4");
    copy_of_recording(top + "/a/b/c/d/5");
    std::filesystem::create_directory_symlink(top, top + "/run/circle");
    std::filesystem::create_directory_symlink(folder_, top + "/run/link");
    EXPECT_EQ(find_recordings(top).folders, (std::vector<std::string>{top + "/run/host/day/4", top + "/run/link"}));
    EXPECT_EQ(find_recordings(top + "/a").folders, std::vector<std::string>{top + "/a/b/c/d/5"});
}

TEST(ModuleOf, TheLastLineBeforeTheStackThatCoversTheAddress) {
    Recording recording;
    recording.modules = {
        {"old", 0x1000, 0x2000, "", 0}, {"new", 0x1000, 0x1800, "", 10}, {"late", 0x5000, 0x6000, "", 20}};
    const auto name = [&](std::uint64_t address, std::uint64_t line) {
        const RecordedModule* module = recording.module_of(address, line);
        return module != nullptr ? module->path : "none";
    };
    EXPECT_EQ(name(0x1100, 5), "old");
    EXPECT_EQ(name(0x1100, 15), "new");
    EXPECT_EQ(name(0x1900, 15), "old");
    EXPECT_EQ(name(0x5000, 15), "late");  // announced after the stack: better than nothing
    EXPECT_EQ(name(0x6000, 25), "none");
}

}  // namespace
}  // namespace keepgraph::report
