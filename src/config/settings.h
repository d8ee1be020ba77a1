// SPDX-License-Identifier: Apache-2.0
//
// The settings of keepgraph. One table, settings_table(), is the only place that knows their names: parsing, the flags
// of `keepgraph run`, --help and the README's table all come from it.
//
// This code runs inside programs we know nothing about: no iostreams, no locale, no static constructors, nothing
// thrown.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keepgraph::config {

// How sure a reference is (law 7 of the design). Ordered: a policy acts from its threshold up.
enum class Grade : unsigned char { possible, likely, certain };
const char* to_string(Grade grade) noexcept;
// What a closing line says of findings below the threshold, by their grade: ", 1 likely and 2 possible not shown
// (KEEPGRAPH_ON_FINDING=warn:possible)"; "" when there are none. May throw std::bad_alloc.
std::string not_shown_text(std::uint64_t likely, std::uint64_t possible);

enum class OnFinding : unsigned char { warn, refuse, abort };
enum class Keep : unsigned char { off, data };
enum class Stacks : unsigned char { none, events, all };
enum class LogLevel : unsigned char { trace, debug, info, warn, error, off };

const char* to_string(OnFinding action) noexcept;
const char* to_string(LogLevel level) noexcept;

struct Settings {
    // CHECK
    bool check_inputs = true;
    // ON_FINDING
    OnFinding on_finding = OnFinding::warn;
    Grade threshold = Grade::likely;
    // KEEP
    Keep keep = Keep::data;
    std::uint64_t keep_max = 256ull << 20;
    // OUT: a pattern for expand_out(); empty: nothing is written, findings go to stderr only
    std::string out;
    // WRITE
    bool write_findings = true;
    bool write_graphs = false;
    bool write_driver_dot = false;
    // STACKS
    Stacks stacks = Stacks::events;
    // OPTIONS
    LogLevel log = LogLevel::warn;
    std::uint64_t out_max = 64ull << 20;
    bool quiet = false;
    bool coverage = false;
    std::vector<std::string> partial_arrays;  // parts of mangled kernel names

    bool operator==(const Settings&) const = default;
};

// One setting. `name` is the part after KEEPGRAPH_; the flag of `keepgraph run` is the same in lower case with dashes.
struct Row {
    const char* name;
    const char* default_text;
    const char* allowed;                                    // in words, ready for "use ..."
    const char* help;                                       // one sentence
    bool (*parse)(std::string_view value, Settings& into);  // false: not allowed, and `into` is as before
    std::string (*print)(const Settings& from);             // a text that parse() turns into the same setting
};
std::span<const Row> settings_table() noexcept;
std::string variable_name(const Row& row);  // KEEPGRAPH_ON_FINDING
std::string flag_name(const Row& row);      // on-finding

// A setting that could not be used. `used` is what is in force instead; `allowed` is empty when there is no such
// setting.
struct Problem {
    std::string name;
    std::string value;
    std::string allowed;
    std::string used;
};
// One line without a newline: `KEEPGRAPH_STACKS=sometimes is not allowed: use none, events or all; using the default,
// events`
std::string to_text(const Problem& problem);

// `get` is getenv() or something like it: null means unset, and an empty value means the default too, so that
// `KEEPGRAPH_OUT= ./app` switches a setting off for one run. Never throws: out of memory gives the defaults.
Settings parse(const std::function<const char*(const char* name)>& get, std::vector<Problem>& problems) noexcept;

// Adds a problem for each KEEPGRAPH_ variable that is no setting (a typing error, or a setting of a newer version).
void find_unknown(const char* const* environment, std::vector<Problem>& problems) noexcept;

}  // namespace keepgraph::config
