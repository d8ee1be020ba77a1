# SPDX-License-Identifier: Apache-2.0
"""tests/conformance on the driver and the cudart of this machine against expected.txt, which is what the double gives."""
import os

from running import run, with_libraries

PROBE_SECONDS = 20
ALL_SECONDS = 200


def by_name(text):
    """Lines by the probe they belong to. A probe that ends its process after its line has two."""
    lines = {}
    for line in text.splitlines():
        lines.setdefault(line.split(":", 1)[0], []).append(line)
    return {name: " | ".join(found) for name, found in lines.items()}


def differing_lines(expected, measured):
    expected, measured = by_name(expected), by_name(measured)
    return [{"probe": name, "expected": expected.get(name), "measured": measured.get(name)}
            for name in sorted(set(expected) | set(measured)) if expected.get(name) != measured.get(name)]


def missing_things(stderr, cudart):
    """What the program says that it did not find, with the folder that was to have it."""
    said = [line.removeprefix("conformance: ") for line in stderr.splitlines() if line.startswith("conformance: no ")]
    return [f"{line} [--cudart is {cudart}]" if "libcudart" in line else line for line in dict.fromkeys(said)]


def check(table, build, root, output, cudart):
    with open(os.path.join(root, "tests/conformance/expected.txt")) as file:
        expected = file.read()
    result = run([build.conformance, "--limit", PROBE_SECONDS], with_libraries(cudart), limit=ALL_SECONDS)
    with open(os.path.join(output, "conformance.txt"), "w") as file:
        file.write(result.out)
    differing = differing_lines(expected, result.out)
    never_run = [line["probe"] for line in differing if line["measured"] is None]
    problems = missing_things(result.err, cudart)
    if differing:
        problems.append(f"{len(differing)} differ, {len(never_run)} of them were not measured: "
                        + ", ".join(line["probe"] for line in differing[:8]) + (" ..." if len(differing) > 8 else ""))
    if result.code != 0:
        problems.append(result.end())
    if result.err:
        table.extract("conformance", result.err.splitlines())
    table.add("conformance", problems, f"{len(result.out.splitlines())} lines of {len(expected.splitlines())}",
              lines=len(result.out.splitlines()), expected_lines=len(expected.splitlines()), differing=differing)
