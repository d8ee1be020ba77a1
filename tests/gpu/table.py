# SPDX-License-Identifier: Apache-2.0
"""The rows of a run: printed as they come, written as JSON at the end, machine's paths taken out."""
import json
import os
import re
import sys
import threading


class Table:
    def __init__(self, hidden_folders):
        self.rows = []
        self.extracts = []
        self.lock = threading.Lock()
        # The longest first: a work folder may lie inside the repository.
        self.hidden = sorted({folder.rstrip("/") for folder in hidden_folders if folder}, key=len, reverse=True)

    def scrub(self, text):
        for folder in self.hidden:
            text = text.replace(folder + "/", "").replace(folder, ".")
        return re.sub(r"(?:/[^/\s:\"']+)+/(site-packages|dist-packages|lib/python3)", r".../\1", text)

    def scrubbed(self, value):
        if isinstance(value, str):
            return self.scrub(value)
        if isinstance(value, list):
            return [self.scrubbed(item) for item in value]
        if isinstance(value, dict):
            return {key: self.scrubbed(item) for key, item in value.items()}
        return value

    def add(self, name, problems, note="", **details):
        """A check with the reasons why it failed; none: it is ok."""
        self.put({"name": name, "verdict": "FAILED" if problems else "ok"}
                 | ({"problems": list(problems)} if problems else {}) | ({"note": note} if note else {}) | details)

    def skip(self, name):
        self.put({"name": name, "verdict": "skipped", "note": "by --skip"})

    def put(self, row):
        row = self.scrubbed(row)
        with self.lock:
            self.rows.append(row)
            text = "; ".join(([row["note"]] if "note" in row else []) + row.get("problems", []))
            print(f"{row['verdict']:<8}{row['name']:<42}{text}", flush=True)

    def extract(self, name, lines, limit=60):
        """Some lines of a run's stderr for the results."""
        with self.lock:
            more = [f"... {len(lines) - limit} more lines"] if len(lines) > limit else []
            self.extracts += [f"== {name}"] + [self.scrub(line) for line in lines[:limit] + more]

    def count(self, verdict):
        return sum(row["verdict"] == verdict for row in self.rows)

    def write(self, folder, header):
        with open(os.path.join(folder, "gpu-check.json"), "w") as file:
            totals = {verdict.lower(): self.count(verdict) for verdict in ("ok", "FAILED", "skipped")}
            json.dump(self.scrubbed(header) | totals | {"checks": self.rows}, file, indent=1)
            file.write("\n")
        with open(os.path.join(folder, "stderr.txt"), "w") as file:
            file.writelines(f"{line}\n" for line in self.extracts)

    def finish(self):
        skipped = self.count("skipped")
        print(f"{self.count('ok')} ok, {self.count('FAILED')} failed" + (f", {skipped} skipped" if skipped else ""))
        sys.stdout.flush()
        return 0 if self.count("ok") and not self.count("FAILED") else 1
