// SPDX-License-Identifier: Apache-2.0
//
// A command line that begins with a loader: `/lib64/ld-linux-x86-64.so.2 --library-path DIR ./app arguments`.
#pragma once

#include <string>
#include <vector>

#include "cli/elf_file.h"

namespace keepgraph::cli {

/// glibc's loader. By what it defines and not by its name, which differs with the architecture and may be any.
bool is_loader(const ElfFile& file);

struct LoaderLine {
    std::string program;                ///< empty: none is run, or the words do not tell it
    std::vector<std::string> search{};  ///< options that say where libraries are looked for
};

/// `words` begin with the loader. A program without a slash is left out: the loader looks for it in the folders of
/// libraries, which only it knows.
LoaderLine parse_loader_line(const std::vector<std::string>& words);

}  // namespace keepgraph::cli
