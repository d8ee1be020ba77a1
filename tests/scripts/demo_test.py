# SPDX-License-Identifier: Apache-2.0
"""What `scripts/demo --no-build` shows on the double: demo_test.py SOURCE BUILD

The GPU of this machine, if there is one, is hidden: this is the demo as somebody without one sees it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SOURCE, BUILD = (pathlib.Path(argument) for argument in sys.argv[1:3])
DEMO = (SOURCE / "tests/programs/demo.cpp").read_text().splitlines()


def frames_below(lines, title):
    """The stack below the one line that begins with `title`: the rest of the title, and its frames."""
    (start,) = [i for i, line in enumerate(lines) if line.startswith(title)]
    # With a long thread id the title goes on in the next line.
    goes_on = start + 2 < len(lines) and not lines[start + 1].startswith("#") and lines[start + 2].startswith("#0 ")
    frames = []
    for line in lines[start + (2 if goes_on else 1):]:
        if not line.startswith("#"):
            break
        frames.append(line)
    return lines[start][len(title):], frames


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.temporary)
        cls.work = BUILD / "demo"
        cls.work.mkdir(exist_ok=True)
        (cls.work / "of an earlier demo").mkdir(exist_ok=True)
        no_gpu = cls.temporary / "bin"
        no_gpu.mkdir()
        (no_gpu / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
        (no_gpu / "nvidia-smi").chmod(0o755)
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("KEEPGRAPH_") and name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
        env.update(KEEPGRAPH_BUILD=str(BUILD), TMPDIR=str(cls.temporary), PATH=f"{no_gpu}:{env['PATH']}")
        cls.done = subprocess.run([SOURCE / "scripts/demo", "--no-build"], env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        # What stands below each `== title`.
        cls.parts = {}
        lines = []
        for line in cls.done.stdout.splitlines():
            if line.startswith("== "):
                lines = cls.parts[line[3:]] = []
            else:
                lines.append(line)

    def part(self, title):
        (lines,) = [lines for name, lines in self.parts.items() if re.fullmatch(title, name)]
        return lines

    def said(self, situation):
        """What keepgraph said while the program ran."""
        mark = "keepgraph:"
        return [line[len(mark):].strip()
                for line in self.part(f"keepgraph run .* -- demo {situation}") if line.startswith(mark)]

    def assert_line_of(self, text, name, call):
        """`name  demo.cpp:N` stands in `text`, and line N of the source is that call."""
        found = re.search(rf"\b{name} +demo\.cpp:(\d+)\b", text)
        self.assertIsNotNone(found, f"no {name} with file and line in:\n{text}")
        self.assertIn(call, DEMO[int(found[1]) - 1])

    def test_ends_well_and_takes_no_gpu(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout)
        self.assertIn("no GPU here", self.done.stdout)

    def test_what_it_makes_lies_in_one_place_which_it_says(self):
        self.assertEqual([path.name for path in self.temporary.iterdir()], ["bin"], "something is left in TMPDIR")
        self.assertEqual({path.name for path in self.work.iterdir()},
                         {"healthy", "freed", "recycled", "graph-1.json", "graph-1.dot", "graph-1.svg"})
        self.assertEqual(self.done.stdout.splitlines()[-1],
                         f"demo: all of this lies in {self.work}, until the next demo")

    def test_healthy_graph_is_silent_but_for_the_closing_line(self):
        said = self.said("healthy")
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"^1 graph, 3 replays; [1-9]\d* inputs checked, 0 opaque; 0 findings; /")

    def assert_one_finding(self, situation, first_line):
        said = self.said(situation)
        self.assertEqual([line for line in said if line.startswith("finding ")], [said[0]])
        self.assertRegex(said[0], first_line)
        self.assertRegex(said[-1], r"^1 graph, 2 replays; .* 1 finding; /")
        for title, call in (("freed by ", "cuMemFree_v2 in cudaFree"),
                            ("captured by ", "cuStreamBeginCapture_v2 in cudaStreamBeginCapture")):
            what, frames = frames_below(said, title)
            self.assertRegex(what, rf'^{call}, thread \d+ "demo"$')
            self.assertTrue([frame for frame in frames if re.match(r"#\d+ demo\+0x", frame)], f"{title}: {frames}")
        return said

    def test_freed_input_is_found_with_both_stacks(self):
        said = self.assert_one_finding("freed", r"^finding 1: graph 1 is about to use .*, which was freed \[warn\]$")
        self.assertFalse([line for line in said if "given out again" in line])

    def test_recycled_address_names_the_younger_allocation(self):
        said = self.assert_one_finding("recycled", r", which was freed and allocated again \[warn\]$")
        block = re.compile(r" at (0x[0-9a-f]+) \(allocation #(\d+)\)")
        old = block.search(said[0])
        (young,) = [block.search(line) for line in said if line.startswith("the address was given out again: to ")]
        self.assertEqual(young[1], old[1], "the same address")
        self.assertGreater(int(young[2]), int(old[2]), "a younger allocation")
        _, frames = frames_below(said, "allocated by ")
        self.assertTrue(frames)

    def test_show_has_function_file_and_line(self):
        lines = [line.strip() for line in self.part("keepgraph show .*")]
        self.assert_line_of("\n".join(frames_below(lines, "freed by")[1]), "release_input", "cudaFree(")
        self.assert_line_of("\n".join(frames_below(lines, "allocated by")[1]), "allocate_buffer", "cudaMalloc(")
        self.assert_line_of("\n".join(frames_below(lines, "captured")[1]), "capture_step", "cudaStreamBeginCapture(")
        (graph,) = [line for line in lines if re.match(r"1 .*demo\.cpp:\d+$", line)]
        self.assert_line_of(graph, "capture_step", "cudaStreamBeginCapture(")

    def test_graph_is_there_as_json_and_as_dot(self):
        paths = {pathlib.Path(line).suffix: pathlib.Path(line)
                 for line in self.part("one graph as JSON and as DOT") if line.startswith(str(self.work))}
        self.assertEqual(set(paths), {".dot", ".json", ".svg"})
        graph = json.loads(paths[".json"].read_text())
        self.assertEqual([node["kernel_name"] for node in graph["nodes"]], ["kg_scale"])
        # graphviz is no option: scripts/setup installs it.
        drawn = subprocess.run(["dot", "-Tsvg", paths[".dot"]], capture_output=True, text=True)
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        for picture in (drawn.stdout, paths[".svg"].read_text()):
            svg = "{http://www.w3.org/2000/svg}"
            nodes = [group for group in xml.etree.ElementTree.fromstring(picture).iter(svg + "g")
                     if group.get("class") == "node"]
            self.assertTrue([node for node in nodes if "kg_scale" in "".join(node.itertext())], picture)


unittest.main(argv=sys.argv[:1])
