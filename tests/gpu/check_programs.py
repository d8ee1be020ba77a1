# SPDX-License-Identifier: Apache-2.0
"""tests/programs bare and under the shim, each over a static cudart, a shared one and the driver API alone: same output
as bare, the findings that tests/programs/README.md lists, and one record whatever the form. Of tests/preload/programs,
which open the driver by dlopen, those whose end depends on what a real driver does."""
import concurrent.futures
import dataclasses
import os
import signal

import records
from running import run, with_libraries

THREE = ("static", "shared", "driver")
DLOPEN = ("dlopen",)


@dataclasses.dataclass(frozen=True)
class Case:
    words: str
    graphs: int
    replays: int
    findings: int
    forms: tuple = THREE
    ordered: bool = True      # False: threads race, so only what happened is compared, not the order
    summary: bool = True      # False: the process ends in a way that no library sees
    goes_on: bool = False     # handlers of the program that are older than the shim's run after the summary
    alone: bool = False       # loses its context: nothing else runs meanwhile
    # The driver itself uses memory that it freed: whether the last replay gives 719 or ends the process depends on what
    # the heap holds by then, and the shim allocates too. All that comes before is compared as ever.
    undefined: bool = False

    @property
    def program(self):
        return self.words.split()[0]

    @property
    def arguments(self):
        return self.words.split()[1:]


CASES = [
    Case("healthy", 3, 12, 0),
    Case("freed_input", 1, 3, 1),
    Case("recycled", 1, 2, 1),
    Case("repointed freed", 1, 2, 1),
    Case("repointed kept", 1, 2, 0),
    Case("weights i", 1, 2, 0),
    Case("weights ii", 1, 2, 1),
    Case("weights iii", 1, 2, 1),
    Case("weights refresh", 1, 2, 0),
    Case("shared_workspace", 2, 3, 1),
    Case("stream_reuse", 6, 6, 0),
    Case("memcpy_nodes", 2, 4, 2),
    Case("memcpy_nodes by_hand", 2, 4, 2),
    Case("memset_nodes", 1, 2, 1),
    Case("memset_nodes by_hand", 1, 2, 1),
    Case("async_free", 1, 2, 1),
    Case("many_graphs", 16, 160, 1),
    Case("many_graphs inputs", 1, 2, 8),
    Case("exec_update", 1, 5, 1),
    Case("exec_update set_params", 1, 4, 1),
    Case("integer_arg", 2, 3, 0),
    Case("integer_arg alone", 1, 2, 1),
    Case("end_pointer", 1, 2, 0),
    Case("end_pointer output", 1, 2, 1),
    Case("dump_after_destroy", 1, 2, 0),
    Case("dump_after_destroy by_hand", 1, 2, 0),
    Case("modes", 6, 6, 0),
    Case("threads8", 8, 801, 1, ordered=False),
    Case("launches", 8, 808, 0, ordered=False),
    Case("exits return", 1, 2, 1),
    Case("exits exit", 1, 2, 1),
    Case("exits quick_exit", 1, 2, 1),
    Case("exits thread_exit", 1, 2, 1),
    Case("exits static_destructor", 1, 2, 1),
    Case("exits atexit", 1, 2, 1),
    Case("exits at_quick_exit", 1, 2, 1, goes_on=True),
    Case("exits abort", 1, 2, 1, summary=False),
    Case("exits throw", 1, 2, 1, summary=False),
    Case("exits _exit", 1, 2, 1, summary=False),
    Case("exits sigterm", 1, 2, 1, summary=False),
    Case("exits sigkill", 1, 2, 1, summary=False),
    Case("exits sigsegv", 1, 2, 1, summary=False),
    Case("entry_points", 2, 2, 0, forms=("shared",)),
    Case("vmm", 1, 2, 1, forms=("driver",)),
    Case("launch_forms", 6, 12, 6, forms=("driver",)),
    Case("pinned freed", 1, 2, 1, alone=True, undefined=True, summary=False),
    Case("pinned", 1, 2, 1, alone=True, undefined=True, summary=False),
    *(Case(f"changes {way}", 2 if way.startswith("again") else 1, 2, 1, forms=DLOPEN)
      for way in ("again", "update", "set", "again_recycled", "update_recycled", "set_recycled")),
    *(Case(f"reordered {kind} {what}", 1, 2, int(what == "used"), forms=DLOPEN)
      for kind in ("kernels", "copy", "off", "off_copy") for what in ("unused", "used")),
    Case("addresses first", 1, 2, 0, forms=DLOPEN),
    Case("addresses managed", 2, 2, 0, forms=DLOPEN),
    Case("addresses mapped", 2, 2, 0, forms=DLOPEN),
    Case("addresses registered", 2, 3, 0, forms=DLOPEN),
    *(Case(f"addresses {way}", graphs, 2, 1, forms=DLOPEN, alone=True)
      for way, graphs in (("second", 1), ("across", 1), ("managed_gone", 2), ("mapped_gone", 2))),
]


