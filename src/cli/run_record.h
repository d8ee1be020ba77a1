// SPDX-License-Identifier: Apache-2.0
//
// What the recordings of one run say together: how many findings, and whether that can be the whole truth.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace keepgraph::cli {

struct RunRecord {
    std::size_t findings = 0;
    std::vector<std::string> doubts;  ///< one line for each reason why findings may be missing
};

/// `out` is what KEEPGRAPH_OUT is for the processes of the run: one that still runs need not have ended in order.
RunRecord read_run(const std::filesystem::path& folder, const std::string& out);

}  // namespace keepgraph::cli
