// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "report/record.h"

namespace keepgraph::report {

/// The highest `schema` that this reader understands.
inline constexpr std::uint64_t known_schema = 1;

/// Nothing can be read: the text names the file and says why. Everything less than that is a Recording::problems entry.
class ReadError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// One process's folder. Reads a killed process's folder too: without manifest, without summary, with the last line
/// cut. Throws ReadError when it is no recording, or when its schema is newer than known_schema.
Recording read_recording(const std::string& folder);

/// graph-<number>.json of that folder. Throws ReadError.
GraphFile read_graph(const std::string& folder, std::uint64_t number);

std::string graph_path(const std::string& folder, std::uint64_t number);

/// The recordings at `path`, sorted: `path` itself when it is one, else those of its direct subfolders that are.
/// Throws ReadError when `path` cannot be listed.
std::vector<std::string> find_recordings(const std::string& path);

}  // namespace keepgraph::report
