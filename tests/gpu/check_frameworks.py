# SPDX-License-Identifier: Apache-2.0
"""The scripts of frameworks/ bare and under the shim: same output, their graphs in the record, the expected findings, and
the shim's count of launches against CUPTI's."""
import concurrent.futures
import dataclasses
import json
import os
import re
import sys

import records
from running import run

LIMIT = 150
COMMON = {"PYTHONHASHSEED": "0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_PLATFORMS": "cuda"}
# The first set that this version of XLA knows: it ends the process for a flag that it does not know. Without autotuning
# two runs choose the same kernels; with graphs of one command every step is in some graph.
XLA_FLAGS = ["--xla_gpu_graph_min_graph_size=1 --xla_gpu_autotune_level=0", "--xla_gpu_graph_min_graph_size=1", ""]
NO_CACHING = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
NO_WORKSPACE = NO_CACHING | {"CUBLAS_WORKSPACE_CONFIG": ":0:0"}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


@dataclasses.dataclass(frozen=True)
class Script:
    name: str
    environment: dict = dataclasses.field(default_factory=dict)
    findings: int = 0

    @property
    def framework(self):
        return self.name.split("_")[0]


SCRIPTS = [
    Script("torch_graphs"),
    Script("torch_training"),
    Script("torch_no_caching", NO_CACHING),
    Script("torch_deleted_input", NO_CACHING, findings=1),
    Script("torch_deleted_weight", NO_WORKSPACE, findings=1),
    Script("torch_expandable_segments", EXPANDABLE),
    Script("triton_graph"),
    Script("cupy_graph"),
    Script("jax_graph"),
]


def printed_number(text, word):
    found = re.search(rf"^{word}: (\d+)$", text, re.MULTILINE)
    return int(found.group(1)) if found else None


