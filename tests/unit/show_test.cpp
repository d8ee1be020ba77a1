// SPDX-License-Identifier: Apache-2.0
// `keepgraph show` as a user runs it.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "fixture.h"
#include "report/text.h"

namespace keepgraph::unit_tests {
namespace {

using Json = nlohmann::ordered_json;

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class ShowTest : public testing::Test {
  protected:
    TempFolder temp_;
    std::string folder_ = copy_of_recording(temp_ / "r");
};

#define EXPECT_HOLDS(text, part) EXPECT_TRUE(holds(text, part)) << "no \"" << (part) << "\" in:\n" << (text)

TEST_F(ShowTest, HeaderGraphsFindingsNoticesAndTheSummaryLast) {
    const Outcome outcome = show({folder_});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    for (const char* part :
         {"./train --epochs 'two words'", "4242 on node7", "CUDA 13.0", "in order", "2 kernel, ", "by hand",
          "step train.py:12", "finding 1: graph 1 was about to use 4096 bytes of device memory at 0x7f82c2c01000",
          "node 0, kernel scale, parameter 0 +0 = 0x7f82c2c01010", "cuMemFree_v2 (cudaFree), thread 4243 \"worker\"",
          "8192 bytes of device memory", "graph 2 was changed by"})
        EXPECT_HOLDS(outcome.out, part);
    const std::string last = preload_tests::split_lines(outcome.out).back();
    EXPECT_EQ(last, "keepgraph: 2 graphs, 43 replays; 4 inputs checked, 1 opaque (child graph); 1 finding");
}

TEST_F(ShowTest, NoHintAtASettingThatTheRunHad) {
    EXPECT_HOLDS(show({folder_}).out, "  allocated     where is not recorded (KEEPGRAPH_STACKS=all)\n");
    replace_in(folder_ + "/manifest.json", "\"CHECK\": \"inputs\"", "\"STACKS\": \"all\"");
    EXPECT_HOLDS(show({folder_}).out, "  allocated     where is not recorded\n");
}

TEST_F(ShowTest, PythonStandsAboveNativeAndInternalsNeedFull) {
    const std::string brief = show({folder_}).out;
    EXPECT_LT(brief.find("python  step"), brief.find("#0  train+0x200"));
    EXPECT_FALSE(holds(brief, "libcudart.so.13"));
    const std::string full = show({folder_, "--full"}).out;
    EXPECT_HOLDS(full, "libcudart.so.13+0x100");
    EXPECT_HOLDS(full, "/nowhere/libcudart.so.13: file not found");
    // As a wheel renames the one that it brings.
    replace_in(folder_ + "/manifest.json", "libcudart.so.13", "libcudart-5e0c1a7b.so.13");
    EXPECT_FALSE(holds(show({folder_}).out, "libcudart"));
    EXPECT_HOLDS(show({folder_, "--full"}).out, "libcudart-5e0c1a7b.so.13+0x100");
}

TEST_F(ShowTest, FindingShowsFunctionFileAndLine) {
    const std::string program = from_environment("KEEPGRAPH_STACKS") + "/stack_no_pie";
    std::string module, call, line_number;
    for (const std::string& line : preload_tests::split_lines(run_tool({program}).out)) {
        std::istringstream words(line);
        std::string what, base, end, id, path;
        words >> what >> base >> end >> id;
        if (what == "module" && words >> path && path == program)
            module = Json({{"path", path}, {"base", base}, {"end", end}, {"build_id", id}}).dump();
        if (what == "call" && id == "plain_function" && call.empty()) {
            call = base;
            line_number = end;
        }
    }
    ASSERT_FALSE(module.empty() || call.empty());
    replace_in(folder_ + "/manifest.json", "{\"path\": \"/nowhere/train\"", module + ", {\"path\": \"/nowhere/other\"");
    replace_in(folder_ + "/manifest.json", "\"0x400000\", \"end\": \"0x500000\"", "\"0x1\", \"end\": \"0x2\"");
    replace_in(folder_ + "/events.jsonl", "\"0x7f0000000104\", \"0x400400\"", "\"0x7f0000000104\", \"" + call + "\"");
    const Outcome outcome = show({folder_});
    EXPECT_HOLDS(outcome.out, "#0  plain_function  stack_functions.cpp:" + line_number);
    const Json json = Json::parse(show({folder_, "--graph", "1", "--json", "-"}).out);
    EXPECT_EQ(json["stacks"]["3"]["frames"][1]["function"], "plain_function");
    EXPECT_EQ(json["stacks"]["3"]["frames"][1]["line"], std::stoi(line_number));
}

TEST_F(ShowTest, KilledProcess) {
    std::string text = read_file(folder_ + "/events.jsonl");
    text.resize(text.rfind("\"replays\": 43"));
    write_file(folder_ + "/events.jsonl", text);
    const Outcome outcome = show({folder_});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_HOLDS(outcome.out, "did not end in order");
    EXPECT_HOLDS(outcome.out, "the last line is cut");
    EXPECT_HOLDS(outcome.out, "finding 1:");
    EXPECT_EQ(preload_tests::split_lines(outcome.out).back(),
              "keepgraph: did not end in order; until then 2 graphs, 1 finding");
}

/// The cells of the line in the table of graphs that begins with `number`.
std::vector<std::string> row_of_graph(const std::string& out, const std::string& number) {
    bool inside = false;
    for (const std::string& line : preload_tests::split_lines(out)) {
        inside = inside ? line.find("findings") != 0 : line.find("graphs") == 0;
        std::istringstream words(line);
        const std::vector<std::string> cells{std::istream_iterator<std::string>(words), {}};
        if (inside && !cells.empty() && cells[0] == number)
            return cells;
    }
    return {};
}
bool has_cell(const std::vector<std::string>& row, const std::string& cell) {
    return std::find(row.begin(), row.end(), cell) != row.end();
}

TEST_F(ShowTest, ReplaysOfAKilledProcessAreWhatIsKnownOfThem) {
    const Outcome whole = show({folder_});
    EXPECT_TRUE(has_cell(row_of_graph(whole.out, "1"), "40")) << whole.out;
    EXPECT_TRUE(has_cell(row_of_graph(whole.out, "2"), "?")) << whole.out;
    EXPECT_HOLDS(whole.out, "out_max");
    EXPECT_HOLDS(whole.out, "N+ (at least N)");
    append(folder_ + "/events.jsonl", R"({"type":"living","t":9.0,"thread":1,"graph":2,"replays":7,"updates":0})"
                                      "\n");
    EXPECT_TRUE(has_cell(row_of_graph(show({folder_}).out, "2"), "7")) << "it was not destroyed, and the process ended";

    std::string events;
    for (const std::string& line : preload_tests::split_lines(read_file(folder_ + "/events.jsonl")))
        if (!holds(line, "\"summary\"") && !holds(line, "\"destroy\"") && !holds(line, "\"living\""))
            events += line + "\n";
    write_file(folder_ + "/events.jsonl", events);
    const Outcome killed = show({folder_});
    EXPECT_TRUE(has_cell(row_of_graph(killed.out, "1"), "3+")) << "of its file\n" << killed.out;
    EXPECT_TRUE(has_cell(row_of_graph(killed.out, "2"), "?")) << killed.out;
    EXPECT_HOLDS(killed.out, "N+ (at least N)");
    EXPECT_HOLDS(show({folder_, "--graph", "1"}).out, "3 replays or more");

    std::filesystem::remove(folder_ + "/graph-1.json");
    const Outcome no_file = show({folder_});
    EXPECT_TRUE(has_cell(row_of_graph(no_file.out, "1"), "2+")) << "its finding came before replay 3\n" << no_file.out;
}

TEST_F(ShowTest, DroppedDataIsSaid) {
    EXPECT_FALSE(holds(show({folder_, "--graph", "1"}).out, "KEEP"));
    replace_in(folder_ + "/graph-1.json", "\"replays\"", "\"data_dropped\": true, \"replays\"");
    EXPECT_HOLDS(show({folder_, "--graph", "1"}).out, "KEEP was off, or its max was reached");
}

TEST_F(ShowTest, JsonIsSafeForATerminalAndMeansTheSame) {
    const std::string harm =
        "a\xc2\x9b"
        "1m\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\x7f z\xc3\xbc";
    replace_in(folder_ + "/manifest.json", "node7", harm);
    const std::string out = show({folder_, "--json", "-"}).out;
    for (const char* part : {"\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\x7f"})
        EXPECT_FALSE(holds(out, part));
    EXPECT_HOLDS(out, "\"a\\u009b1m\\u202e\\u2066\\u2069\\u007f z\xc3\xbc\"");
    EXPECT_EQ(Json::parse(out)["manifest"]["host"], harm);
}

TEST_F(ShowTest, MalformedLinesAreNamed) {
    append(folder_ + "/events.jsonl", "oops\n");
    const Outcome outcome = show({folder_});
    EXPECT_TRUE(outcome.ended_with(0));
    EXPECT_HOLDS(outcome.out, "events.jsonl line 14: not valid JSON");
    EXPECT_HOLDS(outcome.out, "1 line could not be used");
}

TEST_F(ShowTest, SeveralProcessesAreListed) {
    copy_of_recording(temp_ / "s");
    replace_in(temp_ / "s/manifest.json", "4242", "5151");
    copy_of_recording(temp_ / "t");
    replace_in(temp_ / "t/manifest.json", "\"schema\": 1", "\"schema\": 9");
    const Outcome outcome = show({temp_.path()});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_HOLDS(outcome.out, "3 recordings");
    EXPECT_HOLDS(outcome.out, "4242");
    EXPECT_HOLDS(outcome.out, "5151");
    EXPECT_HOLDS(outcome.out, "unreadable");
    EXPECT_HOLDS(outcome.out, "keepgraph show " + temp_.path() + "/s");  // of the same second: by name
    EXPECT_FALSE(holds(outcome.out, "finding 1:"));
    EXPECT_TRUE(show({temp_.path(), "--graph", "1"}).ended_with(2));
    std::filesystem::remove_all(temp_ / "s");
    std::filesystem::remove_all(temp_ / "t");
    EXPECT_HOLDS(show({temp_.path()}).out, "finding 1:");  // only one is left: no choice to make
}

TEST_F(ShowTest, RecordingsOfRunsWithTheirOwnFolderAreListedByTime) {
    // As `run --error-exitcode` leaves them: a folder per run, a recording per process in it.
    std::filesystem::create_directories(temp_ / "out/b-run");
    std::filesystem::rename(folder_, temp_ / "out/b-run/p1");
    EXPECT_HOLDS(show({temp_ / "out"}).out, "finding 1:");
    copy_of_recording(temp_ / "out/a-run");
    replace_in(temp_ / "out/a-run/manifest.json", "2026-01-31", "2026-02-28");
    const Outcome outcome = show({temp_ / "out"});
    EXPECT_HOLDS(outcome.out, "2 recordings");
    EXPECT_HOLDS(outcome.out, "b-run/p1");
    EXPECT_LT(outcome.out.find("b-run/p1"), outcome.out.find("a-run")) << outcome.out;
    EXPECT_HOLDS(outcome.out, "keepgraph show " + temp_.path() + "/out/a-run");
}

TEST_F(ShowTest, NoRecordingIsAnErrorThatNamesTheFolder) {
    std::filesystem::create_directory(temp_ / "empty");
    for (const char* name : {"empty", "absent"}) {
        const Outcome outcome = show({temp_ / name});
        EXPECT_TRUE(outcome.ended_with(1)) << outcome.describe();
        EXPECT_HOLDS(outcome.err, temp_ / name);
        EXPECT_EQ(outcome.out, "");
    }
    EXPECT_TRUE(show({}).ended_with(2));
}

TEST_F(ShowTest, NewerSchemaIsRefused) {
    replace_in(folder_ + "/manifest.json", "\"schema\": 1", "\"schema\": 2");
    const Outcome outcome = show({folder_});
    EXPECT_TRUE(outcome.ended_with(1));
    EXPECT_HOLDS(outcome.err, "manifest.json: schema is 2, allowed: 1 to 1");
}

TEST_F(ShowTest, OneGraph) {
    const Outcome outcome = show({folder_, "--graph", "1"});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    for (const char* part :
         {"template 1, capture 1, exec 0x5500, 3 replays", "scale", "grid 4x1x1 block 256x1x1", "nodes of child#2",
          "unknown (99)", "parameter 1", "07000000", "#5", "+16", "64 bytes of pinned memory"})
        EXPECT_HOLDS(outcome.out, part);
}

TEST_F(ShowTest, GraphThatIsNotRecorded) {
    replace_in(folder_ + "/manifest.json", "findings,graphs", "findings");
    Outcome outcome = show({folder_, "--graph", "2"});
    EXPECT_TRUE(outcome.ended_with(1));
    EXPECT_HOLDS(outcome.err, "what graph 2 holds was not recorded; recorded: 1.");
    EXPECT_HOLDS(outcome.err, "KEEPGRAPH_WRITE=graphs");
    outcome = show({folder_, "--graph", "9", "--dot", "-"});
    EXPECT_TRUE(outcome.ended_with(1));
    EXPECT_HOLDS(outcome.err, "there is no graph 9");
    for (const char* number : {"4", "5", "6", "8"})
        write_file(folder_ + "/graph-" + number + ".json", "{}");
    EXPECT_HOLDS(show({folder_, "--graph", "9"}).err, "recorded: 1, 4-6, 8.");
}

TEST_F(ShowTest, WhatIsNoGraphsNumberIsWrongUsage) {
    for (const char* text : {"-1", "0", "99999999999999999999", "1x", "+1", "0x1", "1.0", " 1", ""}) {
        const Outcome outcome = show({folder_, "--graph", text});
        EXPECT_TRUE(outcome.ended_with(2)) << text << ": " << outcome.describe();
        EXPECT_HOLDS(outcome.err, std::string("--graph: ") + (*text != '\0' ? text : "an empty value") +
                                      " is not allowed: use a graph's number, 1 or more");
        EXPECT_EQ(outcome.out, "");
    }
    EXPECT_HOLDS(show({folder_, "--graph=-1"}).err, "--graph: -1 is not allowed");
    EXPECT_HOLDS(show({folder_, "--graph", "18446744073709551615"}).err, "there is no graph 18446744073709551615;");
}

TEST_F(ShowTest, GraphThatOutMaxKeptOutIsSaidSo) {
    replace_in(folder_ + "/manifest.json", "findings,graphs", "findings");
    const std::string kept_out = "graph-1.json is left out, and so is every later graph file that does not fit";
    std::filesystem::remove(folder_ + "/graph-1.json");
    EXPECT_HOLDS(show({folder_, "--graph", "1"}).err, "KEEPGRAPH_WRITE=graphs");  // no notice: the reason is not known
    append(folder_ + "/events.jsonl",
           "{\"type\": \"notice\", \"t\": 1, \"text\": \"out_max of 10 bytes is reached: " + kept_out + "\"}\n");
    const Outcome outcome = show({folder_, "--graph", "1"});
    EXPECT_TRUE(outcome.ended_with(1)) << outcome.describe();
    EXPECT_HOLDS(outcome.err, "out_max of 10 bytes is reached: " + kept_out);
    EXPECT_HOLDS(outcome.err, "KEEPGRAPH_OPTIONS=out_max=SIZE");
    EXPECT_FALSE(holds(outcome.err, "KEEPGRAPH_WRITE=graphs"));
    // Graph 2 has no finding, and so would have no file with any limit.
    EXPECT_HOLDS(show({folder_, "--graph", "2"}).err, "KEEPGRAPH_WRITE=graphs");
}

TEST_F(ShowTest, FindingNamesCallsAndThreads) {
    const std::string out = show({folder_}).out;
    EXPECT_HOLDS(out, "capture 1, begun by cuStreamBeginCapture_v2, thread 4242 \"train\"");
    EXPECT_HOLDS(out, "instantiated  by cuGraphInstantiateWithFlags, thread 4242");
    EXPECT_HOLDS(out, "launched      by thread 4242, at 0.600 s");
    EXPECT_HOLDS(out, "replay 3");
}

TEST_F(ShowTest, GraphJsonHasTorchsKeysAndKeepsUnknownOnes) {
    const std::string file = temp_ / "graph.json";
    ASSERT_TRUE(show({folder_, "--graph", "1", "--json", file}).ended_with(0));
    const Json json = Json::parse(read_file(file));
    EXPECT_EQ(json["exec_graph_id"], 0);
    EXPECT_EQ(json["a_new_key"]["kept"], true);
    ASSERT_EQ(json["nodes"].size(), 4u);
    const std::vector<std::string> keys = {"index",        "node_type",    "tools_id",  "graph_id",
                                           "node_id",      "kernel_name",  "event_ptr", "host_fn_addr",
                                           "host_fn_name", "dependencies", "dependents"};
    const Json child_node = json["graphs"][0]["nodes"][1];
    for (const Json& node : {json["nodes"][0], json["nodes"][2], child_node}) {
        std::vector<std::string> first;
        for (const auto& [key, value] : node.items())
            first.push_back(key);
        first.resize(keys.size());
        EXPECT_EQ(first, keys);
    }
    EXPECT_EQ(json["nodes"][2]["dependencies"], Json::array({1}));
    EXPECT_EQ(json["edges"].size(), 3u);
    EXPECT_EQ(json["findings"][0]["kind"], "recycled");
    EXPECT_EQ(json["stacks"]["1"]["python"][0]["line"], 12);
    EXPECT_EQ(json["stacks"]["3"]["frames"][1]["trouble"], "file not found");
}

TEST_F(ShowTest, WholeRecordingAsJson) {
    append(folder_ + "/events.jsonl", "oops\n");
    const Outcome outcome = show({folder_, "--json", "-"});
    ASSERT_TRUE(outcome.ended_with(0)) << outcome.describe();
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["ended_in_order"], true);
    EXPECT_EQ(json["manifest"]["pid"], 4242);
    EXPECT_EQ(json["graphs"].size(), 1u);
    EXPECT_EQ(json["stacks"].size(), 3u);
    EXPECT_EQ(json["events"].size(), 10u);  // 13 lines, 3 of them stacks
    EXPECT_EQ(json["unusable_lines"], 1);
}

TEST_F(ShowTest, FilesAreNotOverwrittenWithoutForce) {
    const std::string file = temp_ / "out";
    write_file(file, "precious");
    for (const char* format : {"--dot", "--json"}) {
        const Outcome refused = show({folder_, "--graph", "1", format, file});
        EXPECT_TRUE(refused.ended_with(2)) << refused.describe();
        EXPECT_HOLDS(refused.err, file);
        EXPECT_EQ(read_file(file), "precious");
    }
    EXPECT_TRUE(show({folder_, "--graph", "1", "--dot", file, "--force"}).ended_with(0));
    EXPECT_EQ(read_file(file).rfind("digraph", 0), 0u);
    EXPECT_TRUE(show({folder_, "--graph", "1", "--dot", temp_ / "no/such/folder"}).ended_with(1));
    EXPECT_TRUE(show({folder_, "--dot", "-"}).ended_with(2));  // of which graph?
    EXPECT_TRUE(show({folder_, "--graph", "1", "--dot", "-", "--json", "-"}).ended_with(2));
    EXPECT_TRUE(show({folder_, "--graph", "one"}).ended_with(2));
}

/// What the command writes to a terminal of 60 columns.
std::string shown_on_terminal(const std::string& folder, const char* columns, const char* no_color,
                              const char* graph = nullptr) {
    winsize size{};
    size.ws_col = 60;
    int terminal = -1;
    const std::string command = from_environment("KEEPGRAPH_COMMAND");
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
        setenv("TERM", "xterm", 1);
        columns != nullptr ? setenv("COLUMNS", columns, 1) : unsetenv("COLUMNS");
        no_color != nullptr ? setenv("NO_COLOR", no_color, 1) : unsetenv("NO_COLOR");
        execl(command.c_str(), command.c_str(), "show", folder.c_str(), graph != nullptr ? "--graph" : nullptr, graph,
              nullptr);
        _exit(127);
    }
    std::string text;
    char buffer[4096];
    for (ssize_t length; (length = read(terminal, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(length));
    close(terminal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::erase(text, '\r');
    return text;
}

std::size_t longest_line(const std::string& text) {
    std::size_t longest = 0;
    for (const std::string& line : preload_tests::split_lines(text))
        longest = std::max(longest, report::columns(line));
    return longest;
}

TEST_F(ShowTest, ATerminalSetsWidthAndColours) {
    const std::string plain = shown_on_terminal(folder_, nullptr, "1");
    EXPECT_LE(longest_line(plain), 60u);
    EXPECT_FALSE(holds(plain, "\033"));
    EXPECT_GT(longest_line(shown_on_terminal(folder_, "90", "1")), 60u);
    EXPECT_HOLDS(shown_on_terminal(folder_, nullptr, nullptr), "\033[1;31mfinding 1");
    EXPECT_FALSE(holds(show({folder_}, {{"TERM", "xterm"}}).out, "\033"));
}

constexpr std::size_t longest_name = 200;

TEST_F(ShowTest, OnAPipeOnlyVeryLongNamesAreCut) {
    const std::string long_name(300, 'n');
    const std::string name(longest_name - 20, 'm');
    replace_in(folder_ + "/events.jsonl", "/home/u/train.py", "/home/" + long_name + "/train.py");
    replace_in(folder_ + "/events.jsonl", "\"function\": \"step\"", "\"function\": \"" + name + "\"");
    replace_in(folder_ + "/graph-1.json", "\"kernel_name\": \"_Z5scalePfi\"", "\"kernel_name\": \"" + name + "\"");
    replace_in(folder_ + "/graph-1.json", "odd \\\"name", long_name);
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{folder_}, std::vector<std::string>{folder_, "--graph", "1"}}) {
        const Outcome outcome = show(args, {{"COLUMNS", "60"}});  // no terminal: of no importance
        EXPECT_HOLDS(outcome.out, name);
        EXPECT_FALSE(holds(outcome.out, long_name));
    }
    EXPECT_HOLDS(show({folder_, "--full"}).out, long_name + "/train.py:12");
    const std::string graph = show({folder_, "--graph", "1"}).out;
    EXPECT_HOLDS(graph, "freed: finding 1");
    EXPECT_HOLDS(graph, "1010c0c2827f0000");
}

TEST_F(ShowTest, OnATerminalNamesAreCutAndAddressesAreNot) {
    const std::string long_name(300, 'n');
    replace_in(folder_ + "/events.jsonl", "\"function\": \"step\"", "\"function\": \"" + long_name + "\"");
    replace_in(folder_ + "/graph-1.json", "\"kernel_name\": \"_Z5scalePfi\"", "\"kernel_name\": \"" + long_name + "\"");
    replace_in(folder_ + "/graph-1.json", "\"src\": \"0x10\", \"dst\": \"0x20\"",
               "\"src\": \"0x7f1234567000\", \"dst\": \"0x7f89abcde000\"");
    for (const char* columns : {"40", "100"}) {
        EXPECT_LE(longest_line(shown_on_terminal(folder_, columns, "1")), std::stoul(columns));
        const std::string graph = shown_on_terminal(folder_, columns, "1", "1");
        for (const char* address : {"0x7f1234567000", "0x7f89abcde000", "0x7f82c2c01010", "0x7f82c2c01000",
                                    "1010c0c2827f0000", "freed: finding 1"})
            EXPECT_HOLDS(graph, address);
        EXPECT_FALSE(holds(graph, long_name));
    }
}

TEST_F(ShowTest, NodesOfEventsNameTheirEvent) {
    replace_in(folder_ + "/graph-1.json", "\"node_type\": \"child_graph\"",
               "\"node_type\": \"wait_event\", \"event_ptr\": \"0x55aa66bb\"");
    EXPECT_HOLDS(show({folder_, "--graph", "1"}).out, "event 0x55aa66bb");
}

TEST_F(ShowTest, ControlCharactersOfTheRecordStayOut) {
    const std::string escape = "\\u001b]0;x\\u0007\\u009b31m\\r\\n";
    for (const char* value : {"train.py", "worker", "cuMemFree_v2", "likely", "device", "parameter 0 +0", "recycled",
                              "graph 2 was changed", "child graph", "\"kernel\"", "plugin.so", "no interpreter"}) {
        const std::string text = value;
        const bool quoted = text.front() == '"';
        replace_in(folder_ + "/events.jsonl", text, quoted ? "\"kernel" + escape + "\"" : escape + text);
    }
    for (const char* value : {"./train", "node7", "2026", "0.1.0", "/usr/lib"})
        replace_in(folder_ + "/manifest.json", value, escape + value);
    for (const char* value : {"scale", "child_graph", "child#2", "no CUPTI", "pinned", "1010c0c2", "grade\": \"likely"})
        replace_in(folder_ + "/graph-1.json", value,
                   std::string(value).rfind("grade", 0) == 0 ? "grade\": \"" + escape : escape + value);
    append(folder_ + "/events.jsonl", "{\"type\": \"\033[2J\n");
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{folder_}, std::vector<std::string>{folder_, "--full"},
          std::vector<std::string>{folder_, "--graph", "1"},
          std::vector<std::string>{folder_, "--graph", "1", "--dot", "-"},
          std::vector<std::string>{folder_, "--graph", "1", "--json", "-"},
          std::vector<std::string>{folder_, "--json", "-"}}) {
        const Outcome outcome = show(args);
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        for (const char c : outcome.out)
            ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << int(c);
        EXPECT_FALSE(holds(outcome.out, "\x7f"));
        EXPECT_FALSE(holds(outcome.out, "\xc2\x9b"));
    }
    const Outcome error = show({temp_ / "\033[31m"});
    EXPECT_FALSE(holds(error.err, "\033"));
}

}  // namespace
}  // namespace keepgraph::unit_tests
