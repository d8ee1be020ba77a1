# SPDX-License-Identifier: Apache-2.0
"""Healthy PyTorch under its default allocator: a graph with a mix of operators and one with the batched ones (foreach,
cat of many). Whatever the allocator has spare goes back to the driver before the replays, so an address that is only
left over in an argument block would look like a freed input. No finding is right."""
import gc

import torch
import torch.nn.functional as F

REPLAYS = 25
torch.manual_seed(0)
options = {"device": "cuda", "dtype": torch.float16}
tokens = torch.randn(4, 128, 256, **options)
weight = torch.randn(256, 256, **options) / 16
table = torch.randn(1000, 256, **options)
ids = torch.arange(128, device="cuda") * 7 % 1000
parts = [torch.full((32 + i,), float(i), device="cuda") for i in range(40)]


def attention():
    x = torch.relu(tokens @ weight) + F.embedding(ids, table)
    x = F.layer_norm(x, x.shape[-1:])
    heads = x.view(4, 128, 4, 64).transpose(1, 2)
    x = F.scaled_dot_product_attention(heads, heads, heads)
    return x[:, :, ids[:16] % 128].float().sum(dim=-1)


def batched():
    scaled = torch._foreach_mul(parts, 0.5)
    return torch.cat(torch._foreach_add(scaled, 1.0))


def captured(step):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()
    return graph, result


temporary = [torch.randn(1 << 20, device="cuda") for _ in range(50)]
torch._foreach_add_(temporary, 1.0)
pairs = [captured(attention), captured(batched)]
del temporary
gc.collect()
torch.cuda.synchronize()
torch.cuda.empty_cache()
for i in range(REPLAYS):
    tokens.mul_(0.99)
    parts[3].add_(1)
    for graph, _ in pairs:
        graph.replay()
torch.cuda.synchronize()
for _, result in pairs:
    print(f"sum {result.double().sum().item():.6g}")
print(f"graphs: {len(pairs)}")
print(f"launches: {len(pairs) * REPLAYS}")
