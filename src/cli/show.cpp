// SPDX-License-Identifier: Apache-2.0
// `keepgraph show DIR`: what a recording says, as tables, DOT or JSON.
#include "cli/show.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/help.h"
#include "report/dot.h"
#include "report/reader.h"
#include "report/text.h"

namespace keepgraph::cli {
namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;

struct Options {
    std::string folder;
    std::optional<std::uint64_t> graph;
    std::string dot;
    std::string json;
    bool full = false;
    bool force = false;
};

std::optional<std::uint64_t> graph_number(const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end && number > 0 ? std::optional(number) : std::nullopt;
}

/// Ends the command with this exit code.
struct Refusal {
    int exit_code;
    std::string text;
};

void write_all(int fd, const std::string& text, const std::string& name) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t length = write(fd, text.data() + done, text.size() - done);
        if (length < 0 && errno != EINTR)
            throw Refusal{failed, name + ": " + std::strerror(errno)};
        done += length > 0 ? static_cast<std::size_t>(length) : 0;
    }
}

void write_output(const std::string& name, const std::string& text, bool force) {
    if (name == "-") {
        write_all(STDOUT_FILENO, text, "standard output");
        return;
    }
    // O_EXCL instead of a check beforehand: two commands at once must not write into one file.
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST)
        throw Refusal{wrong_usage, name + " exists already: --force overwrites it"};
    if (fd < 0)
        throw Refusal{failed, name + ": " + std::strerror(errno)};
    const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* open_fd) { close(*open_fd); });
    write_all(fd, text, name);
}

std::string numbers_text(const std::vector<std::uint64_t>& numbers) {
    // Runs become ranges, since with WRITE=graphs there may be thousands.
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
        if (last != i)
            text += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
        i = last + 1;
    }
    return text;
}

bool writes_all_graphs(const report::Recording& recording) {
    return std::any_of(recording.settings.begin(), recording.settings.end(), [](const auto& setting) {
        return setting.first == "WRITE" && setting.second.find("graphs") != std::string::npos;
    });
}

/// The notice that tells why a graph that should have a file has none: the limit out_max. Notices name the files that
/// were deleted and the first that was left out; those left out after it are not named.
std::string notice_of_limit(const report::Recording& recording, std::uint64_t graph) {
    if (!writes_all_graphs(recording) && recording.findings_of(graph) == 0)
        return {};
    const std::string name = fmt::format("graph-{}.json", graph);
    std::string left_out;
    for (const report::RecordedNotice& notice : recording.notices) {
        if (notice.text.rfind("out_max ", 0) != 0)
            continue;
        if (notice.text.find(name) != std::string::npos)
            return notice.text;
        if (notice.text.find("every later graph file") != std::string::npos)
            left_out = notice.text;
    }
    return left_out;
}

void check_recorded(const report::Recording& recording, std::uint64_t graph) {
    const std::vector<std::uint64_t>& files = recording.graph_files;
    if (std::binary_search(files.begin(), files.end(), graph))
        return;
    const bool was_made = recording.graphs.count(graph) != 0;
    std::string text = fmt::format("{}: ", recording.folder);
    text += was_made ? fmt::format("what graph {} holds was not recorded", graph)
                     : fmt::format("there is no graph {}", graph);
    text += files.empty() ? "; no graph was" : "; recorded: " + numbers_text(files);
    const std::string limit = was_made ? notice_of_limit(recording, graph) : "";
    if (!limit.empty())
        text +=
            fmt::format(". Its file is missing since {}. Raise the limit with KEEPGRAPH_OPTIONS=out_max=SIZE", limit);
    else if (!writes_all_graphs(recording))
        text +=
            ". To record every graph, run the program with `keepgraph run --write graphs`, or KEEPGRAPH_WRITE=graphs";
    throw Refusal{failed, text};
}

