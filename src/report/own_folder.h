// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "report/own_file.h"

namespace keepgraph::report {

/// The folder of one recording. Everything in it is reached through a descriptor of the folder that is opened by its
/// absolute path when needed and checked to be the folder that was made: after a chdir it is found, and after a chroot
/// or a rename nothing is written to another folder of that name.
class OwnFolder {
  public:
    /// Makes `wanted` and the parents that are missing, with the modes that the program's umask gives. An existing
    /// folder is never used: `wanted-1` to `wanted-99` are tried, so that a program which starts another one, or runs
    /// once more, under a fixed name still gets all its recordings. Rejected: failing, which loses the second recording
    /// for a name that was fine at the first run; reusing, which destroys the first.
    /// 0, or the errno; then `failed` names the path that could not be made.
    int make(const std::string& wanted, std::string& failed);

    const std::string& path() const noexcept { return path_; }

    /// The folder's descriptor; empty, with the errno in `error`, when it is not there any more.
    OwnFile open(int& error) const noexcept;

    /// Removes the folder if it is empty.
    void discard() noexcept;

  private:
    std::string path_;
    Identity identity_;
};

/// Writes the file whole or not at all: a temporary file in `folder`, then rename. 0, or the errno.
int write_whole(const OwnFile& folder, const std::string& name, std::string_view text, log::HeldSignals& held);

}  // namespace keepgraph::report
