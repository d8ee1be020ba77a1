# SPDX-License-Identifier: Apache-2.0
"""A captured graph whose input is deleted before the replay: one finding, with the lines of the `del` and of the
capture. Run with PYTORCH_NO_CUDA_MEMORY_CACHING=1, so that `del` reaches the driver; the capture itself allocates
nothing (out=)."""
import torch

x = torch.ones(4096, device="cuda")
y = torch.empty(4096, device="cuda")
torch.mul(x, 2, out=y)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.mul(x, 2, out=y)
graph.replay()
torch.cuda.synchronize()
print("y", y[0].item())
del x
graph.replay()
torch.cuda.synchronize()
print("graphs: 1")
print("launches: 2")
