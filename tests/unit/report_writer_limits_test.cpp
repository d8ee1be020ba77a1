// SPDX-License-Identifier: Apache-2.0
// What the writer does when there is no place: folders, descriptors, file sizes, out_max.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/writer.h"
#include "scratch.h"

namespace keepgraph::report {
namespace {

namespace fs = std::filesystem;
using unit_tests::CapturedStderr;
using unit_tests::content;
using unit_tests::descriptor_of;
using unit_tests::lowest_free_descriptor;
using unit_tests::put;
using unit_tests::Scratch;
using unit_tests::signal_state;
using unit_tests::SoftLimit;

using Parsed = nlohmann::ordered_json;  // what was written must be JSON to others too

constexpr std::uint64_t plenty = 64 << 20;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct ReportWriterLimits : testing::Test {
    std::unique_ptr<Writer> make(std::uint64_t max_bytes = plenty) {
        auto writer = Writer::make(scratch / "recording", max_bytes, {{"schema", 1}}, problem);
        EXPECT_NE(writer, nullptr) << problem;
        return writer;
    }
    std::vector<std::string> texts_of(const std::string& type) const {
        std::vector<std::string> texts;
        std::istringstream in(content(events));
        for (std::string line; std::getline(in, line);)
            if (const auto event = Parsed::parse(line); event["type"] == type)
                texts.push_back(event.value("text", ""));
        return texts;
    }
    std::string files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(scratch / "recording"))
            if (const std::string name = entry.path().filename(); name != "events.jsonl" && name != "manifest.json")
                names.push_back(name);
        std::sort(names.begin(), names.end());
        std::string all;
        for (const auto& name : names)
            all += (all.empty() ? "" : " ") + name;
        return all;
    }
    Scratch scratch;
    std::string events = scratch / "recording/events.jsonl";
    std::string problem;
};

TEST_F(ReportWriterLimits, ParentThatIsAFile) {
    put(scratch / "file", "theirs");
    EXPECT_EQ(Writer::make(scratch / "file/recording", plenty, {}, problem), nullptr);
    EXPECT_TRUE(has(problem, scratch / "file/recording")) << problem;
    EXPECT_TRUE(has(problem, "Not a directory")) << problem;
    EXPECT_TRUE(has(problem, "set KEEPGRAPH_OUT to another folder")) << problem;
    EXPECT_EQ(content(scratch / "file"), "theirs");
}

TEST_F(ReportWriterLimits, FolderWhereNobodyMayMakeOne) {
    EXPECT_EQ(Writer::make("/proc/keepgraph/recording", plenty, {}, problem), nullptr);
    EXPECT_TRUE(has(problem, "/proc/keepgraph")) << problem;
    EXPECT_TRUE(has(problem, "; set KEEPGRAPH_OUT to")) << problem;
}

TEST_F(ReportWriterLimits, RelativeFolderIsRefused) {
    EXPECT_EQ(Writer::make("recording", plenty, {}, problem), nullptr);
    EXPECT_TRUE(has(problem, "absolute path")) << problem;
    EXPECT_FALSE(fs::exists("recording"));
}

TEST_F(ReportWriterLimits, AfterNinetyNineNumbersItIsAProblem) {
    fs::create_directory(scratch / "recording");
    for (int i = 1; i <= 98; ++i)
        fs::create_directory(scratch / ("recording-" + std::to_string(i)));
    EXPECT_EQ(make()->folder(), scratch / "recording-99");
    EXPECT_EQ(Writer::make(scratch / "recording", plenty, {}, problem), nullptr);
    EXPECT_TRUE(has(problem, scratch / "recording")) << problem;
    EXPECT_TRUE(has(problem, "%p")) << problem;
}

TEST_F(ReportWriterLimits, NoDescriptorLeft) {
    const int lowest = lowest_free_descriptor();
    {
        const SoftLimit none(RLIMIT_NOFILE, static_cast<rlim_t>(lowest));
        EXPECT_EQ(Writer::make(scratch / "recording", plenty, {}, problem), nullptr);
    }
    EXPECT_TRUE(has(problem, scratch / "recording")) << problem;
    EXPECT_TRUE(has(problem, "Too many open files; raise the limit of open files (ulimit -n)")) << problem;
    EXPECT_FALSE(fs::exists(scratch / "recording")) << "an empty folder was left";
}

