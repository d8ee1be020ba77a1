// SPDX-License-Identifier: Apache-2.0
// Reads what the shim wrote, strictly: a line that is no JSON, or a file that is cut, fails the test that reads it.
// This is a second reader on purpose: the one in src/report shares its author's idea of the format with the writer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "on_double.h"

namespace keepgraph::preload_tests {

using Json = nlohmann::json;

struct Recording {
    std::string folder;
    Json manifest;
    std::vector<Json> events;

    /// The only recording below `parent`; throws when there is none, or more than one.
    static Recording only_one_in(const std::string& parent);
    static Recording read(const std::string& folder);

    std::vector<Json> of_type(const std::string& type) const;
    std::vector<Json> findings() const { return of_type("finding"); }
    Json graph(int number) const;  // graph-<n>.json
    bool has_graph_file(int number) const;
    /// The event `stack` with this id, or null.
    Json stack(const Json& id) const;
    size_t notices_with(const std::string& part) const;
};

/// Each process makes a recording in a folder of its own below this one.
Conditions recorded(const TempFolder& folder, const std::string& write = "findings,graphs");
/// The same with every setting at its most.
Conditions everything_on(const TempFolder& folder);

std::vector<std::string> recordings_in(const std::string& parent);

/// What is left of a record when everything is taken out that may differ between two runs of one program: addresses,
/// handles, times, threads, stacks. Allocation ids are replaced by their order of appearance.
Json normalise(const std::vector<Json>& events);

/// `keepgraph: 3 graphs, 40 replays; 12 inputs checked, 0 opaque; 1 finding; <folder>`
struct Summary {
    long graphs = -1;
    long replays = -1;
    long inputs = -1;
    long opaque = -1;  // inputs that could not be checked, 0 when the line says nothing of them
    long findings = -1;
    std::string not_shown;  // "1 possible", "" when the line says nothing of it
    std::string shown_by;   // the setting that shows those
    std::string rest;       // what follows the findings, without "; "
};
std::optional<Summary> parse_summary(const std::string& line);
/// The summary must be the last line of keepgraph; nothing when there is none.
std::optional<Summary> summary_of(const Outcome& outcome);
/// Expects that the program succeeded, and its summary.
Summary summary_or_fail(const Outcome& outcome);

/// What `keepgraph show` prints of a recording; expects that it succeeds.
std::vector<std::string> shown(const std::string& recording);

}  // namespace keepgraph::preload_tests
