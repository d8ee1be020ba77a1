# SPDX-License-Identifier: Apache-2.0
"""What runs without a GPU: the rules by which two records, two outputs and two lists of probes are compared."""
import copy
import json
import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
import check_conformance  # noqa: E402
import check_programs  # noqa: E402
import records  # noqa: E402
from table import Table  # noqa: E402


def allocation(number, address):
    return {"id": number, "address": address, "size": 4096, "kind": "device", "device": 0}


def made_events():
    input_, younger = allocation(5, "0x7f0000000000"), allocation(9, "0x7f0000000000")
    return [
        {"type": "module", "t": 0.1, "thread": 7, "path": "/lib/libcudart.so.13", "base": "0x1", "end": "0x2", "build_id": ""},
        {"type": "stack", "t": 0.1, "thread": 7, "id": 1, "frames": ["0x10"], "python": [{"file": "/a/b.py", "line": 3, "function": "f"}]},
        {"type": "instantiate", "t": 0.2, "thread": 7, "graph": 1, "template": 1, "call": "cuGraphInstantiateWithFlags",
         "result": "CUDA_SUCCESS", "stack": 1, "exec": "0x55", "nodes": {"kernel": 1}, "inputs": 1, "opaque": 0},
        {"type": "death", "t": 0.3, "thread": 7, "allocation": input_, "call": "cuMemFree_v2", "stack": 2},
        {"type": "birth", "t": 0.4, "thread": 7, "allocation": younger, "call": "cuMemAlloc_v2", "stack": 3},
        {"type": "finding", "t": 0.5, "thread": 7, "finding": 1, "graph": 1, "kind": "recycled", "grade": "likely",
         "allocation": input_, "younger": {"allocation": younger, "call": "cuMemAlloc_v2", "t": 0.4, "stack": 3},
         "references": [{"node": 0, "slot": "parameter 0 +0", "address": "0x7f0000000000", "offset": 0, "grade": "likely"}]},
        {"type": "summary", "t": 0.6, "thread": 7, "graphs": 1, "replays": 2, "inputs": 1, "opaque": 0, "findings": 1},
    ]


def other_form(events):
    """The same run over another cudart: other addresses, ids, threads, times, stacks; another name of a call."""
    text = json.dumps(events).replace("0x7f0000000000", "0x7fffff000000").replace('"id": 5', '"id": 105')
    text = text.replace('"id": 9', '"id": 112').replace("cuGraphInstantiateWithFlags", "cuGraphInstantiate")
    events = json.loads(text)
    for event in events:
        event |= {"t": event["t"] + 1, "thread": 99, "runtime_call": "cudaFree"}
    del events[0]
    return events


def normalised(events):
    return records.Normaliser().events(events)


class Normalising(unittest.TestCase):
    def test_two_forms_of_one_program_are_equal(self):
        self.assertIsNone(records.first_difference(normalised(made_events()), normalised(other_form(made_events()))))

    def test_what_matters_is_kept(self):
        changes = {
            "grade": lambda events: events[5].update(grade="possible"),
            "slot": lambda events: events[5]["references"][0].update(slot="parameter 1 +0"),
            "call": lambda events: events[3].update(call="cuMemFreeAsync"),
            "a missing event": lambda events: events.pop(4),
            "size": lambda events: events[3]["allocation"].update(size=8192),
            "replays": lambda events: events[6].update(replays=3),
        }
        for what, change in changes.items():
            events = made_events()
            change(events)
            self.assertIsNotNone(records.first_difference(normalised(made_events()), normalised(events)), what)

    def test_a_different_allocation_is_seen_although_ids_are_renumbered(self):
        events = made_events()
        events[5]["allocation"]["id"] = events[5]["younger"]["allocation"]["id"]
        self.assertIsNotNone(records.first_difference(normalised(made_events()), normalised(events)))

    def test_order_counts_unless_threads_race(self):
        one = [{"type": "capture", "capture": 1, "mode": "relaxed"}, {"type": "capture", "capture": 2, "mode": "global"}]
        other = [one[1] | {"capture": 1}, one[0] | {"capture": 2}]
        self.assertIsNotNone(records.first_difference(normalised(one), normalised(other)))
        self.assertEqual(records.unordered(normalised(one)), records.unordered(normalised(other)))
        other[0]["mode"] = "thread_local"
        self.assertNotEqual(records.unordered(normalised(one)), records.unordered(normalised(other)))

    def test_graph_files_lose_handles_and_keep_references(self):
        graph = {"graph": 1, "exec": "0x1", "nodes": [{"index": 0, "tools_id": 4, "arguments": [{"bytes": "00ff", "size": 8}],
                                                       "references": [{"slot": "src", "address": "0x9", "allocation": 5}],
                                                       "memcpy": {"src": "0x9", "width_bytes": 16}}]}
        other = copy.deepcopy(graph) | {"exec": "0x2"}
        other["nodes"][0] |= {"tools_id": 8, "arguments": [{"bytes": "ee00", "size": 8}], "memcpy": {"src": "0x8", "width_bytes": 16},
                              "references": [{"slot": "src", "address": "0x8", "allocation": 77}]}
        self.assertEqual(records.Normaliser().graph(graph), records.Normaliser().graph(other))
        other["nodes"][0]["references"][0]["slot"] = "dst"
        self.assertNotEqual(records.Normaliser().graph(graph), records.Normaliser().graph(other))


