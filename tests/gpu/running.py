# SPDX-License-Identifier: Apache-2.0
"""Runs one command to its end or to its time limit."""
import dataclasses
import os
import signal
import subprocess
import tempfile


@dataclasses.dataclass
class Run:
    command: list
    code: int | None  # None: time limit
    out: str
    err: str

    def end(self):
        if self.code is None:
            return "time limit"
        return f"signal {-self.code}" if self.code < 0 else f"exit {self.code}"

    def foreign_err(self):
        return "".join(f"{line}\n" for line in self.err.splitlines() if not line.startswith("keepgraph: "))

    def own_err(self):
        return [line for line in self.err.splitlines() if line.startswith("keepgraph: ")]


def clean_environment():
    """Without anything that would reach the shim or the driver by accident."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("KEEPGRAPH_") and name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}


def with_libraries(folder):
    """The environment in which a program finds the shared libraries of this folder first."""
    return {"LD_LIBRARY_PATH": ":".join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH", "")]))}


def run(command, environment=None, limit=60):
    # Files, not pipes: a process that hangs in the driver survives its kill and would hold a pipe open for ever.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env=clean_environment() | (environment or {}), start_new_session=True)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Run([str(word) for word in command], code, *texts)
