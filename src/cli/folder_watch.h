// SPDX-License-Identifier: Apache-2.0
//
// What was in a folder for a while and is not there any more.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace keepgraph::cli {

/// A recording that cannot be made leaves no trace: the shim makes its folder, fails to write into it, and removes it.
/// inotify tells of that all the same, whichever process did it. Rejected: the folder's time of change, which says
/// nothing as soon as another process of the run has made its recording; a descriptor or a socket that the program
/// inherits, since programs close descriptors, close all of them before exec (Python does), and change their user, root
/// folder or network namespace.
class FolderWatch {
  public:
    /// Throws std::runtime_error when the folder cannot be watched.
    explicit FolderWatch(const std::filesystem::path& folder);
    ~FolderWatch();
    FolderWatch(const FolderWatch&) = delete;
    FolderWatch& operator=(const FolderWatch&) = delete;

    /// One line for each subfolder that has gone since, and for what keeps that from being known.
    std::vector<std::string> losses();

  private:
    int fd_;
    std::filesystem::path folder_;
};

/// Removes the folder when it is empty, so that a FolderWatch on the parent, of a run around this one, does not take it
/// for a recording that could not be made: it is renamed first.
void remove_unused(const std::filesystem::path& folder);

}  // namespace keepgraph::cli
