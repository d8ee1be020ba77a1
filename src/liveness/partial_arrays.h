// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace keepgraph::liveness {

/// Whether a kernel of this mangled name passes arrays of addresses by value of which only a leading part is filled;
/// the rest holds old stack bytes, often addresses of other live memory. The one list of such kernels is in the source.
bool passes_partial_arrays(const std::string& mangled);

/// Adds parts of names to the list (OPTIONS partial_arrays=A:B). Before the first scan only; not thread safe.
void add_partial_arrays(const std::vector<std::string>& name_parts);

}  // namespace keepgraph::liveness