TEST_F(ReportWriterLimits, NoDescriptorLeftLater) {
    const CapturedStderr captured;
    const auto writer = make();
    const int lowest = lowest_free_descriptor();
    {
        const SoftLimit none(RLIMIT_NOFILE, static_cast<rlim_t>(lowest));
        EXPECT_TRUE(writer->event("the descriptor is kept", {}));
        EXPECT_FALSE(writer->file("graph-1.json", "{}"));
    }
    EXPECT_TRUE(writer->file("graph-1.json", "{}"));
    EXPECT_TRUE(has(captured.text(), "Too many open files")) << captured.text();
}

TEST_F(ReportWriterLimits, FewDescriptorsAllowed) {
    const SoftLimit few(RLIMIT_NOFILE, 64);
    const auto writer = make();
    EXPECT_TRUE(writer->event("a", {}));
    EXPECT_GE(descriptor_of(events), 32) << "it is in the program's way";
    EXPECT_EQ(texts_of("a").size(), 1u);
}

TEST_F(ReportWriterLimits, EventThatDoesNotFitIsCutOffAgain) {
    ASSERT_EQ(::signal(SIGXFSZ, SIG_DFL), SIG_DFL) << "the default would end this process";
    const CapturedStderr captured;
    const auto writer = make();
    EXPECT_TRUE(writer->event("a", {{"text", std::string(4000, 'x')}}));  // stderr is a file here, and stays below
    const std::string before = content(events);
    const std::string state = signal_state();
    {
        const SoftLimit full(RLIMIT_FSIZE, before.size() + 10);
        EXPECT_FALSE(writer->event("b", {{"text", "more than ten bytes"}}));
        EXPECT_EQ(content(events), before);
        EXPECT_FALSE(writer->event("b", {{"text", "more than ten bytes"}}));
    }
    EXPECT_EQ(signal_state(), state);
    EXPECT_EQ(content(events), before);
    EXPECT_TRUE(writer->event("c", {}));
    EXPECT_EQ(texts_of("b").size(), 0u);
    EXPECT_EQ(texts_of("c").size(), 1u);
    EXPECT_EQ(writer->losses().events, 2u);
    EXPECT_TRUE(has(captured.text(), "File too large"));
    const std::string said = captured.text();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(ReportWriterLimits, FileThatDoesNotFitLeavesTheOlderOne) {
    const CapturedStderr captured;
    const auto writer = make();
    EXPECT_TRUE(writer->file("graph-1.json", "old"));
    {
        const SoftLimit full(RLIMIT_FSIZE, 100);
        EXPECT_FALSE(writer->file("graph-1.json", std::string(1000, 'x')));
    }
    EXPECT_EQ(content(scratch / "recording/graph-1.json"), "old");
    EXPECT_EQ(files(), "graph-1.json");
    EXPECT_EQ(writer->losses().files, 1u);
}

TEST_F(ReportWriterLimits, ManifestThatDoesNotFitLeavesNoFolder) {
    {
        const SoftLimit full(RLIMIT_FSIZE, 4);
        EXPECT_EQ(Writer::make(scratch / "recording", plenty, {{"schema", 1}}, problem), nullptr);
    }
    EXPECT_TRUE(has(problem, "File too large; raise the limit of the file size (ulimit -f)")) << problem;
    EXPECT_FALSE(fs::exists(scratch / "recording"));
}

TEST_F(ReportWriterLimits, OldestGraphFilesGoFirst) {
    const auto writer = make(10000);
    const std::string third(3000, 'x');
    for (const char* name : {"graph-1.json", "graph-2.json", "graph-3.json"})
        EXPECT_TRUE(writer->file(name, third));
    EXPECT_EQ(files(), "graph-1.json graph-2.json graph-3.json");
    EXPECT_TRUE(writer->file("graph-1.json", third)) << "written again, and now the newest";
    EXPECT_EQ(files(), "graph-1.json graph-2.json graph-3.json");
    EXPECT_TRUE(writer->file("graph-4.json", third));
    EXPECT_EQ(files(), "graph-1.json graph-3.json graph-4.json");
    ASSERT_EQ(texts_of("notice").size(), 1u);
    EXPECT_EQ(texts_of("notice")[0], "out_max of 10000 bytes is reached: deleted graph-2.json");
    EXPECT_TRUE(writer->file("graph-5.json", std::string(6000, 'x')));
    EXPECT_EQ(files(), "graph-4.json graph-5.json");
    EXPECT_EQ(texts_of("notice").at(1), "out_max of 10000 bytes is reached: deleted graph-3.json, graph-1.json");
    EXPECT_EQ(writer->losses().deleted_files, 3u);
    EXPECT_EQ(writer->losses().files, 0u);
}

TEST_F(ReportWriterLimits, OlderVersionIsNotDeletedToMakeRoomForTheNewOne) {
    const auto writer = make(10000);
    for (const char* name : {"graph-1.json", "graph-2.json", "graph-3.json"})
        EXPECT_TRUE(writer->file(name, std::string(3000, 'x')));
    EXPECT_TRUE(writer->file("graph-1.json", std::string(5000, 'x')));
    EXPECT_EQ(files(), "graph-1.json graph-3.json");
    EXPECT_EQ(texts_of("notice").at(0), "out_max of 10000 bytes is reached: deleted graph-2.json");
    EXPECT_TRUE(writer->file("graph-4.json", std::string(1000, 'x'))) << "9000 of 10000 bytes are counted";
    EXPECT_EQ(files(), "graph-1.json graph-3.json graph-4.json");
    EXPECT_TRUE(writer->file("graph-5.json", std::string(1000, 'x')));
    EXPECT_EQ(files(), "graph-1.json graph-4.json graph-5.json") << "10000 bytes and the notice do not fit";
}

TEST_F(ReportWriterLimits, GraphFileThatNeverFitsDeletesNothing) {
    const auto writer = make(10000);
    EXPECT_TRUE(writer->file("graph-1.json", std::string(3000, 'x')));
    EXPECT_FALSE(writer->file("graph-2.json", std::string(10001, 'x')));
    EXPECT_FALSE(writer->file("graph-1.json", std::string(10001, 'x')));
    EXPECT_EQ(files(), "graph-1.json");
    EXPECT_EQ(content(scratch / "recording/graph-1.json").size(), 3000u);
    ASSERT_EQ(texts_of("notice").size(), 1u) << "said once";
    EXPECT_TRUE(has(texts_of("notice")[0], "graph-2.json is left out"));
    EXPECT_EQ(writer->losses().files, 2u);
}

TEST_F(ReportWriterLimits, EventsDeleteGraphFilesThenOnlyTheImportantOnesAreWritten) {
    const CapturedStderr captured;
    const auto writer = make(3000);
    EXPECT_TRUE(writer->file("graph-1.json", std::string(1000, 'x')));
    EXPECT_TRUE(writer->file("graph-2.json", std::string(1000, 'x')));
    const Json large = {{"text", std::string(1700, 'x')}};
    EXPECT_TRUE(writer->event("instantiate", large));
    EXPECT_EQ(files(), "graph-2.json");
    EXPECT_FALSE(writer->event("instantiate", large)) << "1000 more bytes free are not enough";
    EXPECT_EQ(files(), "");
    EXPECT_FALSE(writer->event("capture", large));
    for (const char* type : {"finding", "death", "birth", "stack", "module", "summary"})
        EXPECT_TRUE(writer->event(type, large)) << type;
    std::vector<Writer::Event> both;
    both.push_back({"update", large});
    both.push_back({"finding", large});
    EXPECT_FALSE(writer->events(std::move(both)));
    EXPECT_EQ(texts_of("finding").size(), 2u);
    EXPECT_EQ(texts_of("instantiate").size(), 1u);
    EXPECT_EQ(texts_of("update").size(), 0u);
    const auto notices = texts_of("notice");
    ASSERT_EQ(notices.size(), 3u);
    EXPECT_TRUE(has(notices[0], "deleted graph-1.json"));
    EXPECT_TRUE(has(notices[1], "deleted graph-2.json"));
    EXPECT_TRUE(has(notices[2], "events that do not fit are left out"));
    EXPECT_EQ(writer->losses().events, 3u);
    EXPECT_EQ(captured.text(), "") << "the notice in the recording says it";
}

}  // namespace
}  // namespace keepgraph::report
