// SPDX-License-Identifier: Apache-2.0
// What a user reads in the end: `keepgraph show` on recordings that the shim wrote. Function, file and line come from
// the program's debug information; the lines that they must name are looked up in the source.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

/// `file.cpp:12`, where line 12 is the only one of tests/<path> that holds `text`.
std::string place_of(const std::string& path, const std::string& text) {
    const std::vector<std::string> lines = split_lines(read_file(source_folder() + "/tests/" + path));
    EXPECT_EQ(count_lines_with(lines, text), 1u) << path << ": " << text;
    size_t line = 0;
    while (line < lines.size() && lines[line].find(text) == std::string::npos)
        ++line;
    return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line + 1);
}

/// The stack below the line that begins with `title`, without what stands in front of the functions' names.
std::vector<std::string> stack_below(const std::vector<std::string>& lines, const std::string& title) {
    std::vector<std::string> frames;
    size_t at = 0;
    while (at < lines.size() && lines[at].compare(0, title.size(), title) != 0)
        ++at;
    const std::string indent(16, ' ');  // of what a long line goes on with
    for (++at; at < lines.size() && lines[at].compare(0, indent.size(), indent) == 0;)
        ++at;
    for (; at < lines.size() && lines[at].compare(0, 7, "      #") == 0; ++at)
        frames.push_back(lines[at].substr(std::min(lines[at].size(), size_t{10})));
    return frames;
}

/// Where the frame `function  place` stands; the number of frames when it is not there.
size_t position_of(const std::vector<std::string>& frames, const std::string& function, const std::string& place) {
    size_t at = 0;
    while (at < frames.size() && frames[at].find(function + "  " + place) == std::string::npos)
        ++at;
    EXPECT_LT(at, frames.size()) << "no frame " << function << "  " << place << " in:\n"
                                 << testing::PrintToString(frames);
    return at;
}

TEST(ShowOfARun, NamesTheTeardownThatFreedASharedWorkspace) {
    TempFolder folder;
    expect_transparent({victim("shared_workspace")}, recorded(folder, "findings"));
    const std::vector<std::string> lines = shown(Recording::only_one_in(folder.path()).folder);
    const std::vector<std::string> frames = stack_below(lines, "  freed by ");
    const std::string source = "programs/shared_workspace.cpp";
    const size_t drop = position_of(frames, "drop_workspace", place_of(source, "SHOW(gpu::free(workspace));"));
    const size_t tear_down = position_of(frames, "tear_down_graph_b", place_of(source, "    drop_workspace();"));
    const size_t main = position_of(frames, "main", place_of(source, "    tear_down_graph_b(graph_b);"));
    EXPECT_LT(drop, tear_down);
    EXPECT_LT(tear_down, main);
}

TEST(ShowOfARun, SaysThatTheAllocationHasNoStackOrShowsIt) {
    const std::string missing = "  allocated     where is not recorded";
    TempFolder usual;
    expect_transparent({victim("freed_input_shared")}, recorded(usual));
    std::vector<std::string> lines = shown(Recording::only_one_in(usual.path()).folder);
    EXPECT_EQ(count_lines_with(lines, missing + " (KEEPGRAPH_STACKS=all)"), 1u) << testing::PrintToString(lines);
    TempFolder all;
    expect_transparent({victim("freed_input_shared")}, recorded(all).with("KEEPGRAPH_STACKS", "all"));
    lines = shown(Recording::only_one_in(all.path()).folder);
    EXPECT_EQ(count_lines_with(lines, missing), 0u) << testing::PrintToString(lines);
    position_of(stack_below(lines, "  allocated"), "main",
                place_of("programs/freed_input.cpp", "float* input = allocate();"));
}

