# SPDX-License-Identifier: Apache-2.0
"""CuPy (a static cudart inside an extension module): a captured stream, launched as a graph. No finding is right."""
import cupy

REPLAYS = 40
affine = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * 2 + 1", "affine")
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    x = cupy.arange(4096, dtype=cupy.float32)
    y, z = cupy.empty_like(x), cupy.zeros_like(x)
    affine(x, y)  # compiled before the capture
    cupy.add(z, y, out=z)
    stream.synchronize()
    stream.begin_capture()
    affine(x, y)
    cupy.add(z, y, out=z)
    graph = stream.end_capture()
    for _ in range(REPLAYS):
        graph.launch(stream)
    stream.synchronize()
    total = float(z.sum())
print(f"z {total:.6g}")
print("graphs: 1")
print(f"launches: {REPLAYS}")
