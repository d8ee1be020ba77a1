// SPDX-License-Identifier: Apache-2.0
#include "cli/stack_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/text.h"

namespace keepgraph::cli {
namespace {

using report::SourceFrame;

constexpr std::size_t most_frames = 8;

bool starts_with(const std::string& text, const char* head) {
    return text.rfind(head, 0) == 0;
}

/// Of no help in finding the line of a program that freed or captured something.
bool is_internal(const SourceFrame& frame) {
    const std::string module = base_name(frame.module);
    for (const char* library : {"libcudart.so", "libcudart-", "libcuda.so", "libkeepgraph_preload.so"}) {
        if (starts_with(module, library))
            return true;
    }
    if (starts_with(frame.function, "__libc_start") || frame.function == "_start")
        return true;
    // A static cudart is part of the program's file. It has no debug information, unlike a user's function whose name
    // happens to begin in the same way.
    return frame.file.empty() &&
           (starts_with(frame.function, "__cudart") || starts_with(frame.function, "libcudart_") ||
            (starts_with(frame.function, "cuda") && frame.function.size() > 4 && frame.function[4] >= 'A' &&
             frame.function[4] <= 'Z'));
}

std::string function_of(const SourceFrame& frame, bool full) {
    if (frame.function.empty())
        return frame.module.empty() ? address_text(frame.address)
                                    : fmt::format("{}+{}", base_name(frame.module), address_text(frame.offset));
    return full ? frame.function : report::short_name(frame.function);
}

std::string place_of(const SourceFrame& frame, bool full) {
    if (!frame.file.empty())
        return fmt::format("{}:{}", full ? frame.file : base_name(frame.file), frame.line);
    if (!frame.trouble.empty())
        return full ? fmt::format("{}: {}", frame.module, frame.trouble) : frame.trouble;
    if (frame.module.empty())
        return "in no known module";
    return frame.function.empty() && !full ? std::string() : full ? frame.module : base_name(frame.module);
}

std::vector<SourceFrame> useful(const std::vector<SourceFrame>& frames) {
    std::vector<SourceFrame> kept = frames;
    std::erase_if(kept, is_internal);
    return kept.empty() ? frames : kept;
}

std::string fitted(const Page& page, const std::string& function, const std::string& place, std::size_t used) {
    if (page.screen().full)
        return place.empty() ? function : function + "  " + place;
    std::size_t place_room = Screen::longest_name;
    std::size_t function_room = Screen::longest_name;
    if (page.screen().narrow) {
        // An address stands where a function has no name: it is not cut.
        constexpr std::size_t address_columns = 18;
        const std::size_t room = page.screen().width - std::min(page.screen().width, used + 2);
        place_room = std::min(room * 2 / 3, room - std::min({room, report::columns(function), address_columns}));
        function_room = room - std::min(place_room, report::columns(report::printable(place)));
    }
    const std::string shown_place = report::cut_middle(report::printable(place), place_room);
    const std::string shown_function = report::cut_end(report::printable(function), function_room);
    return shown_place.empty() ? shown_function : shown_function + "  " + shown_place;
}

}  // namespace

std::string base_name(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string address_text(const report::Number& address) {
    return address ? fmt::format("{:#x}", *address) : "?";
}

void StackText::print(Page& page, const report::Number& id) {
    const report::RecordedStack* stack = recording_.stack(id);
    if (stack == nullptr) {
        page.line(id ? fmt::format("      (stack {} is not in the recording)", *id)
                     : std::string("      (no stack was recorded)"));
        return;
    }
    const bool full = page.screen().full;
    for (const report::PythonFrame& frame : stack->python) {
        const std::string place = fmt::format("{}:{}", frame.file, frame.line);
        page.line("      python  " + fitted(page, frame.function, place, 14));
    }
    if (!stack->python_unavailable.empty())
        page.paragraph("      (python frames unavailable: " + stack->python_unavailable + ")", 8);
    const std::vector<SourceFrame> all = symbolizer_.resolve(recording_, *stack);
    const std::vector<SourceFrame> frames = full ? all : useful(all);
    const std::size_t shown = full ? frames.size() : std::min(frames.size(), most_frames);
    for (std::size_t i = 0; i < shown; ++i) {
        const SourceFrame& frame = frames[i];
        const std::string head = fmt::format("      #{:<2} ", i);
        std::string place = place_of(frame, full);
        if (frame.inlined)
            place += place.empty() ? "inlined" : ", inlined";
        page.line(head + fitted(page, function_of(frame, full), place, head.size()));
    }
    if (shown < frames.size())
        page.line(fmt::format("      ... and {} more (--full)", frames.size() - shown));
    if (frames.empty() && stack->python.empty())
        page.line("      (the recorded stack is empty)");
}

std::string StackText::one_line(const report::Number& id) {
    const report::RecordedStack* stack = recording_.stack(id);
    if (stack == nullptr)
        return {};
    const auto [it, is_new] = one_lines_.try_emplace(stack->id);
    if (is_new)
        it->second = best_frame(*stack);
    return it->second;
}

std::string StackText::best_frame(const report::RecordedStack& stack) {
    if (!stack.python.empty()) {
        const report::PythonFrame& frame = stack.python.front();
        return fmt::format("{} {}:{}", frame.function, base_name(frame.file), frame.line);
    }
    const std::vector<SourceFrame> frames = useful(symbolizer_.resolve(recording_, stack));
    if (frames.empty())
        return {};
    // The innermost frame with a line; a library without debug information in front of it says less.
    const auto best = std::find_if(frames.begin(), frames.end(), [](const SourceFrame& f) { return !f.file.empty(); });
    const SourceFrame& frame = best == frames.end() ? frames.front() : *best;
    // What is wrong with the file is said where the whole stack is shown.
    const std::string place = frame.trouble.empty() ? place_of(frame, false) : std::string();
    return place.empty() ? function_of(frame, false) : function_of(frame, false) + " " + place;
}

}  // namespace keepgraph::cli