TEST(ShowOfARun, NamesFindingFreeAndCapture) {
    for (const std::string form : {"shared", "static", "driver"}) {
        TempFolder folder;
        expect_transparent({victim("freed_input_" + form)}, recorded(folder, "findings"));
        const std::vector<std::string> lines = shown(Recording::only_one_in(folder.path()).folder);
        const std::string source = "programs/freed_input.cpp";
        EXPECT_EQ(count_lines_with(lines, "finding 1: graph 1 was about to use 4096 bytes of device memory"), 1u)
            << form << testing::PrintToString(lines);
        EXPECT_EQ(count_lines_with(lines, "finding 2"), 0u) << form;
        EXPECT_EQ(count_lines_with(lines, "used by       node 0, kernel kg_scale, parameter 0 +0 = 0x"), 1u) << form;
        EXPECT_EQ(count_lines_with(lines, "  freed by      cuMemFree_v2"), 1u) << form;
        const bool named = form == "shared";  // the runtime's functions of a static cudart are not seen
        EXPECT_EQ(count_lines_with(lines, std::string("  captured      capture 1, begun by cuStreamBeginCapture_v2") +
                                              (named ? " (cudaStreamBeginCapture), thread" : ", thread")),
                  1u)
            << form << testing::PrintToString(lines);
        EXPECT_EQ(count_lines_with(lines, std::string("  launched      by cuGraphLaunch") +
                                              (named ? " (cudaGraphLaunch), thread" : ", thread")),
                  1u)
            << form << testing::PrintToString(lines);
        position_of(stack_below(lines, "  freed by "), "main", place_of(source, "SHOW(gpu::free(input));"));
        position_of(stack_below(lines, "  captured "), "main", place_of(source, "gpu::Exec exec = capture("));
        position_of(stack_below(lines, "  launched"), "main", place_of(source, "replay(\"after the free\""));
    }
}

TEST(ShowOfARun, NamesPythonLines) {
    TempFolder folder;
    const std::string source = "preload/programs/ctypes_graph.py", path = source_folder() + "/tests/" + source;
    const Outcome outcome = expect_transparent({"python3", path}, recorded(folder, "findings"));
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(count_lines_with(split_lines(outcome.out), "after the free: launch 0"), 1u) << outcome.describe();
    const Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.findings().size(), 1u) << outcome.describe();
    const Json finding = recording.findings()[0];
    EXPECT_EQ(finding.at("kind"), "freed");
    EXPECT_EQ(finding.at("grade"), "certain");
    EXPECT_EQ(finding.at("references").at(0).at("slot"), "src");

    const auto python_of = [&](const Json& id) {
        std::vector<std::string> frames;
        const Json stack = recording.stack(id);
        EXPECT_FALSE(stack.contains("python_unavailable")) << stack;
        for (const Json& frame : stack.value("python", Json::array())) {
            EXPECT_EQ(frame.at("file"), path);
            frames.push_back(frame.at("function").get<std::string>() + " " +
                             std::to_string(frame.at("line").get<int>()));
        }
        return frames;
    };
    const auto at = [&](const std::string& function, const std::string& text) {
        const std::string place = place_of(source, text);
        return function + " " + place.substr(place.rfind(':') + 1);
    };
    EXPECT_EQ(python_of(finding.at("death").at("stack")),
              (std::vector<std::string>{at("release", "must(cuda.cuMemFree_v2("), at("main", "    release(source)"),
                                        at("<module>", "sys.exit(main())")}));
    EXPECT_EQ(python_of(finding.at("capture_stack")),
              (std::vector<std::string>{at("begin_capture", "cuda.cuStreamBeginCapture_v2("),
                                        at("capture_copy", "    begin_capture(stream)"),
                                        at("main", "graph = capture_copy("), at("<module>", "sys.exit(main())")}));
    const std::vector<std::string> lines = shown(recording.folder);
    EXPECT_EQ(count_lines_with(lines, "python  release  "), 1u) << testing::PrintToString(lines);
    EXPECT_EQ(count_lines_with(lines, place_of(source, "must(cuda.cuMemFree_v2(")), 1u)
        << testing::PrintToString(lines);
}

}  // namespace
}  // namespace keepgraph::preload_tests
