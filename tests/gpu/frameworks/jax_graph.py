# SPDX-License-Identifier: Apache-2.0
"""JAX: a jitted function that XLA runs as command buffers, which are CUDA graphs. How many graphs and launches XLA makes
is its own business: only that there are some is known. No finding is right."""
import sys

import jax
import jax.numpy as jnp

CALLS = 20
if jax.devices()[0].platform != "gpu":
    sys.exit(f"JAX runs on {jax.devices()[0].platform}, not on the GPU")


@jax.jit
def step(x, weights):
    for weight in weights:
        x = jnp.tanh(x @ weight) + 0.5
    return x


x = jnp.ones((256, 256))
weights = [jnp.eye(256) * (1 + i / 8) for i in range(8)]
for _ in range(CALLS):
    x = step(x, weights)
print(f"mean {float(x.mean()):.3f}")
