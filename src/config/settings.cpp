// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "config/out_pattern.h"

namespace keepgraph::config {
namespace {

constexpr std::string_view prefix = "KEEPGRAPH_";

template <typename Value>
using Word = std::pair<std::string_view, Value>;

constexpr std::array grade_words{Word<Grade>{"possible", Grade::possible}, Word<Grade>{"likely", Grade::likely},
                                 Word<Grade>{"certain", Grade::certain}};
constexpr std::array action_words{Word<OnFinding>{"warn", OnFinding::warn},
                                  Word<OnFinding>{"refuse", OnFinding::refuse},
                                  Word<OnFinding>{"abort", OnFinding::abort}};
constexpr std::array stacks_words{Word<Stacks>{"none", Stacks::none}, Word<Stacks>{"events", Stacks::events},
                                  Word<Stacks>{"all", Stacks::all}};
constexpr std::array level_words{Word<LogLevel>{"trace", LogLevel::trace}, Word<LogLevel>{"debug", LogLevel::debug},
                                 Word<LogLevel>{"info", LogLevel::info},   Word<LogLevel>{"warn", LogLevel::warn},
                                 Word<LogLevel>{"error", LogLevel::error}, Word<LogLevel>{"off", LogLevel::off}};

template <typename Value, std::size_t N>
bool one_of(const std::array<Word<Value>, N>& words, std::string_view text, Value& into) {
    for (const auto& [word, value] : words) {
        if (word == text) {
            into = value;
            return true;
        }
    }
    return false;
}

template <typename Value, std::size_t N>
const char* word_of(const std::array<Word<Value>, N>& words, Value value) {
    for (const auto& [word, candidate] : words) {
        if (candidate == value) {
            return word.data();  // the views are made of literals, so they end in a null character
        }
    }
    return "?";
}

// Digits and an optional K, M, G or T (powers of 1024). Not strtoull: it skips blanks and takes a sign.
bool parse_size(std::string_view text, std::uint64_t& into) {
    std::uint64_t factor = 1;
    if (!text.empty()) {
        const std::size_t unit = std::string_view("KMGTkmgt").find(text.back());
        if (unit != std::string_view::npos) {
            factor = 1ull << (10 * (unit % 4 + 1));
            text.remove_suffix(1);
        }
    }
    if (text.empty()) {
        return false;
    }
    std::uint64_t number = 0;
    for (const char c : text) {
        if (c < '0' || c > '9' || __builtin_mul_overflow(number, 10ull, &number) ||
            __builtin_add_overflow(number, static_cast<std::uint64_t>(c - '0'), &number)) {
            return false;
        }
    }
    return !__builtin_mul_overflow(number, factor, &into);
}

std::string size_text(std::uint64_t size) {
    const char* units = "KMGT";
    int unit = -1;
    while (unit < 3 && size != 0 && size % 1024 == 0) {
        size /= 1024;
        ++unit;
    }
    std::string text = std::to_string(size);
    if (unit >= 0) {
        text += units[unit];
    }
    return text;
}

bool parse_flag(std::string_view text, bool& into) {
    if (text != "0" && text != "1") {
        return false;
    }
    into = text == "1";
    return true;
}

// Calls each(item) for the items of a comma list; an empty item is as wrong as an unknown one.
template <typename Each>
bool for_each_item(std::string_view list, Each each) {
    while (true) {
        const std::size_t comma = list.find(',');
        if (!each(list.substr(0, comma))) {
            return false;
        }
        if (comma == std::string_view::npos) {
            return true;
        }
        list.remove_prefix(comma + 1);
    }
}

bool parse_check(std::string_view value, Settings& into) {
    if (value != "inputs" && value != "all" && value != "off") {
        return false;
    }
    into.check_inputs = value != "off";
    return true;
}

bool parse_on_finding(std::string_view value, Settings& into) {
    const std::size_t colon = value.find(':');
    OnFinding action{};
    Grade grade = Grade::likely;
    if (!one_of(action_words, value.substr(0, colon), action) ||
        (colon != std::string_view::npos && !one_of(grade_words, value.substr(colon + 1), grade))) {
        return false;
    }
    into.on_finding = action;
    into.threshold = grade;
    return true;
}

bool parse_keep(std::string_view value, Settings& into) {
    const std::size_t comma = value.find(',');
    const std::string_view kind = value.substr(0, comma);
    if (kind != "off" && kind != "data") {
        return false;
    }
    std::uint64_t max = Settings{}.keep_max;
    if (comma != std::string_view::npos) {
        const std::string_view rest = value.substr(comma + 1);
        if (rest.substr(0, 4) != "max=" || !parse_size(rest.substr(4), max)) {
            return false;
        }
    }
    into.keep = kind == "data" ? Keep::data : Keep::off;
    into.keep_max = max;
    return true;
}

bool parse_out(std::string_view value, Settings& into) {
    if (!valid_out(value)) {
        return false;
    }
    into.out = value;
    return true;
}

bool parse_write(std::string_view value, Settings& into) {
    bool findings = false;
    bool graphs = false;
    bool driver_dot = false;
    const bool good = value == "none" || for_each_item(value, [&](std::string_view item) {
                          bool* member = item == "findings"     ? &findings
                                         : item == "graphs"     ? &graphs
                                         : item == "driver-dot" ? &driver_dot
                                                                : nullptr;
                          if (member != nullptr) {
                              *member = true;
                          }
                          return member != nullptr;
                      });
    if (good) {
        into.write_findings = findings;
        into.write_graphs = graphs;
        into.write_driver_dot = driver_dot;
    }
    return good;
}

std::string print_write(const Settings& from) {
    std::string text;
    for (const auto& [word, on] : {std::pair<const char*, bool>{"findings", from.write_findings},
                                   {"graphs", from.write_graphs},
                                   {"driver-dot", from.write_driver_dot}}) {
        if (on) {
            text += (text.empty() ? "" : ",");
            text += word;
        }
    }
    return text.empty() ? "none" : text;
}

bool parse_stacks(std::string_view value, Settings& into) {
    return one_of(stacks_words, value, into.stacks);
}

// NAME:NAME, parts of mangled names
bool parse_names(std::string_view text, std::vector<std::string>& into) {
    while (!text.empty()) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        if (colon == 0) {
            return false;
        }
        into.emplace_back(text.substr(0, colon));
        text.remove_prefix(std::min(colon + 1, text.size()));
    }
    return !into.empty();
}

bool parse_options(std::string_view value, Settings& into) {
    const Settings defaults;
    LogLevel log = defaults.log;
    std::uint64_t out_max = defaults.out_max;
    bool quiet = defaults.quiet;
    bool coverage = defaults.coverage;
    std::vector<std::string> partial_arrays;
    const bool good = value.empty() || for_each_item(value, [&](std::string_view item) {
                          const std::size_t equals = item.find('=');
                          if (equals == std::string_view::npos) {
                              return false;
                          }
                          const std::string_view key = item.substr(0, equals);
                          const std::string_view text = item.substr(equals + 1);
                          return key == "log"              ? one_of(level_words, text, log)
                                 : key == "out_max"        ? parse_size(text, out_max)
                                 : key == "quiet"          ? parse_flag(text, quiet)
                                 : key == "coverage"       ? parse_flag(text, coverage)
                                 : key == "partial_arrays" ? parse_names(text, partial_arrays)
                                                           : false;
                      });
    if (good) {
        into.log = log;
        into.out_max = out_max;
        into.quiet = quiet;
        into.coverage = coverage;
        into.partial_arrays = std::move(partial_arrays);
    }
    return good;
}

std::string print_options(const Settings& from) {
    const Settings defaults;
    std::string text;
    const auto add = [&](const char* key, const std::string& value) {
        text += (text.empty() ? "" : ",");
        text += key;
        text += '=';
        text += value;
    };
    if (from.log != defaults.log) {
        add("log", to_string(from.log));
    }
    if (from.out_max != defaults.out_max) {
        add("out_max", size_text(from.out_max));
    }
    if (from.quiet) {
        add("quiet", "1");
    }
    if (from.coverage) {
        add("coverage", "1");
    }
    if (!from.partial_arrays.empty()) {
        std::string names;
        for (const std::string& name : from.partial_arrays) {
            names += (names.empty() ? "" : ":") + name;
        }
        add("partial_arrays", names);
    }
    return text;
}

constexpr Row rows[] = {
    {"CHECK", "inputs", "inputs, all or off",
     "What is checked: inputs (is the memory that a graph refers to still the same at each launch); all (every check "
     "of "
     "this version: so far the same as inputs); off (nothing).",
     parse_check, [](const Settings& from) { return std::string(from.check_inputs ? "inputs" : "off"); }},
    {"ON_FINDING", "warn:likely", "warn, refuse or abort, and after it :certain, :likely or :possible",
     "What a finding does: warn; refuse (the launch is not made and returns CUDA_ERROR_ILLEGAL_STATE, 401); abort the "
     "program. Behind it the lowest grade that counts: certain (addresses of copies and memsets), likely (an address "
     "in "
     "a kernel's arguments), possible (it may be no address); of what is below the closing line tells the number "
     "alone.",
     parse_on_finding,
     [](const Settings& from) { return std::string(to_string(from.on_finding)) + ":" + to_string(from.threshold); }},
    {"KEEP", "data,max=256M", "off or data, and after it ,max=SIZE such as ,max=256M",
     "What is kept of a graph for its JSON file: data (arguments and edges too), up to max bytes for all graphs "
     "together, the oldest lose theirs first; off (neither). Findings do not need it.",
     parse_keep,
     [](const Settings& from) {
         return std::string(from.keep == Keep::data ? "data" : "off") + ",max=" + size_text(from.keep_max);
     }},
    {"OUT", "", "a folder pattern with %t (time), %h (host), %p (process), %r (rank) and %% only",
     "Folder of the recording, made at the first graph and never used twice: %t time, %h host, %p process, %r rank. "
     "Empty: findings go to stderr only. `keepgraph run` sets keepgraph-out/%t-%h-%p.",
     parse_out, [](const Settings& from) { return from.out; }},
    {"WRITE", "findings", "none, or a comma list of findings, graphs and driver-dot",
     "Files besides the events: findings (a JSON file for each graph that has a finding), graphs (one for every "
     "graph), driver-dot (the driver's own verbose DOT of every graph), none (no file of a graph).",
     parse_write, print_write},
    {"STACKS", "events", "none, events or all",
     "Whose call stacks are recorded: events (captures, instantiations, deaths and re-births of memory that graphs "
     "refer to), all (every allocation too), none.",
     parse_stacks, [](const Settings& from) { return std::string(word_of(stacks_words, from.stacks)); }},
    {"OPTIONS", "",
     "a comma list of log=LEVEL (trace, debug, info, warn, error or off), out_max=SIZE, quiet=0|1, "
     "coverage=0|1 and partial_arrays=NAME:NAME",
     "log=LEVEL (default warn; info: each graph; debug and trace: also captures, updates, ends of graphs, deaths and "
     "re-births of memory that graphs refer to; off: no warning either); out_max=SIZE of the recording (default 64M, "
     "oldest graph files go first); quiet=1: no "
     "closing line; coverage=1: record which driver functions look-ups handed out, with a wrapper and without; "
     "partial_arrays=NAME:NAME: parts of mangled names of kernels that pass partly filled arrays of addresses by "
     "value.",
     parse_options, print_options},
};

// KEEPGRAPH_ names that are no settings of the shim: they belong to the command, the scripts and the tests.
constexpr std::string_view other_names[] = {"LIB", "BUILD"};
constexpr std::string_view other_prefixes[] = {"SIM_", "TEST_"};

bool known(std::string_view name) {
    for (const Row& row : rows) {
        if (name == row.name) {
            return true;
        }
    }
    for (const std::string_view other : other_names) {
        if (name == other) {
            return true;
        }
    }
    for (const std::string_view other : other_prefixes) {
        if (name.substr(0, other.size()) == other) {
            return true;
        }
    }
    return false;
}

// Values come from outside and go to a terminal.
std::string printable(std::string_view text) {
    constexpr std::size_t longest = 200;
    std::string result(text.substr(0, longest));
    for (char& c : result) {
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
            c = '?';
        }
    }
    if (text.size() > longest) {
        result += "...";
    }
    return result;
}

}  // namespace

