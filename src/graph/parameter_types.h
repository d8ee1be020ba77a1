// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace keepgraph::graph {

/// The types of a kernel's parameters as its name spells them: `float const*`, `float*`, `int` for
/// `_Z8kg_twiceIfEvPKT_PS0_i`. Empty when the name does not say, or says another number of them than `count`, which is
/// the driver's. May throw std::bad_alloc. Any thread.
std::vector<std::string> parameter_types(const std::string& mangled, std::size_t count);

}  // namespace keepgraph::graph
