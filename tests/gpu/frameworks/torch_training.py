# SPDX-License-Identifier: Apache-2.0
"""Healthy PyTorch under its default allocator: a whole training step (forward, backward, foreach Adam) in one graph,
replayed after the memory of the warm-up went back to the driver. No finding is right."""
import gc

import torch

REPLAYS = 20
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Embedding(100, 64), torch.nn.LayerNorm(64), torch.nn.Flatten(), torch.nn.Linear(8 * 64, 128),
    torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(128, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True, capturable=True)
words = torch.arange(32 * 8, device="cuda").view(32, 8) % 100
labels = torch.arange(32, device="cuda") % 10


def train():
    loss = torch.nn.functional.cross_entropy(model(words), labels)
    loss.backward()
    optimizer.step()
    return loss


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        train()
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = train()
gc.collect()
torch.cuda.synchronize()
torch.cuda.empty_cache()
for _ in range(REPLAYS):
    graph.replay()
torch.cuda.synchronize()
# Two digits: gradients of an embedding are added in any order.
print(f"loss {loss.item():.2g}")
print("graphs: 1")
print(f"launches: {REPLAYS}")