const char* to_string(Grade grade) noexcept {
    return word_of(grade_words, grade);
}
// It says warn whatever the action is: who looks into a doubt does not want the launch refused.
std::string not_shown_text(std::uint64_t likely, std::uint64_t possible) {
    if (likely == 0 && possible == 0)
        return "";
    std::string text = ", ";
    if (likely > 0)
        text += std::to_string(likely) + " likely";
    if (possible > 0)
        text += (likely > 0 ? " and " : "") + std::to_string(possible) + " possible";
    return text + " not shown (KEEPGRAPH_ON_FINDING=warn:" + to_string(possible > 0 ? Grade::possible : Grade::likely) +
           ")";
}

const char* to_string(OnFinding action) noexcept {
    return word_of(action_words, action);
}
const char* to_string(LogLevel level) noexcept {
    return word_of(level_words, level);
}

std::span<const Row> settings_table() noexcept {
    return rows;
}

std::string variable_name(const Row& row) {
    return std::string(prefix) + row.name;
}

std::string flag_name(const Row& row) {
    std::string flag = row.name;
    for (char& c : flag) {
        // Not tolower(): under a Turkish locale it has its own idea of I.
        c = c == '_' ? '-' : (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return flag;
}

std::string to_text(const Problem& problem) {
    if (problem.allowed.empty()) {
        std::string text = problem.name + " is no setting of this version: ignored; settings are ";
        for (const Row& row : rows) {
            text += &row == std::begin(rows) ? "" : &row == std::end(rows) - 1 ? " and " : ", ";
            text += variable_name(row);
        }
        return text;
    }
    return problem.name + "=" + problem.value + " is not allowed: use " + problem.allowed + "; using the default, " +
           (problem.used.empty() ? "nothing" : problem.used);
}

Settings parse(const std::function<const char*(const char* name)>& get, std::vector<Problem>& problems) noexcept {
    Settings settings;
    try {
        for (const Row& row : rows) {
            const std::string name = variable_name(row);
            const char* value = get(name.c_str());
            if (value != nullptr && *value != '\0' && !row.parse(value, settings)) {
                problems.push_back({name, printable(value), row.allowed, row.default_text});
            }
        }
    } catch (...) {
        // Out of memory, or a get() that throws: what was read so far holds, the rest has its default.
    }
    return settings;
}

void find_unknown(const char* const* environment, std::vector<Problem>& problems) noexcept {
    try {
        for (; environment != nullptr && *environment != nullptr; ++environment) {
            const std::string_view entry = *environment;
            const std::size_t equals = entry.find('=');
            if (entry.substr(0, prefix.size()) != prefix || equals == std::string_view::npos) {
                continue;
            }
            if (!known(entry.substr(prefix.size(), equals - prefix.size()))) {
                problems.push_back({printable(entry.substr(0, equals)), printable(entry.substr(equals + 1)), "", ""});
            }
        }
    } catch (...) {
        // Out of memory: one warning less.
    }
}

}  // namespace keepgraph::config
