// SPDX-License-Identifier: Apache-2.0
// The parts of `keepgraph show`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/page.h"
#include "cli/stack_text.h"
#include "report/reader.h"
#include "report/record.h"
#include "report/symbolizer.h"

namespace keepgraph::cli {

// ---- tables
void print_header(Page& page, const report::Recording& recording);
void print_graphs(Page& page, const report::Recording& recording, StackText& stacks);
/// Notices, what could not be read, and the summary as the last line.
void print_ending(Page& page, const report::Recording& recording);
/// One line per recording, the newest last.
void print_choice(Page& page, const std::string& parent, const report::FoundRecordings& found);
std::string command_text(const report::Recording& recording);

// ---- findings
void print_findings(Page& page, const report::Recording& recording, StackText& stacks);
/// `4096 bytes of device memory at 0x7f00 (allocation #5)`
std::string allocation_text(const report::RecordedAllocation& allocation);

// ---- one graph
void print_graph(Page& page, const report::Recording& recording, const report::GraphFile& graph);

// ---- JSON, indented, ending in a newline
std::string graph_as_json(const report::Recording& recording, report::Symbolizer& symbolizer, std::uint64_t graph);
std::string recording_as_json(const report::Recording& recording, report::Symbolizer& symbolizer);

}  // namespace keepgraph::cli
