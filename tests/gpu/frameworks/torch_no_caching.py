# SPDX-License-Identifier: Apache-2.0
"""Healthy PyTorch without its caching allocator (PYTORCH_NO_CUDA_MEMORY_CACHING=1): every `del` reaches the driver. The
capture allocates nothing (out=, in place). Tensors that earlier foreach calls used are deleted before the replays: their
addresses may still lie in unused slots of the foreach kernel's argument block. No finding is right."""
import torch

REPLAYS = 20
x = torch.ones(4096, device="cuda")
y = torch.empty_like(x)
few = [torch.ones(64 + i, device="cuda") for i in range(3)]
parts = [torch.full((16,), float(i), device="cuda") for i in range(40)]
joined = torch.empty(16 * len(parts), device="cuda")


def step():
    torch.mul(x, 2, out=y)
    torch._foreach_add_(few, 1.0)
    torch.cat(parts, out=joined)
    joined.mul_(0.5)


stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    step()
    many = [torch.ones(1000 + i, device="cuda") for i in range(100)]
    torch._foreach_add_(many, 1.0)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, stream=stream):
    step()
del many
for _ in range(REPLAYS):
    graph.replay()
torch.cuda.synchronize()
print(f"y {y.sum().item():g}, few {few[2].sum().item():g}, joined {joined.sum().item():g}")
print("graphs: 1")
print(f"launches: {REPLAYS}")
