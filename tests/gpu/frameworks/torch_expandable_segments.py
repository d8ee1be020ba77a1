# SPDX-License-Identifier: Apache-2.0
"""Healthy PyTorch with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: one reservation of addresses with many mappings.
Those behind the graph's input are unmapped (empty_cache) and mapped again between the replays; that the driver names the
whole reservation as the range of each must not make the input look dead. The unmapping is checked by what PyTorch says
that it holds. No finding is right."""
import torch

REPLAYS = 20
MEGABYTES = 1 << 20
x = torch.ones(32 * MEGABYTES // 4, device="cuda")
y = torch.empty_like(x)
torch.mul(x, 2, out=y)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.mul(x, 2, out=y)
unmapped = 0
for i in range(REPLAYS):
    others = [torch.full((24 * MEGABYTES // 4,), float(i), device="cuda") for _ in range(4)]
    graph.replay()
    torch.cuda.synchronize()
    held = torch.cuda.memory_reserved()
    del others
    torch.cuda.empty_cache()
    unmapped += torch.cuda.memory_reserved() < held
    graph.replay()
torch.cuda.synchronize()
assert unmapped == REPLAYS, f"memory was given back {unmapped} times: where nothing was unmapped, nothing is shown"
print(f"y {y.sum().item():g}, memory given back {unmapped} times")
print("graphs: 1")
print(f"launches: {2 * REPLAYS}")
