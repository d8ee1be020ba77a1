# SPDX-License-Identifier: Apache-2.0
"""Reads recordings (src/report/README.md) strictly and takes out what may differ between two builds of one program.
The same rules as tests/preload/harness/recording.cpp, and two more that only the real cudart needs: see CALL_FORM and
GRAPH_KEYS."""
import json
import os
import re

# Keys whose values differ between runs or between builds of one program.
VOLATILE = {
    "t", "thread", "thread_name", "began", "begin_thread", "begin_thread_name", "stack", "begin_stack", "end_stack",
    "capture_stack", "instantiate_stack", "launch_stack", "exec", "stream", "address", "runtime_call", "user_data",
    "begin_call", "begin_runtime_call", "launch_runtime_call",
}
# Of graph-<n>.json: ids and handles, bytes that hold addresses, and pitches, which mean nothing for a copy of one row.
GRAPH_KEYS = {
    "exec_graph_id", "tools_id", "graph_id", "node_id", "event_ptr", "host_fn_addr", "bytes", "src_pitch", "dst_pitch",
    "function", "src", "dst", "pitch",
}
# Real cudart instantiates by cuGraphInstantiate where the driver form of a program says cuGraphInstantiateWithFlags.
CALL_FORM = re.compile(r"(?:WithFlags|WithParams)?(?:_v\d+)?(?:_ptsz|_ptds)?$")

SUMMARY = re.compile(r"keepgraph: (\d+) graphs?, (\d+) replays?; (\d+) inputs? checked(?:, (\d+) [^;]*)?; (\d+) findings?"
                     r"(?:, [^;]* not shown \([^;]*\))?(?:; .*)?")


class Normaliser:
    """Allocation ids become their order of appearance; one object per recording, since graph files use the same ids."""

    def __init__(self):
        self.allocations = {}

    def allocation(self, number):
        return self.allocations.setdefault(number, len(self.allocations) + 1)

    def strip(self, value, volatile=VOLATILE):
        if isinstance(value, list):
            return [self.strip(item, volatile) for item in value]
        if not isinstance(value, dict):
            return value
        result = {}
        for key in sorted(value):  # ids are numbered in this order, so it may not depend on the writer
            item = value[key]
            if key in volatile:
                continue
            if (key == "id" and "size" in value) or (key == "allocation" and isinstance(item, int)):
                result[key] = self.allocation(item)
            elif key in ("call", "launch_call") and isinstance(item, str):
                result[key] = CALL_FORM.sub("", item)
            else:
                result[key] = self.strip(item, volatile)
        return result

    def events(self, events):
        return [self.strip(event) for event in events if event["type"] not in ("module", "stack")]

    def graph(self, graph):
        return self.strip(graph, VOLATILE | GRAPH_KEYS)


def unordered(events):
    """For programs whose threads race: what happened, without who was first. Numbers given by order go, lines are
    sorted; grades go too, since they depend on whose memory lies behind whose."""
    def plain(value):
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()
                    if key not in ("graph", "template", "capture", "id", "finding", "allocation", "grade")
                    or isinstance(item, (dict, list))}
        return value
    return sorted((plain(event) for event in events), key=lambda event: json.dumps(event, sort_keys=True))


class Recording:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "manifest.json")) as file:
            self.manifest = json.load(file)
        with open(os.path.join(folder, "events.jsonl")) as file:
            text = file.read()
        if not text.endswith("\n"):
            raise ValueError("events.jsonl ends inside a line")
        self.events = [json.loads(line) for line in text.splitlines()]

    def of_type(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def graphs(self):
        names = [name for name in os.listdir(self.folder) if re.fullmatch(r"graph-\d+\.json", name)]
        result = []
        for name in sorted(names, key=lambda name: int(name[6:-5])):
            with open(os.path.join(self.folder, name)) as file:
                result.append(json.load(file))
        return result

    def python_frames(self, stack_id):
        """`file:line` of a stack's Python frames, innermost first."""
        for stack in self.of_type("stack"):
            if stack["id"] == stack_id:
                return [f"{os.path.basename(frame['file'])}:{frame['line']}" for frame in stack.get("python", [])]
        return []

    def normalised(self, ordered=True):
        normaliser = Normaliser()
        events = normaliser.events(self.events)
        if not ordered:
            return {"events": unordered(events), "graphs": unordered([normaliser.graph(g) for g in self.graphs()])}
        return {"events": events, "graphs": [normaliser.graph(graph) for graph in self.graphs()]}


def recordings_in(parent):
    return sorted(folder for folder, _, files in os.walk(parent) if "events.jsonl" in files)


def only_one_in(parent):
    found = recordings_in(parent)
    if len(found) != 1:
        raise ValueError(f"{len(found)} recordings, expected one")
    return Recording(found[0])


def summary_of(stderr):
    """Numbers of the shim's last line, or None when its last line is another one."""
    lines = [line for line in stderr.splitlines() if line.startswith("keepgraph: ")]
    match = SUMMARY.fullmatch(lines[-1]) if lines else None
    if match is None:
        return None
    graphs, replays, inputs, opaque, findings = match.groups(default="0")
    return {"graphs": int(graphs), "replays": int(replays), "inputs": int(inputs), "opaque": int(opaque),
            "findings": int(findings)}


def first_difference(one, other, path=""):
    """Where two normalised records part, in a few words; None when they are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(set(one) | set(other)):
            found = first_difference(one.get(key), other.get(key), f"{path}.{key}" if path else key)
            if found is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list):
        for index, (left, right) in enumerate(zip(one, other)):
            found = first_difference(left, right, f"{path}[{index}]")
            if found is not None:
                return found
        return None if len(one) == len(other) else f"{path} has {len(one)} and {len(other)} entries"
    return None if one == other else f"{path}: {json.dumps(one)[:200]} and {json.dumps(other)[:200]}"
