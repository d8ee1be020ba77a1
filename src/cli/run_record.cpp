// SPDX-License-Identifier: Apache-2.0
#include "cli/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "report/reader.h"

namespace keepgraph::cli {
namespace {

namespace fs = std::filesystem;

/// The pid alone would not do: a process in a pid namespace of its own writes a number that is another process here.
bool still_runs(const report::Number& pid, const std::string& out) {
    if (!pid) {
        return false;
    }
    std::ifstream file(fmt::format("/proc/{}/environ", *pid), std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string variable = "KEEPGRAPH_OUT=" + out;
    for (std::size_t at = 0; at < environment.size();) {
        const std::size_t end = std::min(environment.find('\0', at), environment.size());
        if (environment.compare(at, end - at, variable) == 0) {
            return true;
        }
        at = end + 1;
    }
    return false;  // a zombie has no environment left
}

bool had_no_graph(const report::Recording& recording) {
    return recording.graphs.empty() && recording.has_coverage;
}

void add(RunRecord& record, const std::string& folder, const std::string& out) {
    report::Recording recording = report::read_recording(folder);
    const bool runs = still_runs(recording.pid, out);
    if (!recording.summary && !runs) {
        recording = report::read_recording(folder);  // it may have ended in order since the first look
    }
    // Findings are counted by the process itself too: events that were lost have not taken their number along.
    std::size_t findings = recording.findings.size();
    if (recording.summary) {
        findings = std::max<std::size_t>(findings, recording.summary->findings.value_or(0));
    }
    record.findings += findings;
    for (const report::Problem& problem : recording.problems) {
        if (problem.file == "events.jsonl" && problem.line == 0) {
            record.doubts.push_back(fmt::format("{}/{} cannot be read: {}", folder, problem.file, problem.text));
            return;
        }
    }
    if (recording.bad_lines > 0) {
        record.doubts.push_back(fmt::format("{}/events.jsonl has {} damaged line{}", folder, recording.bad_lines,
                                            recording.bad_lines == 1 ? "" : "s"));
    } else if (!recording.summary && !runs && !had_no_graph(recording)) {
        record.doubts.push_back(
            fmt::format("{} has no summary: events were lost, or process {} ended by a signal, _exit or exec", folder,
                        recording.pid ? std::to_string(*recording.pid) : "?"));
    }
}

}  // namespace

RunRecord read_run(const fs::path& folder, const std::string& out) {
    RunRecord record;
    report::FoundRecordings found;
    try {
        found = report::find_recordings(folder.native());
    } catch (const report::ReadError& error) {
        record.doubts.push_back(error.what());
    }
    for (const std::string& reason : found.unlisted) {
        record.doubts.push_back(reason);
    }
    for (const std::string& recording : found.folders) {
        try {
            add(record, recording, out);
        } catch (const report::ReadError& error) {
            record.doubts.push_back(error.what());
        }
    }
    return record;
}

}  // namespace keepgraph::cli
