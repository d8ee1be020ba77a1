#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`meson install` with a DESTDIR, stripped: the command finds the shim there, from a moved folder and through a link
too, and not the one of the build.

Usage: installed_test.py BUILD FAKE_APP"""
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, FAKE_APP = sys.argv[1:]
SHIM = "libkeepgraph_preload.so"


def environment():
    return {key: value for key, value in os.environ.items()
            if not key.startswith("KEEPGRAPH_") and key not in ("LD_PRELOAD", "DESTDIR", "MESON_INSTALL_PREFIX")}


def files_below(folder, name):
    return [os.path.join(path, name) for path, _, files in os.walk(folder) if name in files]


def preloaded(command):
    """LD_PRELOAD of a program that `command run` starts."""
    done = subprocess.run([command, "run", "--", FAKE_APP, "env"], env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=60)
    lines = [line for line in done.stdout.split("\n") if line.startswith("LD_PRELOAD=")]
    if done.returncode != 0 or len(lines) != 1:
        sys.exit("%s run ended with %d:\n%s" % (command, done.returncode, done.stdout))
    return lines[0][len("LD_PRELOAD="):]


def check(what, found, expected):
    if os.path.realpath(found) != os.path.realpath(expected) or not os.path.isfile(found):
        sys.exit("%s: preloaded %s, expected %s" % (what, found, expected))
    print("%s: %s" % (what, found))


def main():
    meson = shutil.which("meson")
    if meson is None:
        print("no meson on PATH")
        return 77
    with tempfile.TemporaryDirectory() as work:
        root = os.path.join(work, "root")
        subprocess.run([meson, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--strip", "--destdir", root],
                       env=environment(), check=True, stdout=subprocess.DEVNULL, timeout=120)
        (command,) = files_below(root, "keepgraph")
        (shim,) = files_below(root, SHIM)
        check("installed", preloaded(command), shim)

        link = os.path.join(work, "keepgraph")
        os.symlink(command, link)
        check("through a link", preloaded(link), shim)

        moved = os.path.join(work, "moved")
        os.rename(root, moved)
        check("moved", preloaded(files_below(moved, "keepgraph")[0]), files_below(moved, SHIM)[0])
    return 0


sys.exit(main())
