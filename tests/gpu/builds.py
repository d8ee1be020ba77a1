# SPDX-License-Identifier: Apache-2.0
"""The shim and the programs: from a build folder that is there, or built here; and what must be linked here in any case
(a build's own *_static programs hold the double's cudart)."""
import concurrent.futures
import json
import os
import subprocess

CXX_FLAGS = ["-std=c++20", "-O2", "-g", "-fno-omit-frame-pointer", "-D_GNU_SOURCE", "-fPIC"]
BACKENDS = {"gpu_runtime": [], "gpu_driver": ["-DKG_OVER_DRIVER"]}


class BuildFailed(Exception):
    pass


def call(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        # Of a build that goes on with other files after an error, the end tells nothing.
        errors = [line for line in lines if "FAILED" in line or "error" in line or "ERROR" in line]
        raise BuildFailed(" ".join(command[:3]) + " ...: " + " / ".join((errors or lines[-5:])[:8]))


class Build:
    def __init__(self, folder, origin):
        self.folder = folder
        self.origin = origin
        self.shim = os.path.join(folder, "preload/libkeepgraph_preload.so")
        self.conformance = os.path.join(folder, "tests/conformance/conformance")
        self.command = os.path.join(folder, "src/cli/keepgraph")
        for needed in (self.shim, self.conformance, self.program("freed_input_shared")):
            if not os.path.exists(needed):
                raise BuildFailed(f"{needed} is missing")

    def program(self, name):
        return os.path.join(self.folder, "tests/programs", name)

    def dlopen_program(self, name):
        return os.path.join(self.folder, "tests/preload/programs", name)


def take_or_build(root, build_here):
    folder = os.path.join(root, os.environ.get("KEEPGRAPH_BUILD", "build"))
    if not build_here and os.path.exists(os.path.join(folder, "preload/libkeepgraph_preload.so")):
        return Build(folder, "taken as it was")
    # A folder of its own: one that was configured on another machine names that machine's compiler.
    folder = os.path.join(root, "build-gpu")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        call(["meson", "setup", folder, root])
    listing = subprocess.run(["meson", "introspect", "--targets", folder], capture_output=True, text=True, check=True)
    files = [os.path.relpath(name, folder) for target in json.loads(listing.stdout) for name in target["filename"]]
    wanted = ("preload/", "src/cli/", "tests/programs/", "tests/preload/programs/", "tests/conformance/")
    call(["ninja", "-C", folder] + [name for name in files if name.startswith(wanted)])
    return Build(folder, "built here")


def link_forms(build, root, cases, cudart, headers, work, jobs):
    """Executables by (program, form) for the forms of each case; a missing one has a text in place of a path."""
    sources = os.path.join(root, "tests/programs")
    forms, objects = {}, {}

    def compile_source(name):
        target = os.path.join(work, name + ".o")
        call(["g++", *CXX_FLAGS, *BACKENDS.get(name, []), f"-I{headers}", "-c", os.path.join(sources, name + ".cpp"),
              "-o", target])
        return target

    def link(program, form):
        backend = "gpu_driver" if form == "driver" else "gpu_runtime"
        target = os.path.join(work, f"{program}_{form}")
        library = [os.path.realpath(os.path.join(cudart, "libcudart_static.a"))] if form == "static" else []
        call(["g++", objects[program].result(), objects[backend].result(), "-o", target, *library, "-lpthread", "-ldl",
              "-lrt"])
        return target

    wanted = dict.fromkeys((case.program, form) for case in cases for form in case.forms)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        to_link = []
        for program, form in wanted:
            if form == "dlopen":
                forms[program, form] = build.dlopen_program(program)
                continue
            ready = [build.program(name) for name in (f"{program}_{form}", program)]
            taken = [path for path in ready if os.path.exists(path)]
            # A name without a form is shared, but for the programs that have the driver form alone.
            alone = all(other == form for name, other in wanted if name == program)
            if form != "static" and taken and (taken[0] == ready[0] or form == "shared" or alone):
                forms[program, form] = taken[0]
            else:
                to_link.append((program, form))
        for name in {program for program, _ in to_link} | set(BACKENDS):
            objects[name] = pool.submit(compile_source, name)
        concurrent.futures.wait(objects.values())
        for key, future in [(key, pool.submit(link, *key)) for key in to_link]:
            try:
                forms[key] = future.result()
            except BuildFailed as failed:
                forms[key] = failed
    return forms


def build_launch_count(root, cuda, work):
    """The counter that is independent of the shim."""
    extras = os.path.join(cuda, "extras/CUPTI")
    target = os.path.join(work, "liblaunch_count.so")
    libraries = [folder for folder in (os.path.join(extras, "lib64"), os.path.join(cuda, "lib64"))
                 if os.path.exists(os.path.join(folder, "libcupti.so"))]
    call(["gcc", "-shared", "-fPIC", "-O2", "-o", target, os.path.join(root, "tests/gpu/launch_count.c"),
          f"-I{cuda}/include", f"-I{extras}/include"]
         + [flag for folder in libraries for flag in (f"-L{folder}", f"-Wl,-rpath,{folder}")] + ["-lcupti"])
    return target
