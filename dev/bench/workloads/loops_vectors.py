"""Loops over short vectors and small images: what few lanes, few taps and short rows cost."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload()
def hidden_markov(jax: Any):
    """Posteriors of 1,000 steps of a hidden Markov model of 8 states, forwards and backwards."""
    lse = jax.nn.logsumexp

    def f(moves, seen):
        def forward(a, e):
            a = lse(a[:, None] + moves, 0) + e
            return a, a

        def backward(b, e):
            return lse(moves + e + b, 1), b

        zero = jax.numpy.zeros(8)
        after = jax.lax.scan(backward, zero, seen, reverse=True)[1]
        return jax.nn.softmax(jax.lax.scan(forward, zero, seen)[1] + after, 1)

    return jax.jit(f), tuple(arrays(jax, (8, 8), (1000, 8), scale=1.0))


@workload()
def rigid_bodies(jax: Any):
    """100 steps of 256 spinning bodies: cross products, and quaternions of length one."""
    jnp = jax.numpy
    moments = np.array([1.0, 2.0, 3.0], np.float32)

    def step(q, w):
        w = w - 0.01 * jnp.cross(w, moments * w) / moments
        turn = jnp.concatenate([-(w @ q[1:])[None], q[0] * w + jnp.cross(q[1:], w)])
        q = q + 0.005 * turn
        return q / jnp.linalg.norm(q), w

    def f(q, w):
        return jax.lax.fori_loop(0, 100, lambda i, s: jax.vmap(step)(*s), (q, w))

    return jax.jit(f), tuple(arrays(jax, (256, 4), (256, 3), scale=1.0))


@workload()
def reaction_diffusion(jax: Any):
    """50 steps of the Gray-Scott equations on 128 x 128 points, their Laplacian a convolution."""
    k = np.array([[0.05, 0.2, 0.05], [0.2, -1, 0.2], [0.05, 0.2, 0.05]], np.float32)

    def around(x):
        return jax.lax.conv(x[None, None], k[None, None], (1, 1), "SAME")[0, 0]

    def step(i, s):
        u, v = s
        r = u * v * v
        return u + 0.16 * around(u) - r + 0.06 * (1 - u), v + 0.08 * around(v) + r - 0.122 * v

    def f(u, v):
        return jax.lax.fori_loop(0, 50, step, (u, v))

    return jax.jit(f), tuple(arrays(jax, (128, 128), (128, 128), scale=0.1))
