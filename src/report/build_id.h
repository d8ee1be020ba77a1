// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace keepgraph::report {

/// What a file on disk is now.
struct ElfIdentity {
    bool readable = false;  ///< a regular file with an ELF header of this machine's word size
    std::string build_id;   ///< lower-case hex, empty when it has none
};

/// Reads the program headers and notes only. Never throws; a file that is no ELF, or a hostile one, is not readable or
/// has no build-id.
ElfIdentity identify_elf(const std::string& path);

}  // namespace keepgraph::report
