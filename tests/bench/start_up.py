#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shim adds to a process that never uses CUDA: /bin/true with and without it, in turn.

usage: start_up.py SHIM [ROUNDS]      prints one JSON line, medians in milliseconds
"""
import json
import os
import statistics
import sys
import time

shim, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
if not os.path.exists(shim):
    sys.exit(f"start_up.py: no {shim}")
bare, preloaded = dict(os.environ), dict(os.environ, LD_PRELOAD=os.path.abspath(shim))
bare.pop("LD_PRELOAD", None)
times = {"bare": [], "shim": []}
for _ in range(rounds):
    for name, environment in (("bare", bare), ("shim", preloaded)):
        begin = time.perf_counter()
        child = os.posix_spawn("/bin/true", ["/bin/true"], environment)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("start_up.py: /bin/true failed")
        times[name].append((time.perf_counter() - begin) * 1000)
medians = {name: statistics.median(values) for name, values in times.items()}
print(json.dumps({"what": "/bin/true", "bare_ms": round(medians["bare"], 3), "shim_ms": round(medians["shim"], 3),
                  "added_ms": round(medians["shim"] - medians["bare"], 3)}))