def check_form(table, build, case, form, executable, environment, work):
    """One row; returns the recording, or the reason why there is none."""
    name = f"{case.words}, {form}"
    if isinstance(executable, Exception):
        table.add(name, [str(executable)])
        return executable
    parent = os.path.join(work, "records", name.replace(" ", "_"))
    bare = run([executable, *case.arguments], environment)
    shimmed = run([executable, *case.arguments], environment | {
        "LD_PRELOAD": build.shim, "KEEPGRAPH_OUT": parent + "/%p", "KEEPGRAPH_WRITE": "findings,graphs"})
    problems = []
    if bare.code is None or bare.code == 3:  # 3: a preparing call failed, so nothing was shown
        problems.append(f"bare run: {bare.end()}: {bare.out.strip()[-100:]}")
    if bare.code != shimmed.code and not case.undefined:
        problems.append(f"ends with {shimmed.end()}, bare {bare.end()}")
    if bare.out != shimmed.out and not (case.undefined and shimmed.out and bare.out.startswith(shimmed.out)):
        problems.append("stdout differs from bare")
    if bare.foreign_err() != shimmed.foreign_err():
        problems.append("stderr differs from bare")
    wanted = {"graphs": case.graphs, "replays": case.replays, "findings": case.findings}
    said = records.summary_of(shimmed.err)
    if case.summary and said is None:
        problems.append("no last line")
    if said is not None and {key: said[key] for key in wanted} != wanted:
        problems.append(f"last line says {said}, expected {wanted}")
    if not case.summary:
        shown = sum(line.startswith("keepgraph: finding") for line in shimmed.own_err())
        if shown != case.findings:
            problems.append(f"{shown} findings on stderr, expected {case.findings}")
    try:
        recording = records.only_one_in(parent)
        problems += record_problems(recording, case, wanted)
    except (OSError, ValueError, KeyError) as failed:
        recording = failed
        problems.append(f"record: {failed}")
    if problems:
        table.extract(name, shimmed.err.splitlines(), 15)
    table.add(name, problems, f"{bare.end()}, {case.findings} findings", bare=bare.end(), shim=shimmed.end(),
              last_line=said, expected=wanted)
    return recording


def record_problems(recording, case, wanted):
    found = {"graphs": len(recording.of_type("instantiate")), "findings": len(recording.of_type("finding"))}
    problems = [f"record has {found[key]} {key}, expected {wanted[key]}" for key in found if found[key] != wanted[key]]
    last = (recording.of_type("summary") if case.goes_on else recording.events)[-1:]
    last = last[0] if last else {}
    if case.summary and (last.get("type") != "summary" or {key: last.get(key) for key in wanted} != wanted):
        problems.append(f"record ends with {str(last)[:120]}")
    if len(recording.graphs()) != case.graphs:
        problems.append(f"{len(recording.graphs())} graph files, expected {case.graphs}")
    return problems


