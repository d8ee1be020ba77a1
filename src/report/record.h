// SPDX-License-Identifier: Apache-2.0
// What a recording says, as plain structs. README.md in this folder is the schema; a key that was absent, or had a
// value of the wrong kind, is an empty optional, an empty string or an empty list here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace keepgraph::report {

using Number = std::optional<std::uint64_t>;

struct RecordedModule {
    std::string path;
    std::uint64_t base = 0;
    std::uint64_t end = 0;
    std::string build_id;
    std::uint64_t line = 0;  ///< line of events.jsonl, 0 for the manifest's modules
};

struct PythonFrame {
    std::string file;
    std::uint64_t line = 0;
    std::string function;
};

struct RecordedStack {
    std::uint64_t id = 0;
    std::vector<std::uint64_t> frames;  ///< return addresses, innermost first
    std::vector<PythonFrame> python;    ///< innermost first
    std::string python_unavailable;
    std::uint64_t line = 0;
};

struct RecordedAllocation {
    Number id;
    Number address;
    Number size;
    std::string kind;
    Number device;
    Number stack;
};

/// A call that freed memory or made new memory.
struct MemoryCall {
    std::string call;
    std::string runtime_call;
    std::optional<double> t;
    Number thread;
    std::string thread_name;
    Number stack;
};

struct RecordedReference {
    Number node;
    std::string path;
    std::string node_type;
    std::string kernel;
    std::string slot;
    Number address;
    Number allocation;  ///< id; in graph files only
    Number offset;
    std::string grade;
};

struct RecordedCapture {
    std::uint64_t number = 0;
    std::string result;
    std::string mode;
    std::string begin_call, begin_runtime_call;
    std::string begin_thread_name;
    Number begin_thread;
    Number begin_stack;
    Number end_stack;
    Number graph_template;
};

struct RecordedGraph {
    std::uint64_t number = 0;
    Number graph_template;
    Number capture;  ///< absent: built by hand
    std::string call;
    std::string result;
    Number thread;  ///< that instantiated it
    Number stack;
    Number exec;
    std::map<std::string, std::uint64_t> nodes;
    Number inputs;
    Number opaque;
    Number replays;  ///< known once the exec was destroyed or the process ended in order
    Number updates;
    bool changed = false;  ///< an update was recorded
    bool destroyed = false;
};

struct RecordedFinding {
    std::uint64_t number = 0;
    Number graph;
    std::string kind;
    std::string grade;
    std::string action;
    Number exec;
    RecordedAllocation allocation;
    std::optional<MemoryCall> death;
    std::string death_unknown;
    struct Younger {
        RecordedAllocation allocation;
        MemoryCall birth;
    };
    std::optional<Younger> younger;
    std::vector<RecordedReference> references;
    std::uint64_t references_left_out = 0;  ///< that only the graph's file has
    Number capture;
    Number capture_stack;
    Number instantiate_stack;
    std::string launch_call, launch_runtime_call;
    Number launch_stack;
    Number launch_thread;
    std::optional<double> t;  ///< of the launch
    Number replay;
};

struct RecordedNotice {
    std::string text;
    std::optional<double> t;
};

struct RecordedSummary {
    Number graphs, replays, inputs, opaque, findings;
    std::string opaque_reason;
    Number likely_not_shown, possible_not_shown;  ///< findings below the grade of ON_FINDING
};

/// Something in the files that could not be used. The rest of the recording is there all the same.
struct Problem {
    std::string file;
    std::uint64_t line = 0;  ///< 0: the file as a whole
    std::string text;
};

struct Recording {
    std::string folder;
    std::string keepgraph_version;
    Number pid;
    std::string started;
    std::string host;
    std::vector<std::string> command;
    Number driver_version;
    std::string driver_path;
    std::vector<std::pair<std::string, std::string>> settings;
    std::vector<RecordedModule> modules;

    std::map<std::uint64_t, RecordedStack> stacks;
    std::map<std::uint64_t, RecordedCapture> captures;
    std::map<std::uint64_t, RecordedGraph> graphs;
    std::vector<RecordedFinding> findings;
    std::vector<RecordedNotice> notices;
    std::optional<RecordedSummary> summary;  ///< absent: the process did not end in order
    bool has_coverage = false;  ///< OPTIONS=coverage=1, which also records a process without a graph or a summary
    std::vector<std::uint64_t> graph_files;  ///< numbers of the graph-<n>.json that lie in the folder, sorted

    bool last_line_cut = false;        ///< a process that was killed while it wrote
    std::uint64_t bad_lines = 0;       ///< lines of events.jsonl that could not be used
    std::vector<Problem> problems;     ///< the first of them, and whatever else was wrong
    std::uint64_t unknown_events = 0;  ///< of a type that this reader does not know: a newer writer

    const RecordedStack* stack(const Number& id) const;
    /// The module that covers `address` for a stack written at `line`: the last one announced before it, else the first
    /// one after it. An address range may belong to several modules in the course of a run.
    const RecordedModule* module_of(std::uint64_t address, std::uint64_t line) const;
    std::uint64_t findings_of(std::uint64_t graph) const;
};

// ---- graph-<n>.json
struct GraphNode {
    std::uint64_t index = 0;
    std::string type;
    std::uint64_t tools_id = 0, graph_id = 0, node_id = 0;
    std::string kernel_name;
    std::vector<std::uint64_t> dependencies, dependents;
    bool enabled = true;
    std::string kernel_function;  ///< handle, or the demangled name: shown as written
    std::vector<std::uint64_t> grid, block;
    Number shared_bytes;
    struct Argument {
        Number parameter, offset, size;
        std::string bytes;
    };
    std::vector<Argument> arguments;
    std::vector<RecordedReference> references;
    /// What a memcpy, memset, memory or host node says of itself, as `key value` in the file's order.
    std::vector<std::pair<std::string, std::string>> details;
};

struct GraphEdge {
    std::uint64_t from = 0, to = 0;
    std::uint64_t from_port = 0, to_port = 0, type = 0;
};

struct GraphBody {
    Number node;       ///< the node of the parent that holds it; absent for the graph itself
    std::string path;  ///< `child#2`, `child#2/child#0`; empty for the graph itself
    std::vector<GraphNode> nodes;
    std::vector<GraphEdge> edges;
};

struct GraphFile {
    std::uint64_t number = 0;
    Number graph_template, capture, exec, exec_graph_id, replays;
    std::string ids, ids_reason;
    bool edges_known = true;
    bool data_dropped = false;  ///< arguments and edges are missing
    GraphBody top;
    std::vector<GraphBody> children;
    std::vector<RecordedAllocation> allocations;
};

}  // namespace keepgraph::report
