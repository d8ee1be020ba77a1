// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/json_input.h"
#include "report/record.h"

namespace keepgraph::report {

/// Adds what one object of events.jsonl says to `recording`. False with the reason when a key that its type cannot do
/// without is missing or of the wrong kind; types that are not known are counted, not refused.
bool add_event(Recording& recording, const Json& event, std::uint64_t line, std::string& error);

/// One entry of `modules`, or an event `module`. False when it has no path or no address range.
bool parse_module(const Json& object, RecordedModule& module);

/// Throws ReadError when the `schema` of the file at `path` is none that this reader knows.
void check_schema(const Json& object, const std::string& path);

RecordedAllocation parse_allocation(const Json& object);
RecordedReference parse_reference(const Json& object);

}  // namespace keepgraph::report