def without_numbers(text):
    """Times, process ids and addresses of a framework's own messages differ between any two runs."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", text)


def counted_launches(folder):
    """What launch_count.c wrote: one file per process that initialised CUDA."""
    counts = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            counts.append(int.from_bytes(file.read(8), sys.byteorder))
    return sum(counts) if counts else None


def reason(result):
    lines = result.err.strip().splitlines()
    return f"{result.end()}: {lines[-1][:300] if lines else ''}"


class Checked:
    """One script and its four runs."""

    def __init__(self, table, build, root, counter, work, script):
        self.table, self.build, self.counter, self.script = table, build, counter, script
        self.path = os.path.join(root, "tests/gpu/frameworks", script.name + ".py")
        self.work = os.path.join(work, "frameworks", script.name)
        self.environment = COMMON | script.environment
        self.runs = {}

    def run(self, kind, shim, count, by_command=False):
        folder = os.path.join(self.work, kind)
        os.makedirs(os.path.join(folder, "counts"))
        # A cache of its own: a kernel that was compiled before needs none of Triton's helpers.
        environment = self.environment | {"TRITON_CACHE_DIR": folder + "/triton", "CUPY_CACHE_DIR": folder + "/cupy"}
        command = [sys.executable, self.path]
        if shim:
            environment |= {"KEEPGRAPH_OUT": folder + "/out/%p", "KEEPGRAPH_WRITE": "findings,graphs"}
            if by_command:
                command = [self.build.command, "run", "--", *command]
            else:
                environment["LD_PRELOAD"] = self.build.shim
        if count:
            environment |= {"CUDA_INJECTION64_PATH": self.counter, "LAUNCH_COUNT_DIR": folder + "/counts"}
        return run(command, environment, LIMIT)

    def count_of(self, kind):
        return counted_launches(os.path.join(self.work, kind, "counts"))

    def check(self):
        name = self.script.name
        bare = self.first_run()
        if bare.code != 0:
            self.table.extract(name + ", bare", bare.err.splitlines()[-15:])
            self.table.add(name, [f"bare run: {reason(bare)}"])
            return
        have_command = os.path.exists(self.build.command)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            started = {"shim": pool.submit(self.run, "shim", True, False, have_command),
                       "count": pool.submit(self.run, "count", False, True),
                       "shim+count": pool.submit(self.run, "shim+count", True, True)}
        self.runs = {"bare": bare} | {kind: future.result() for kind, future in started.items()}
        for check in (self.output, self.record, self.findings, self.launches, self.show):
            try:
                problems, note, details = check()
            except Exception as failed:  # the other rows are worth having
                problems, note, details = [f"the check itself failed: {failed!r}"], "", {}
            if problems:
                self.table.extract(f"{name}, {check.__name__}", self.runs["shim"].err.splitlines(), 30)
            self.table.add(f"{name}: {check.__name__}", problems, note, **details)

    def first_run(self):
        if self.script.framework != "jax":
            return self.run("bare", False, False)
        for number, flags in enumerate(XLA_FLAGS):
            self.environment |= {"XLA_FLAGS": flags}
            result = self.run(f"bare{number}", False, False)
            if "flag" not in result.err.lower() or result.code == 0:
                break
        return result

    def output(self):
        bare = self.runs["bare"]
        problems = []
        for kind, result in self.runs.items():
            if result.code != bare.code:
                problems.append(f"{kind}: {reason(result)}")
            elif result.out != bare.out:
                problems.append(f"{kind}: stdout differs from bare: {result.out[:200]!r}, bare {bare.out[:200]!r}")
            elif kind == "shim" and without_numbers(result.foreign_err()) != without_numbers(bare.err):
                problems.append(f"{kind}: stderr differs from bare: {result.foreign_err()[:300]!r}, bare {bare.err[:300]!r}")
        how = "keepgraph run" if os.path.exists(self.build.command) else "LD_PRELOAD alone: no keepgraph command"
        return problems, how, {"stdout": bare.out}

    def record(self):
        """One process writes, and all graphs are there."""
        problems, numbers = [], {}
        for kind in ("shim", "shim+count"):
            try:
                recording = records.only_one_in(os.path.join(self.work, kind, "out"))
                graphs = len(recording.of_type("instantiate"))
                files = len(recording.graphs())
                numbers[kind] = {"graphs": graphs, "graph_files": files}
                known = printed_number(self.runs["bare"].out, "graphs")
                if graphs == 0 or (known is not None and graphs != known):
                    problems.append(f"{kind}: {graphs} graphs in the record, expected {known or 'some'}")
                if files != graphs:
                    problems.append(f"{kind}: {files} graph files for {graphs} graphs")
            except (OSError, ValueError, KeyError) as failed:
                problems.append(f"{kind}: {failed}")
        return problems, f"graphs {numbers.get('shim', {}).get('graphs', '?')}", numbers

    def findings(self):
        problems = []
        for kind in ("shim", "shim+count"):
            said = records.summary_of(self.runs[kind].err)
            if said is None:
                problems.append(f"{kind}: no last line")
            elif said["findings"] != self.script.findings:
                problems.append(f"{kind}: {said['findings']} findings, expected {self.script.findings}")
            if said is not None and said["inputs"] == 0:
                problems.append(f"{kind}: no input was checked")
        if self.script.findings:
            self.table.extract(self.script.name, self.runs["shim"].own_err())
            problems += self.python_lines()
        said = records.summary_of(self.runs["shim"].err) or {}
        return problems, f"{said.get('findings', '?')} findings, {said.get('inputs', '?')} inputs", {"last_line": said}

    def python_lines(self):
        """The point of the Python frames: the line of the `del` and the line of the capture, on stderr and on disk."""
        with open(self.path) as file:
            source = file.read().splitlines()
        file_name = os.path.basename(self.path)
        places = {what: f"{file_name}:{1 + next(i for i, line in enumerate(source) if line.startswith(start))}"
                  for what, start in (("death", "del "), ("capture", "with torch.cuda.graph"))}
        text = "\n".join(self.runs["shim"].own_err())
        problems = [f"stderr lacks the Python line of the {what}, {place}" for what, place in places.items()
                    if not re.search(rf"python \S*{re.escape(place)} ", text)]
        try:
            recording = records.only_one_in(os.path.join(self.work, "shim", "out"))
            finding = recording.of_type("finding")[0]
            stacks = {"death": finding["death"]["stack"], "capture": finding["capture_stack"]}
            problems += [f"the record lacks the Python line of the {what}, {place}" for what, place in places.items()
                         if place not in recording.python_frames(stacks[what])]
        except (OSError, ValueError, KeyError, IndexError) as failed:
            problems.append(f"record of the finding: {failed!r}")
        return problems

    def launches(self):
        known = printed_number(self.runs["bare"].out, "launches")
        said = {kind: (records.summary_of(self.runs[kind].err) or {}).get("replays") for kind in ("shim", "shim+count")}
        counts = {"shim": said["shim"], "shim, with CUPTI": said["shim+count"], "CUPTI, bare": self.count_of("count"),
                  "CUPTI, with shim": self.count_of("shim+count")}
        if known is not None:
            counts["script"] = known
        equal = len(set(counts.values())) == 1 and counts["shim"]
        return [] if equal else [f"counts differ: {counts}"], f"{counts['CUPTI, with shim']} by CUPTI", {"counts": counts}

    def show(self):
        """The graphs are in `keepgraph show`."""
        if not os.path.exists(self.build.command):
            return ["no keepgraph command in this build"], "", {}
        try:
            folder = records.only_one_in(os.path.join(self.work, "shim", "out")).folder
        except (OSError, ValueError) as failed:
            return [str(failed)], "", {}
        target = os.path.join(self.work, "graph.json")
        listed = run([self.build.command, "show", folder])
        one = run([self.build.command, "show", folder, "--graph", "1", "--json", target])
        problems = [f"show: {reason(result)}" for result in (listed, one) if result.code != 0]
        nodes = 0
        if not problems:
            try:
                with open(target) as file:
                    nodes = len(json.load(file)["nodes"])
            except (OSError, ValueError, KeyError) as failed:
                problems.append(f"show --json: {failed!r}")
            if nodes == 0:
                problems.append("graph 1 has no node")
        return problems, f"graph 1 has {nodes} nodes", {"listing": listed.out[:2000]}


def check(table, build, root, counter, work, scripts, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        started = [(script, pool.submit(Checked(table, build, root, counter, work, script).check)) for script in scripts]
        for script, future in started:
            if future.exception() is not None:
                table.add(script.name, [f"the check itself failed: {future.exception()!r}"])
