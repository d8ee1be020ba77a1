# SPDX-License-Identifier: Apache-2.0
"""scripts/find-cuda-headers with fake folders: cuda_headers_test.py SCRIPT"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop())
PYTHON = sys.executable


class CudaHeaders(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.site = self.folder / "site-packages"
        # A python3 that knows no site-packages but the fake ones: this machine may have the wheels.
        path = self.folder / "bin"
        path.mkdir()
        (path / "python3").write_text(f'#!/bin/sh\nPYTHONPATH="{self.site}" exec "{PYTHON}" -S "$@"\n')
        (path / "python3").chmod(0o755)
        self.env = {"PATH": f"{path}:{os.environ['PATH']}", "KEEPGRAPH_HEADERS_ROOT": str(self.folder)}

    def headers(self, place, version=12040, text="", crt=True):
        """Fake headers that hang together as the real ones do; place is relative to the fake root."""
        folder = self.folder / place
        folder.mkdir(parents=True)
        (folder / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n{text}\n")
        (folder / "cuda_runtime_api.h").write_text('#include "crt/host_defines.h"\n')
        if crt:
            (folder / "crt").mkdir()
            (folder / "crt/host_defines.h").write_text("")
        return str(folder)

    def find(self, *arguments, **env):
        return subprocess.run([SCRIPT, *arguments], env={**self.env, **env}, capture_output=True, text=True)

    def assert_found(self, result, *folders):
        self.assertEqual(result.stdout.splitlines(), list(folders), result.stderr)
        self.assertEqual(result.returncode, 0)

    def assert_none(self, result, *words):
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stdout, "")
        for word in ("pip install", "CUDA Toolkit", "CUDA_PATH", *words):
            self.assertIn(word, result.stderr)

    def test_each_place_alone(self):
        for place in ("usr/local/cuda/include", "usr/lib/cuda/include", "usr/include",
                      "site-packages/nvidia/cuda_runtime/include", "site-packages/nvidia/cu13/include"):
            with self.subTest(place):
                folder = self.headers(place)
                result = self.find()
                self.assert_found(result, folder)
                self.assertEqual(result.stderr, "")
                shutil.rmtree(folder)

    def test_order(self):
        places = ["site-packages/nvidia/cuda_runtime/include", "usr/include", "usr/lib/cuda/include",
                  "usr/local/cuda/include"]
        for place in places:  # each comes before all that are there already
            folder = self.headers(place)
            self.assert_found(self.find(), folder)
        named = self.headers("named/include")
        self.assert_found(self.find(CUDA_PATH=str(self.folder / "named")), named)
        option = self.headers("option/include")
        self.assert_found(self.find(str(self.folder / "option"), CUDA_PATH=str(self.folder / "named")), option)

    def test_named_folder_may_be_the_include_folder(self):
        folder = self.headers("flat")
        self.assert_found(self.find(CUDA_PATH=folder), folder)
        self.assert_found(self.find(folder), folder)

    def test_unusable_cuda_path_is_said(self):
        folder = self.headers("usr/local/cuda/include")
        old = self.headers("old/include", version=11080)
        result = self.find(CUDA_PATH=str(self.folder / "old"))
        self.assert_found(result, folder)
        self.assertIn("CUDA_PATH has no usable headers", result.stderr)
        self.assertIn(f"{old}: CUDA 11.8, older than 12.4", result.stderr)

    def test_option_has_no_fallback(self):
        self.headers("usr/local/cuda/include")
        self.assert_none(self.find(str(self.folder / "nothing")), f"{self.folder}/nothing: no cuda.h")

    def test_too_old_goes_on_to_the_next(self):
        self.headers("usr/include", version=12030)
        self.assert_none(self.find(), "CUDA 12.3, older than 12.4")
        wheel = self.headers("site-packages/nvidia/cu13/include", version=13000)
        self.assert_found(self.find(), wheel)

    def test_newer_wheel_first(self):
        self.headers("site-packages/nvidia/cuda_runtime/include")
        newer = self.headers("site-packages/nvidia/cu13/include", version=13000)
        self.assert_found(self.find(), newer)

    def test_broken_header(self):
        folder = self.headers("usr/local/cuda/include", text="#error half of an installation")
        self.assert_none(self.find(), f"{folder}: #error half of an installation")
        wheel = self.headers("site-packages/nvidia/cu13/include")
        self.assert_found(self.find(), wheel)

    def test_version_is_what_the_compiler_sees(self):
        folder = self.headers("usr/local/cuda/include")
        pathlib.Path(folder, "cuda.h").write_text("#include <version.h>\n")  # nothing for sed to read
        pathlib.Path(folder, "version.h").write_text("#define CUDA_VERSION 12030\n")
        self.assert_none(self.find(), f"{folder}: #error old")

    def test_driver_header_alone(self):
        folder = self.headers("usr/local/cuda/include")
        pathlib.Path(folder, "cuda_runtime_api.h").unlink()
        self.assert_none(self.find(), "cuda_runtime_api.h: No such file")

    def test_wheel_of_cuda_12_with_crt_elsewhere(self):
        runtime = self.headers("site-packages/nvidia/cuda_runtime/include", crt=False)
        self.assert_none(self.find(), "crt/host_defines.h: No such file")
        nvcc = self.folder / "site-packages/nvidia/cuda_nvcc/include"
        (nvcc / "crt").mkdir(parents=True)
        (nvcc / "crt/host_defines.h").write_text("")
        self.assert_found(self.find(), runtime, str(nvcc))

    def test_none(self):
        self.assert_none(self.find(), f"{self.folder}/usr/local/cuda/include: no cuda.h",
                         f"{self.folder}/usr/include: no cuda.h")

    def test_compilers(self):
        folder = self.headers("usr/local/cuda/include")
        self.assert_found(self.find(CC="env LC_ALL=C cc"), folder)
        self.assert_none(self.find(CC="no-such-compiler"), "does not compile with no-such-compiler")

    def test_blank_in_the_path(self):
        folder = self.headers("a b/include")
        self.assert_found(self.find(CUDA_PATH=str(self.folder / "a b")), folder)


if __name__ == "__main__":
    unittest.main()
