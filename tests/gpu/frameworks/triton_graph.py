# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel launched plainly and captured in a PyTorch graph. Triton links libcuda itself and starts helper
processes, which inherit the shim and must write nothing. No finding is right."""
import torch
import triton
import triton.language as tl

REPLAYS = 30


@triton.jit
def scale(source, target, factor, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(target + at, tl.load(source + at, mask=inside) * factor, mask=inside)


x = torch.arange(10000, device="cuda", dtype=torch.float32)
y = torch.empty_like(x)


def launch(source, target, factor):
    scale[(triton.cdiv(source.numel(), 256),)](source, target, factor, source.numel(), BLOCK=256)


launch(x, y, 3.0)
torch.cuda.synchronize()
print(f"plain {y.double().sum().item():.9g}")
launch(y, x, 0.5)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    launch(x, y, 2.5)
    launch(y, x, 0.5)
for _ in range(REPLAYS):
    graph.replay()
torch.cuda.synchronize()
print(f"replayed {x.double().sum().item():.9g}")
print("graphs: 1")
print(f"launches: {REPLAYS}")
