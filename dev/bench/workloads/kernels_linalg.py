"""Compiled products of matrices, large, small and batched, and attention."""

from typing import Any

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload(family="matmul")
def matmul_512(jax: Any):
    """Product of two 512x512 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (512, 512), (512, 512)))


@workload(family="matmul")
def matmul_64(jax: Any):
    """Product of two 64x64 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (64, 64), (64, 64)))


@workload(family="batched small matmul")
def matmul_batched_4x4(jax: Any):
    """Products of 10^4 pairs of 4x4 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (10**4, 4, 4), (10**4, 4, 4)))


@workload(family="batched small matmul")
def matmul_batched_32x32(jax: Any):
    """Products of 500 pairs of 32x32 matrices."""
    return jax.jit(lambda a, b: a @ b), tuple(arrays(jax, (500, 32, 32), (500, 32, 32)))


@workload()
def matvec(jax: Any):
    """Product of a 2000x2000 matrix and a vector."""
    return jax.jit(lambda a, x: a @ x), tuple(arrays(jax, (2000, 2000), (2000,)))


@workload()
def dense_layer(jax: Any):
    """tanh(x @ w + b), 512x512 by 512x512."""
    f = jax.jit(lambda x, w, b: jax.numpy.tanh(x @ w + b))
    return f, tuple(arrays(jax, (512, 512), (512, 512), (512,)))


@workload(memory=True)
def attention(jax: Any):
    """softmax(q k^T / sqrt(d)) v for 8 heads of 256 places and 64 features."""

    def f(q, k, v):
        scores = jax.numpy.einsum("hqd,hkd->hqk", q, k) / 8.0
        return jax.numpy.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)

    return jax.jit(f), tuple(arrays(jax, *[(8, 256, 64)] * 3, scale=1.0))
