// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/quote.h"
#include "cli/show.h"
#include "config/settings.h"
#include "report/reader.h"

namespace keepgraph::cli {
namespace {

using report::Number;
using report::RecordedGraph;
using report::Recording;

std::string number_text(const Number& number, const char* otherwise = "?") {
    return number ? std::to_string(*number) : otherwise;
}

std::string driver_text(const Recording& recording) {
    if (!recording.driver_version)
        return recording.driver_path.empty() ? "not recorded" : recording.driver_path;
    const std::uint64_t version = *recording.driver_version;  // 1000 * major + 10 * minor
    std::string text = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
    return recording.driver_path.empty() ? text : text + ", " + recording.driver_path;
}

/// The table has little room; `--graph` shows the types in full.
std::string short_type(const std::string& type) {
    static const std::map<std::string, std::string> shorter = {
        {"child_graph", "child"},       {"wait_event", "wait"},          {"event_record", "record"},
        {"ext_semas_signal", "signal"}, {"ext_semas_wait", "sema_wait"}, {"mem_alloc", "alloc"},
        {"mem_free", "free"},           {"batch_mem_op", "batch"},       {"conditional", "cond"}};
    const auto it = shorter.find(type);
    return it == shorter.end() ? type : it->second;
}

std::string nodes_text(const RecordedGraph& graph) {
    std::vector<std::pair<std::string, std::uint64_t>> types(graph.nodes.begin(), graph.nodes.end());
    std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (const auto& [type, count] : types)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, short_type(type));
    return text.empty() ? "-" : text;
}

/// Exact where the graph's end or that of the process was recorded (events `destroy` and `living`). Where that event
/// was left out, or the writer was older than `living`, the graph's file has the count, exact when the process ended in
/// order. Else what was written until then says "at least": the file, and a finding before replay N.
std::string replays_text(const Recording& recording, const RecordedGraph& graph) {
    if (graph.replays)
        return number_text(graph.replays);
    std::uint64_t at_least = 0;
    if (std::binary_search(recording.graph_files.begin(), recording.graph_files.end(), graph.number)) {
        try {
            const Number replays = report::read_graph(recording.folder, graph.number).replays;
            if (recording.summary && replays)
                return number_text(replays);
            at_least = replays.value_or(0);
        } catch (const report::ReadError&) {
            // `--graph` says what is wrong with the file
        }
    }
    for (const report::RecordedFinding& finding : recording.findings)
        if (finding.graph == graph.number && finding.replay.value_or(0) > 0)
            at_least = std::max(at_least, *finding.replay - 1);
    return at_least > 0 ? std::to_string(at_least) + "+" : "?";
}

std::string where_made(const Recording& recording, const RecordedGraph& graph, StackText& stacks) {
    if (graph.capture) {
        const auto capture = recording.captures.find(*graph.capture);
        if (capture != recording.captures.end()) {
            if (std::string text = stacks.one_line(capture->second.begin_stack); !text.empty())
                return text;
        }
    }
    return stacks.one_line(graph.stack);
}

}  // namespace

std::string command_text(const Recording& recording) {
    std::string text;
    for (const std::string& word : recording.command)
        text += (text.empty() ? "" : " ") + shell_word(word);
    return text.empty() ? "not recorded" : text;
}

void print_header(Page& page, const Recording& recording) {
    page.paragraph("recording  " + recording.folder, 11);
    page.paragraph("program    " + command_text(recording), 11);
    page.line(fmt::format("process    {} on {}, started {}", number_text(recording.pid),
                          recording.host.empty() ? "?" : recording.host,
                          recording.started.empty() ? "?" : recording.started));
    page.paragraph("driver     " + driver_text(recording), 11);
    page.line("keepgraph  " + (recording.keepgraph_version.empty() ? "?" : recording.keepgraph_version));
    if (recording.summary)
        page.line("ended      in order");
    else
        page.paragraph(
            "ended      did not end in order: the summary line is missing (killed, crashed, or still "
            "running); what was written until then follows",
            11);
}

