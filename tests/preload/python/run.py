#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs victim.py under every CPython 3 of this machine and says which were tested.

Usage: run.py PROBE_LIBRARY. Looks at python3 and python3.6 .. python3.15 on PATH, /usr/bin and ~/.pyenv/versions."""
import glob
import os
import re
import shutil
import subprocess
import sys


def find_interpreters():
    """Real path of each interpreter by (version, path); the same file under two names counts once."""
    candidates = [shutil.which("python3"), "/usr/bin/python3", sys.executable]
    candidates += [shutil.which("python3.%d" % minor) for minor in range(6, 16)]
    candidates += glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))
    found = {}
    for path in filter(None, candidates):
        try:
            answer = subprocess.run([path, "-c", "import sys, os; print(os.path.realpath(sys.executable)); "
                                     "print(sys.implementation.name, *sys.version_info[:3])"],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
            real, version = answer.stdout.decode().split("\n")[:2]
        except (OSError, ValueError, subprocess.TimeoutExpired):
            continue
        name, *numbers = version.split()
        if name == "cpython":
            found[real] = tuple(map(int, numbers))
    return sorted((version, path) for path, version in found.items())


def run(path, library):
    victim = os.path.join(os.path.dirname(os.path.abspath(__file__)), "victim.py")
    # PYTHONMALLOC=debug would change nothing here, PYTHONDEVMODE would print; keep the environment plain.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment.update(PYTHONUTF8="1", PROBE_AT_EXIT="1", PYTHONDONTWRITEBYTECODE="1")
    result = subprocess.run([path, victim, library], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                            env=environment)
    return result.returncode, result.stdout.decode(errors="replace")


def main():
    library = os.path.abspath(sys.argv[1])
    interpreters = find_interpreters()
    if not interpreters:
        print("no CPython found")
        return 1
    failed = 0
    for version, path in interpreters:
        code, output = run(path, library)
        # After the interpreter has ended there is nothing to tell, and no reason either.
        good = code == 0 and output.endswith("at exit: reason\t\n") and "FAIL" not in output
        cost = re.search(r"cost of a capture.*", output)
        print("%s CPython %s (%s): %d checks%s" % ("ok  " if good else "FAIL", ".".join(map(str, version)), path,
                                                  len(re.findall(r"^ok ", output, re.M)),
                                                  ", " + cost.group() if cost else ""))
        if not good:
            failed += 1
            print("     exit code %d\n%s" % (code, output))
    tested = sorted({version[:2] for version, _ in interpreters})
    missing = [minor for minor in range(10, 15) if (3, minor) not in tested]
    print("tested: " + ", ".join("3.%d" % minor for _, minor in tested) +
          ("; not on this machine: " + ", ".join("3.%d" % minor for minor in missing) if missing else ""))
    print("%d passed, %d failed" % (len(interpreters) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