/// The one recording that the options mean, or nullopt after a list of them was printed.
std::optional<report::Recording> choose(const Options& options, Page& page) {
    const report::FoundRecordings found = report::find_recordings(options.folder);
    if (found.folders.empty()) {
        std::string text = fmt::format(
            "{}: no recording in this folder (no manifest.json, no events.jsonl), and none in its subfolders, {} "
            "levels "
            "down",
            options.folder, report::deepest_recording);
        for (const std::string& folder : found.unlisted)
            text += "; not looked into: " + folder;
        throw Refusal{failed, text};
    }
    if (found.folders.size() == 1) {
        for (const std::string& folder : found.unlisted)
            std::fprintf(stderr, "keepgraph: not looked into: %s\n", report::printable(folder).c_str());
        return report::read_recording(found.folders.front());
    }
    if (options.graph || !options.dot.empty() || !options.json.empty())
        throw Refusal{wrong_usage, fmt::format("{} holds {} recordings: name one, such as {}", options.folder,
                                               found.folders.size(), found.folders.back())};
    print_choice(page, options.folder, found);
    return std::nullopt;
}

void show(const Options& options) {
    if (options.dot == "-" && options.json == "-")
        throw Refusal{wrong_usage, "--dot - and --json - cannot both go to the standard output"};
    Screen screen = Screen::of_stdout();
    screen.full = options.full;
    Page page(screen);
    const std::optional<report::Recording> recording = choose(options, page);
    report::Symbolizer symbolizer;
    if (recording) {
        if (options.graph)
            check_recorded(*recording, *options.graph);
        if (!options.dot.empty())
            write_output(options.dot,
                         report::to_dot(report::read_graph(recording->folder, *options.graph), recording->findings),
                         options.force);
        if (!options.json.empty())
            write_output(options.json,
                         options.graph ? graph_as_json(*recording, symbolizer, *options.graph)
                                       : recording_as_json(*recording, symbolizer),
                         options.force);
        if (!options.dot.empty() || !options.json.empty())
            return;
        StackText stacks(*recording, symbolizer);
        if (options.graph) {
            print_graph(page, *recording, report::read_graph(recording->folder, *options.graph));
        } else {
            print_header(page, *recording);
            print_graphs(page, *recording, stacks);
            print_findings(page, *recording, stacks);
            print_ending(page, *recording);
        }
    }
    write_all(STDOUT_FILENO, page.text(), "standard output");
}

int run(const Options& options) {
    Refusal refusal{0, {}};
    try {
        show(options);
    } catch (const Refusal& caught) {
        refusal = caught;
    } catch (const report::ReadError& error) {
        refusal = {failed, error.what()};
    }
    if (refusal.exit_code != 0)
        std::fprintf(stderr, "keepgraph: %s\n", report::printable(refusal.text).c_str());
    return refusal.exit_code;
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* show = app.add_subcommand("show", "Show what a run recorded: graphs, findings, where memory was freed");
    set_help(*show, "usage: keepgraph show [options] DIR");
    show->add_option("DIR", options->folder,
                     "A recording, or a folder with recordings up to four levels down: of several, their list is shown")
        ->required()
        ->type_name("");
    // As a text: what CLI11 makes of "-1" for a number is 18446744073709551615.
    CLI::Option* graph =
        show->add_option_function<std::string>(
                "--graph", [options](const std::string& text) { options->graph = graph_number(text); },
                "Show one graph, by its number. Its file must be there: without WRITE=graphs only graphs with "
                "a finding have one.")
            ->type_name("N")
            ->check(
                [](const std::string& text) {
                    return graph_number(text) ? std::string()
                                              : (text.empty() ? "an empty value" : text) +
                                                    " is not allowed: use a graph's number, 1 or more";
                },
                "");
    show->add_option("--dot", options->dot,
                     "Write the graph that --graph names, for graphviz; - is the standard output")
        ->needs(graph)
        ->type_name("FILE");
    show->add_option("--json", options->json,
                     "Write the graph that --graph names, or without --graph the whole recording, as JSON; - is the "
                     "standard output")
        ->type_name("FILE");
    show->add_flag("--full", options->full, "Every frame of every stack, nothing cut");
    show->add_flag("--force", options->force, "Overwrite the FILE of --dot or --json");
    show->footer(
        "Examples:\n"
        "  keepgraph show keepgraph-out\n"
        "  keepgraph show keepgraph-out/RECORDING --graph 1 --dot - | dot -Tsvg -o graph.svg\n"
        "Function, file and line come from the programs and libraries on disk, which must still be those of the run.\n"
        "Exit codes: 0; 1 nothing to show (no recording, graph not recorded, FILE not writable); 2 wrong usage, or "
        "FILE exists already.");
    show->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace keepgraph::cli
