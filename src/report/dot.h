// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace keepgraph::report {

/// The graph for graphviz: one box per node, one cluster per child graph or conditional body, tied to its node by a
/// dashed line. Nodes that a finding of `findings` names are red. Any bytes in names are fine.
std::string to_dot(const GraphFile& graph, const std::vector<RecordedFinding>& findings);

}  // namespace keepgraph::report
