// SPDX-License-Identifier: Apache-2.0
//
// The program that is to run: where it is, what the kernel will really load for it, and whether a preload can work
// there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/elf_file.h"
#include "cli/loader.h"

namespace keepgraph::cli {

/// Exit codes of `keepgraph run`, those of env, nohup and the shells.
enum : int { exit_usage = 2, exit_refused = 125, exit_not_executable = 126, exit_not_found = 127 };

struct Refusal {
    int code = 0;
    std::string reason;
};

/// One ELF program that runs: the program itself, or an interpreter of the script.
struct Executable {
    std::string path;
    ElfFile elf;
    Listing libraries;  ///< by its own loader; empty when it has none
};

struct Target {
    std::string path;           ///< what execve gets
    bool shell_script = false;  ///< neither ELF nor `#!`: execvp hands such a text to /bin/sh, and so does `run`
    std::vector<std::string> scripts;
    std::vector<Executable> executables;
    std::optional<Refusal> refusal;  ///< the first one met; the rest is filled as far as it goes
};

/// `words` are the program and its arguments, which matter for a loader alone: what it is to run is looked at as well.
/// `shim` is null when there is none to compare with. Runs the loaders of the programs found (loader.h), never a
/// program.
Target inspect(const std::vector<std::string>& words, const std::string& shim_path, const ElfFile* shim);

/// "" when the shim is for the machine that the file is for, or when there is no shim to compare with.
std::string other_machine(const ElfFile& elf, const ElfFile* shim);

/// As execvp looks: PATH for a name without a slash; a file that may not be executed is passed over, but remembered.
struct Found {
    std::string path;
    int error = 0;  ///< 0, ENOENT, EACCES, EISDIR, ...
};
Found find_program(const std::string& program);

/// Runtimes of sanitizers that must be loaded before any other library: libasan.so.8, libtsan.so.2, clang's.
std::vector<std::string> sanitizer_runtimes(const Target& target);

/// "asan", "tsan" or "": a sanitizer linked into the file itself.
std::string static_sanitizer(const ElfFile& elf);

}  // namespace keepgraph::cli
