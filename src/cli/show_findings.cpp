// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/show.h"
#include "report/text.h"

namespace keepgraph::cli {
namespace {

using report::MemoryCall;
using report::RecordedFinding;
using report::Recording;

constexpr std::size_t most_references = 10;

/// `, thread 18010 "worker"`; a part that is not known is left out.
std::string thread_text(const report::Number& thread, const std::string& name) {
    std::string text;
    if (thread)
        text += fmt::format(", thread {}", *thread);
    if (!name.empty())
        text += (thread ? " \"" : ", thread \"") + name + "\"";
    return text;
}

/// `cuMemFree_v2 (cudaFree)`
std::string call_name(const std::string& call, const std::string& runtime_call) {
    return runtime_call.empty() ? call : call + " (" + runtime_call + ")";
}

/// `cuMemFree_v2 (cudaFree), thread 18010 "worker", at 1.203 s`
std::string call_text(const MemoryCall& call) {
    std::string text = call_name(call.call.empty() ? "a call that was not recorded" : call.call, call.runtime_call);
    text += thread_text(call.thread, call.thread_name);
    if (call.t)
        text += fmt::format(", at {:.3f} s", *call.t);
    return text;
}

std::string reference_text(const report::RecordedReference& reference) {
    std::string text = reference.node ? fmt::format("node {}", *reference.node) : std::string("a node");
    if (!reference.path.empty())
        text += " of " + reference.path;
    if (!reference.kernel.empty())
        text += ", kernel " + report::short_name(reference.kernel);
    else if (!reference.node_type.empty())
        text += ", " + reference.node_type;
    if (!reference.slot.empty())
        text += ", " + reference.slot;
    text += " = " + address_text(reference.address);
    if (reference.offset && *reference.offset != 0)
        text += fmt::format(" (byte {} of the allocation)", *reference.offset);
    return reference.grade.empty() ? text : text + ", " + reference.grade;
}

bool wanted_all_stacks(const Recording& recording) {
    return std::find(recording.settings.begin(), recording.settings.end(),
                     std::pair<std::string, std::string>("STACKS", "all")) != recording.settings.end();
}

std::string title(const RecordedFinding& finding) {
    const bool recycled = finding.kind == "recycled";
    std::string text = fmt::format("finding {}: ", finding.number);
    text += finding.graph ? fmt::format("graph {}", *finding.graph) : std::string("a graph");
    text += " was about to use " + allocation_text(finding.allocation);
    if (recycled)
        text += ", which had been freed; the address was given to a younger allocation";
    else if (finding.kind == "freed" || finding.kind.empty())
        text += ", which had been freed";
    else
        text += ": " + finding.kind;  // of a newer writer
    std::string marks = finding.grade;
    if (!finding.action.empty())
        marks += (marks.empty() ? "" : ", ") + finding.action;
    return marks.empty() ? text : text + " [" + marks + "]";
}

void print_captured(Page& page, const Recording& recording, const RecordedFinding& finding, StackText& stacks) {
    report::Number stack = finding.capture_stack;
    std::string text = "  captured      ";
    const auto capture = finding.capture ? recording.captures.find(*finding.capture) : recording.captures.end();
    if (finding.capture)
        text += fmt::format("capture {}", *finding.capture);
    else
        text += stack ? "in" : "not: built by hand";
    if (capture != recording.captures.end()) {
        if (!capture->second.begin_call.empty())
            text += ", begun by " + call_name(capture->second.begin_call, capture->second.begin_runtime_call);
        text += thread_text(capture->second.begin_thread, capture->second.begin_thread_name);
        if (!stack)
            stack = capture->second.begin_stack;
    }
    page.paragraph(text, 16);
    if (finding.capture || stack)
        stacks.print(page, stack);
}

void print_finding(Page& page, const Recording& recording, const RecordedFinding& finding, StackText& stacks) {
    page.alarm(title(finding));
    std::string exec = "  exec          " + address_text(finding.exec);
    if (finding.replay)
        exec += fmt::format(", replay {}", *finding.replay);
    page.paragraph(exec, 16);

    const std::size_t shown =
        page.screen().full ? finding.references.size() : std::min(finding.references.size(), most_references);
    for (std::size_t i = 0; i < shown; ++i)
        page.paragraph((i == 0 ? "  used by       " : "                ") + reference_text(finding.references[i]), 18);
    if (shown < finding.references.size())
        page.line(fmt::format("                and {} more (--full)", finding.references.size() - shown));
    if (finding.references_left_out > 0)
        page.line(fmt::format("                and {} that only the graph's file has", finding.references_left_out));

    if (finding.allocation.stack) {
        page.line("  allocated");
        stacks.print(page, finding.allocation.stack);
    } else {
        // Said here as on stderr: whoever reads `show` alone would not learn that the stack can be had.
        page.line(std::string("  allocated     where is not recorded") +
                  (wanted_all_stacks(recording) ? "" : " (KEEPGRAPH_STACKS=all)"));
    }
    if (finding.death) {
        page.paragraph("  freed by      " + call_text(*finding.death), 16);
        stacks.print(page, finding.death->stack);
    } else {
        page.paragraph(
            "  freed by      not seen" + (finding.death_unknown.empty() ? std::string() : ": " + finding.death_unknown),
            16);
    }
    if (finding.younger) {
        page.paragraph("  then given to " + allocation_text(finding.younger->allocation), 16);
        page.paragraph("  allocated by  " + call_text(finding.younger->birth), 16);
        stacks.print(page,
                     finding.younger->birth.stack ? finding.younger->birth.stack : finding.younger->allocation.stack);
    }
    print_captured(page, recording, finding, stacks);
    const auto graph = finding.graph ? recording.graphs.find(*finding.graph) : recording.graphs.end();
    if (graph != recording.graphs.end() && !graph->second.call.empty())
        page.paragraph("  instantiated  by " + graph->second.call + thread_text(graph->second.thread, ""), 16);
    else if (finding.instantiate_stack)
        page.line("  instantiated");
    if (finding.instantiate_stack)
        stacks.print(page, finding.instantiate_stack);
    if (finding.launch_thread || finding.launch_stack || !finding.launch_call.empty()) {
        std::string text = "  launched";
        if (!finding.launch_call.empty())
            text += "      by " + call_name(finding.launch_call, finding.launch_runtime_call) +
                    thread_text(finding.launch_thread, "");
        else if (finding.launch_thread)
            text += fmt::format("      by thread {}", *finding.launch_thread);
        if (finding.t)
            text += fmt::format(", at {:.3f} s", *finding.t);
        page.paragraph(text, 16);
    }
    if (finding.launch_stack)
        stacks.print(page, finding.launch_stack);
}

}  // namespace

std::string allocation_text(const report::RecordedAllocation& allocation) {
    std::string text = allocation.size ? counted(*allocation.size, "byte") : std::string("an unknown number of bytes");
    text += " of " + (allocation.kind.empty() ? std::string() : allocation.kind + " ") + "memory";
    if (allocation.address)
        text += " at " + address_text(allocation.address);
    if (allocation.id)
        text += fmt::format(" (allocation #{})", *allocation.id);
    if (allocation.device && *allocation.device != 0)
        text += fmt::format(" of device {}", *allocation.device);
    return text;
}

void print_findings(Page& page, const Recording& recording, StackText& stacks) {
    page.heading("findings");
    if (recording.findings.empty())
        page.line("  none");
    bool first = true;
    for (const RecordedFinding& finding : recording.findings) {
        if (!first)
            page.blank();
        first = false;
        print_finding(page, recording, finding, stacks);
    }
}

}  // namespace keepgraph::cli
