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

/// How deep below a folder recordings are looked for: OUT patterns have two or three levels, and with --error-exitcode
/// one more. Not without a limit: `show /` must come to an end.
inline constexpr int deepest_recording = 4;

struct FoundRecordings {
    std::vector<std::string> folders;  ///< sorted
    std::vector<std::string>
        unlisted;  ///< subfolders that cannot be listed, with the reason: `/a/b: Permission denied`
};

/// `path` itself when it is a recording, else the recordings up to deepest_recording levels below it. Recordings hold
/// no others, and links to folders are not followed further than to a recording. Throws ReadError when `path` cannot be
/// listed.
FoundRecordings find_recordings(const std::string& path);

}  // namespace keepgraph::report
