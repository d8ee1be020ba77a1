# SPDX-License-Identifier: Apache-2.0
"""The weight of a matrix product is deleted before the replay: one finding, although cuBLAS passes its address inside a
structure (on GPUs that have them, in a TMA descriptor). Run with PYTORCH_NO_CUDA_MEMORY_CACHING=1, and with
CUBLAS_WORKSPACE_CONFIG=:0:0, so that the capture allocates nothing."""
import torch

# Small enough that the driver keeps what is freed mapped, so that the replay does no harm; and nothing touches.
x = torch.ones(512, 512, device="cuda", dtype=torch.bfloat16)
apart = torch.empty(256, device="cuda")
weight = torch.ones(512, 512, device="cuda", dtype=torch.bfloat16)
apart_too = torch.empty(256, device="cuda")
y = torch.empty(512, 512, device="cuda", dtype=torch.bfloat16)
torch.mm(x, weight, out=y)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.mm(x, weight, out=y)
graph.replay()
torch.cuda.synchronize()
print("y", y[0, 0].item())
del weight
graph.replay()
torch.cuda.synchronize()
print("graphs: 1")
print("launches: 2")
