// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.h"

namespace keepgraph::preload {

/// The wrapper of a row that look-ups hand out. It is not the exported one: that one must go on to the next preloaded
/// library, while a pointer that was looked up stands for exactly one function.
void* handed_out(Row row) noexcept;

}  // namespace keepgraph::preload
