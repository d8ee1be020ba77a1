// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "cli/page.h"
#include "report/record.h"
#include "report/symbolizer.h"

namespace keepgraph::cli {

/// Stacks of one recording as text. Python frames stand above the native ones. Unless the page is full, frames inside
/// cudart, the driver, the shim and the C runtime's start-up are left out: they are the same for every stack.
class StackText {
  public:
    StackText(const report::Recording& recording, report::Symbolizer& symbolizer)
        : recording_(recording), symbolizer_(symbolizer) {}

    /// One frame per line, indented by six; says so when there is no stack.
    void print(Page& page, const report::Number& id);

    /// The frame that says most, `function file:line`; empty when there is no stack.
    std::string one_line(const report::Number& id);

  private:
    std::string best_frame(const report::RecordedStack& stack);
    std::map<std::uint64_t, std::string> one_lines_;  // thousands of graphs may be made in one place
    const report::Recording& recording_;
    report::Symbolizer& symbolizer_;
};

/// `/a/b/c.so` becomes `c.so`.
std::string base_name(const std::string& path);

/// `0x` and lower-case digits; "?" for none.
std::string address_text(const report::Number& address);

}  // namespace keepgraph::cli