class Reading(unittest.TestCase):
    def write(self, folder, text):
        os.makedirs(folder)
        for name, content in (("manifest.json", "{}"), ("events.jsonl", text)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(content)

    def test_one_folder_is_read_and_two_are_refused(self):
        text = "".join(json.dumps(event) + "\n" for event in made_events())
        with tempfile.TemporaryDirectory() as parent:
            with self.assertRaises(ValueError):
                records.only_one_in(parent)
            self.write(parent + "/1", text)
            recording = records.only_one_in(parent)
            self.assertEqual(len(recording.of_type("finding")), 1)
            self.assertEqual(recording.python_frames(1), ["b.py:3"])
            self.assertEqual(recording.normalised()["events"], normalised(made_events()))
            self.write(parent + "/2", text)
            with self.assertRaises(ValueError):
                records.only_one_in(parent)

    def test_a_cut_line_is_an_error(self):
        with tempfile.TemporaryDirectory() as parent:
            self.write(parent + "/1", '{"type": "summary"}')
            with self.assertRaises(ValueError):
                records.only_one_in(parent)

    def test_last_line(self):
        line = "keepgraph: 3 graphs, 40 replays; 12 inputs checked, 2 opaque; 1 finding; out/1"
        self.assertEqual(records.summary_of("hello\n" + line + "\n"),
                         {"graphs": 3, "replays": 40, "inputs": 12, "opaque": 2, "findings": 1})
        kept_back = line.replace("1 finding;", "1 finding, 2 possible not shown (KEEPGRAPH_ON_FINDING=warn:possible);")
        self.assertEqual(records.summary_of(kept_back), records.summary_of(line))
        self.assertEqual(records.summary_of("keepgraph: 1 graph, 3 replays; 2 inputs checked; 0 findings\n")["opaque"], 0)
        self.assertIsNone(records.summary_of(line + "\nkeepgraph: something else\n"))
        self.assertIsNone(records.summary_of(""))


class Comparing(unittest.TestCase):
    def test_probes_are_compared_by_name(self):
        differing = check_conformance.differing_lines("a: x=1\nb: x=2\nc: x=3\n", "a: x=1\nb: x=4\nd: timeout\n")
        self.assertEqual([(line["probe"], line["expected"], line["measured"]) for line in differing],
                         [("b", "b: x=2", "b: x=4"), ("c", "c: x=3", None), ("d", None, "d: timeout")])
        self.assertEqual(check_conformance.differing_lines("a: x=1\n", "a: x=1\na: timeout\n")[0]["measured"],
                         "a: x=1 | a: timeout")

    def test_what_conformance_lacks_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "tests/conformance"))
            with open(os.path.join(folder, "tests/conformance/expected.txt"), "w") as file:
                file.write("cudaFree.success: free=0\n")
            program = os.path.join(folder, "conformance")
            build = types.SimpleNamespace(conformance=program)
            table = Table([])
            for script in ("echo cudaFree.success: free=0; echo $LD_LIBRARY_PATH >" + folder + "/path",
                           "echo cudaFree.success: missing=libcudart; echo conformance: no libcudart.so.13 here >&2; exit 1",
                           "echo conformance: no libcuda.so.1 here >&2; exit 77"):
                with open(program, "w") as file:
                    file.write("#!/bin/sh\n" + script + "\n")
                os.chmod(program, 0o755)
                check_conformance.check(table, build, folder, folder, "/cudart/folder")
            self.assertEqual([row["verdict"] for row in table.rows], ["ok", "FAILED", "FAILED"])
            self.assertEqual(table.rows[1]["problems"][0], "no libcudart.so.13 here [--cudart is /cudart/folder]")
            self.assertEqual(table.rows[2]["problems"][0], "no libcuda.so.1 here")
            with open(os.path.join(folder, "path")) as file:
                self.assertEqual(file.read().split(":")[0].strip(), "/cudart/folder")

    def test_forms_that_differ_or_lack_a_record_fail(self):
        def recording(events):
            made = records.Recording.__new__(records.Recording)
            made.events, made.graphs = events, lambda: []
            return made
        case = check_programs.Case("healthy", 1, 2, 1)
        table = Table([])
        worse = other_form(made_events())
        worse[4]["grade"] = "possible"
        forms = {"static": recording(made_events()), "shared": recording(other_form(made_events()))}
        check_programs.compare_forms(table, case, forms | {"driver": recording(made_events())})
        check_programs.compare_forms(table, case, forms | {"driver": recording(worse)})
        check_programs.compare_forms(table, case, forms | {"driver": ValueError("0 recordings")})
        self.assertEqual([row["verdict"] for row in table.rows], ["ok", "FAILED", "FAILED"])
        self.assertIn("grade", table.rows[1]["problems"][0])

    def test_a_record_that_does_not_say_what_happened_fails(self):
        made = records.Recording.__new__(records.Recording)
        made.events, made.graphs = made_events(), lambda: [{}]
        case = check_programs.Case("recycled", 1, 2, 1)
        right = {"graphs": 1, "replays": 2, "findings": 1}
        self.assertEqual(check_programs.record_problems(made, case, right), [])
        for key in right:
            self.assertNotEqual(check_programs.record_problems(made, case, right | {key: 7}), [], key)
        made.events = made.events[:-1]
        self.assertNotEqual(check_programs.record_problems(made, case, right), [])

    def test_a_refused_launch_and_an_abort_are_what_they_should_be(self):
        def ended(code, out, own=("keepgraph: finding 1: x",)):
            return types.SimpleNamespace(code=code, out=out, end=lambda: str(code), own_err=lambda: list(own))
        before, after = "before the free: launch 0, synchronize 0\n", "after the free: launch {}, synchronize 0\nfree 0\n"
        bare = ended(0, before + after.format(0), ())
        refused, aborted = ended(0, before + after.format(401)), ended(-6, before)
        self.assertEqual(check_programs.action_problems("refuse", bare, refused), [])
        self.assertEqual(check_programs.action_problems("abort", bare, aborted), [])
        for action, wrong in (("refuse", bare), ("refuse", aborted), ("refuse", ended(0, refused.out, ())),
                              ("abort", refused), ("abort", ended(-6, bare.out)), ("abort", ended(-6, before, ()))):
            self.assertNotEqual(check_programs.action_problems(action, bare, wrong), [], (action, wrong))
        self.assertNotEqual(check_programs.action_problems("refuse", ended(3, ""), ended(3, "")), [])

    def test_a_failure_fails_and_paths_are_taken_out(self):
        table = Table(["/home/user/app", "/home/user/app/out"])
        table.add("good", [])
        self.assertEqual(table.finish(), 0)
        table.add("bad", ["/home/user/app/out/x and /home/user/app/y and /home/user/app in "
                          "/opt/venv/lib/python3/site-packages/torch/a.py"])
        self.assertEqual(table.rows[1]["problems"], ["x and y and . in .../site-packages/torch/a.py"])
        self.assertEqual(table.finish(), 1)
        self.assertEqual(Table([]).finish(), 1)


if __name__ == "__main__":
    unittest.main()
