// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace keepgraph::trace {

/// `kg_twice<float>(float const*, float*, int)` for `_Z8kg_twiceIfEvPKT_PS0_i`; the text itself when it is not mangled,
/// when the demangler refuses it (libstdc++'s: from 1024 characters on), or when there is no room for it. May throw
/// std::bad_alloc. Any thread, on any stack.
std::string demangled(const std::string& name);

}  // namespace keepgraph::trace
