// SPDX-License-Identifier: Apache-2.0
//
// Where the shim is, and what LD_PRELOAD has to say.
#pragma once

#include <string>
#include <vector>

#include "cli/elf_file.h"

namespace keepgraph::cli {

inline constexpr const char* shim_name = "libkeepgraph_preload.so";

struct Shim {
    std::string path;     ///< absolute; empty when there is none that can be used
    std::string problem;  ///< why not
};

/// KEEPGRAPH_LIB (a file, or the folder it is in), else beside the command: in the build tree, then where it is
/// installed.
Shim find_shim();

/// The name says nothing: a copy may have any. No other library defines functions of the driver and dlsym.
bool is_shim(const ElfFile& file);

/// `first`, the shim, then what LD_PRELOAD holds already. Nothing twice, and no other copy of the shim.
std::string preload_chain(const std::vector<std::string>& first, const std::string& shim, const char* existing);

}  // namespace keepgraph::cli