def compare_forms(table, case, recordings):
    name = f"{case.words}: one record"
    missing = [form for form, recording in recordings.items() if isinstance(recording, Exception)]
    if missing:
        table.add(name, [f"no record of {', '.join(missing)}"])
        return
    normalised = {form: recording.normalised(case.ordered) for form, recording in recordings.items()}
    first, *others = case.forms
    problems = []
    for form in others:
        difference = records.first_difference(normalised[first], normalised[form])
        if difference is not None:
            problems.append(f"{first} and {form}: {difference}")
    table.add(name, problems, f"{len(normalised[first]['events'])} events, {len(normalised[first]['graphs'])} graph files")


def action_problems(action, bare, shimmed):
    """refuse: the wrong launches give 401 and all else goes on as bare. abort: SIGABRT at the first of them."""
    wrong = bare.out.find("after the free: ")
    if wrong < 0:
        return [f"bare run: {bare.end()}: {bare.out.strip()[-100:]}"]
    problems = []
    if action == "refuse":
        expected = bare.out[:wrong] + bare.out[wrong:].replace(": launch 0,", ": launch 401,")
        if shimmed.code != bare.code:
            problems.append(f"ends with {shimmed.end()}, bare {bare.end()}")
    else:
        expected = bare.out[:wrong]
        if shimmed.code != -signal.SIGABRT:
            problems.append(f"ends with {shimmed.end()}, expected SIGABRT")
    if shimmed.out != expected:
        problems.append(f"stdout is {shimmed.out[-200:]!r}, expected {expected[-200:]!r}")
    if sum(line.startswith("keepgraph: finding 1: ") for line in shimmed.own_err()) != 1:
        problems.append("no finding on stderr")
    return problems


def check_action(table, build, action, form, executable, environment):
    name = f"freed_input with {action}, {form}"
    if isinstance(executable, Exception):
        table.add(name, [str(executable)])
        return
    bare = run([executable], environment)
    shimmed = run([executable], environment | {"LD_PRELOAD": build.shim, "KEEPGRAPH_ON_FINDING": action})
    problems = action_problems(action, bare, shimmed)
    if problems:
        table.extract(name, shimmed.err.splitlines(), 15)
    table.add(name, problems, shimmed.end(), bare=bare.end(), shim=shimmed.end())


def check_doubtful(table, build, environment):
    """Freed pinned memory that stays readable, which a node is given again. Refused: the launch would end the process,
    as a copy from such memory does."""
    name = "changes set_host, refused"
    shimmed = run([build.dlopen_program("changes"), "set_host"], environment | {
        "LD_PRELOAD": build.shim, "KEEPGRAPH_ON_FINDING": "refuse:possible"})
    problems = []
    if shimmed.code != 0:
        problems.append(f"ends with {shimmed.end()}")
    if "at the end 401\n" not in shimmed.out:
        problems.append(f"stdout is {shimmed.out[-200:]!r}, expected a launch that gives 401")
    if not any(line.endswith(", possible") for line in shimmed.own_err()):
        problems.append("no reference of grade possible on stderr")
    if problems:
        table.extract(name, shimmed.err.splitlines(), 15)
    table.add(name, problems, shimmed.end(), shim=shimmed.end())


def check(table, build, cases, forms, cudart, work, jobs, alone):
    environment = with_libraries(cudart)
    if not alone:
        for form in THREE if cases else ():
            for action in ("refuse", "abort"):
                check_action(table, build, action, form, forms["freed_input", form], environment)
        if cases:
            check_doubtful(table, build, environment)

    def guarded(case, form):
        try:
            return check_form(table, build, case, form, forms[case.program, form], environment, work)
        except Exception as failed:  # the other rows are worth having
            table.add(f"{case.words}, {form}", [f"the check itself failed: {failed!r}"])
            return failed

    def start(pool, case):
        return {form: pool.submit(guarded, case, form) for form in case.forms}

    with concurrent.futures.ThreadPoolExecutor(1 if alone else jobs) as pool:
        started = [(case, start(pool, case)) for case in cases if case.alone == alone]
        for case, futures in started:
            recordings = {form: future.result() for form, future in futures.items()}
            if len(case.forms) > 1:
                compare_forms(table, case, recordings)

