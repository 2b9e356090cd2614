"""By how much the process grows, at most, while a program runs.

Workloads of other groups that are marked `memory` have a row in this group too.
"""

from typing import Any

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload()
def long_elementwise(jax: Any):
    """Ten elementwise operations on 10^7 floats: one result, no temporaries."""
    jnp = jax.numpy

    def f(x):
        for _ in range(5):
            x = jnp.sin(x) * 1.1
        return x

    return jax.jit(f), (jnp.ones(10**7),)


@workload()
def pairwise_nearest(jax: Any):
    """Distance from each of 3,000 points to the nearest of 3,000, by nested vmap."""
    jnp = jax.numpy
    distance = lambda a, b: jnp.sum((a - b) ** 2)  # noqa: E731
    every = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
    f = jax.jit(lambda a, b: jnp.min(every(a, b), axis=1))
    return f, tuple(arrays(jax, (3000, 8), (3000, 8)))


@workload()
def grad_scan_checkpointed(jax: Any):
    """Gradient of 1,000 rematerialized steps that carry 10^4 floats."""
    step = jax.checkpoint(lambda c, _: (jax.numpy.sin(jax.numpy.cos(c) * 1.1), None))

    def f(x):
        return jax.numpy.sum(jax.lax.scan(step, x, None, length=1000)[0])

    return jax.jit(jax.grad(f)), (jax.numpy.ones(10**4),)