void print_graphs(Page& page, const Recording& recording, StackText& stacks) {
    page.heading("graphs");
    if (recording.graphs.empty()) {
        page.line("  none was instantiated");
        return;
    }
    using Kind = Table::Kind;
    Table table({{"graph", Kind::number},
                 {"template", Kind::number},
                 {"capture", Kind::number},
                 {"nodes", Kind::elastic_end},
                 {"inputs", Kind::number},
                 {"opaque", Kind::number},
                 {"replays", Kind::number},
                 {"findings", Kind::number},
                 {"made in", Kind::elastic}});
    bool all_counted = true;
    for (const auto& [number, graph] : recording.graphs) {
        const std::string replays = replays_text(recording, graph);
        all_counted = all_counted && replays.find_first_of("?+") == std::string::npos;
        table.add({std::to_string(number), number_text(graph.graph_template),
                   graph.capture ? std::to_string(*graph.capture) : "by hand", nodes_text(graph),
                   number_text(graph.inputs), number_text(graph.opaque), replays,
                   std::to_string(recording.findings_of(number)), where_made(recording, graph, stacks)});
    }
    table.print(page);
    if (!all_counted)
        page.paragraph(recording.summary
                           ? "  replays ? (not known) and N+ (at least N): the event with the count was left out "
                             "(OPTIONS=out_max), or an older keepgraph did not write it"
                           : "  replays ? (not known) and N+ (at least N): a graph's count is written when it "
                             "is destroyed, when it has a finding and when the process ends in order");
}

void print_ending(Page& page, const Recording& recording) {
    if (!recording.notices.empty()) {
        page.heading("notices");
        for (const report::RecordedNotice& notice : recording.notices)
            page.paragraph("  " + notice.text);
    }
    if (!recording.problems.empty() || recording.last_line_cut || recording.unknown_events != 0) {
        page.heading("of the recording itself");
        for (const report::Problem& problem : recording.problems)
            page.paragraph(problem.line != 0 ? fmt::format("  {} line {}: {}", problem.file, problem.line, problem.text)
                                             : fmt::format("  {}: {}", problem.file, problem.text));
        if (recording.bad_lines != 0)
            page.paragraph("  events.jsonl: " + counted(recording.bad_lines, "line") + " could not be used");
        if (recording.last_line_cut)
            page.paragraph("  events.jsonl: the last line is cut");
        if (recording.unknown_events != 0)
            page.paragraph("  events.jsonl: " + counted(recording.unknown_events, "line") +
                           " of a type that this keepgraph does not know");
    }
    page.blank();
    if (!recording.summary) {
        page.paragraph("keepgraph: did not end in order; until then " + counted(recording.graphs.size(), "graph") +
                       ", " + counted(recording.findings.size(), "finding"));
        return;
    }
    const report::RecordedSummary& summary = *recording.summary;
    std::string text =
        fmt::format("keepgraph: {}, {}; {} checked, {} opaque", counted(summary.graphs.value_or(0), "graph"),
                    counted(summary.replays.value_or(0), "replay"), counted(summary.inputs.value_or(0), "input"),
                    summary.opaque.value_or(0));
    if (!summary.opaque_reason.empty())
        text += " (" + summary.opaque_reason + ")";
    page.paragraph(
        text + "; " + counted(summary.findings.value_or(recording.findings.size()), "finding") +
        config::not_shown_text(summary.likely_not_shown.value_or(0), summary.possible_not_shown.value_or(0)));
}

void print_choice(Page& page, const std::string& parent, const report::FoundRecordings& found) {
    page.paragraph(counted(found.folders.size(), "recording") + " in " + parent + ", the newest last");
    struct Choice {
        std::string started;  // RFC 3339 in UTC: sorts as text, what is not known first
        std::string folder;
        std::vector<std::string> cells;
    };
    std::vector<Choice> choices;
    for (const std::string& folder : found.folders) {
        // With the folder of the run, which tells the processes of one run from those of another.
        const std::string below = std::filesystem::path(folder).lexically_relative(parent).string();
        try {
            const Recording recording = report::read_recording(folder);
            const std::string started = recording.started.empty() ? "?" : recording.started;
            choices.push_back({recording.started,
                               folder,
                               {started, number_text(recording.pid), std::to_string(recording.graphs.size()),
                                std::to_string(recording.findings.size()),
                                recording.summary ? "in order" : "not in order", below, command_text(recording)}});
        } catch (const report::ReadError& error) {
            choices.push_back({"", folder, {"?", "?", "?", "?", "unreadable", below, error.what()}});
        }
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& one, const Choice& other) { return one.started < other.started; });
    using Kind = Table::Kind;
    Table table({{"started"},
                 {"pid", Kind::number},
                 {"graphs", Kind::number},
                 {"findings", Kind::number},
                 {"ended"},
                 {"folder", Kind::elastic},
                 {"program", Kind::elastic}});
    for (const Choice& choice : choices)
        table.add(choice.cells);
    table.print(page);
    for (const std::string& folder : found.unlisted)
        page.paragraph("not looked into: " + folder);
    page.blank();
    page.whole_line("show one with: keepgraph show " + shell_word(choices.back().folder));  // to be pasted
}

}  // namespace keepgraph::cli
