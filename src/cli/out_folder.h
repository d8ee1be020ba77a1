// SPDX-License-Identifier: Apache-2.0
//
// OUT as the command hands it on.
#pragma once

#include <filesystem>
#include <string>

namespace keepgraph::cli {

inline constexpr const char* default_out = "keepgraph-out/%t-%h-%p";

/// A relative pattern is meant where the command was typed, not where a program happens to be at its first graph.
/// Throws std::runtime_error when the working directory was removed or cannot be reached.
std::string absolute_out(const std::string& pattern);

/// A path as a pattern that expands to it.
std::string literal_out(const std::string& path);

/// Makes a folder that was not there before, named by the pattern, expanded for this process. The rule for a name
/// that is taken is that of the shim (report/own_folder.h). Throws std::runtime_error.
std::filesystem::path make_fresh_folder(const std::string& pattern);

/// A folder in TMPDIR, with an absolute path, removed with all it holds at the end of its owner. The constructor throws
/// std::runtime_error.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace keepgraph::cli
