"""Compiled array programs without loops: elementwise, reductions, sorting, indexing, products."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dev.bench.programs import arrays, potential
from dev.bench.registry import workload

__all__ = []


@workload(family="elementwise", memory=True)
def elementwise(jax: Any):
    """sin(x) * x + log(x + 1), 10^6 floats."""
    x = jax.numpy.abs(arrays(jax, (10**6,), scale=3.0)[0])
    return jax.jit(lambda x: jax.numpy.sin(x) * x + jax.numpy.log(x + 1)), (x,)


@workload(family="elementwise")
def exp_tanh(jax: Any):
    """exp(-x) * tanh(x), 10^6 floats."""
    (x,) = arrays(jax, (10**6,), scale=3.0)
    return jax.jit(lambda x: jax.numpy.exp(-x) * jax.numpy.tanh(x)), (x,)


@workload()
def softmax(jax: Any):
    """Softmax of each row, 1000x1000."""
    return jax.jit(lambda x: jax.nn.softmax(x, axis=-1)), tuple(arrays(jax, (1000, 1000)))


@workload(family="softmax of columns")
def softmax_columns(jax: Any):
    """Softmax of each column, 1000x1000."""
    return jax.jit(lambda x: jax.nn.softmax(x, axis=0)), tuple(arrays(jax, (1000, 1000)))


def layer_norm(jax: Any) -> Callable:
    """Return layer normalization with gain and bias.  x: (n, d), gain, bias: (d,) -> (n, d)"""

    def f(x, gain, bias):
        mean = jax.numpy.mean(x, axis=-1, keepdims=True)
        variance = jax.numpy.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias

    return f


@workload(memory=True)
def layernorm(jax: Any):
    """Layer normalization, 1000x1000."""
    return jax.jit(layer_norm(jax)), tuple(arrays(jax, (1000, 1000), (1000,), (1000,)))


@workload()
def grad_layernorm(jax: Any):
    """Gradient of layer normalization, 1000x1000."""
    f = layer_norm(jax)
    gradient = jax.grad(lambda *args: jax.numpy.sum(f(*args) ** 2), (0, 1, 2))
    return jax.jit(gradient), tuple(arrays(jax, (1000, 1000), (1000,), (1000,)))


@workload()
def logsumexp(jax: Any):
    """log(sum(exp(x))) of each row, 1000x1000."""
    return jax.jit(lambda x: jax.nn.logsumexp(x, axis=-1)), tuple(arrays(jax, (1000, 1000)))


@workload(memory=True)
def nbody_2000(jax: Any):
    """Energy of 2,000 points, all pairs."""
    f, args = potential(jax)
    return jax.jit(f), args


@workload(family="cumulative")
def cumsum_rows(jax: Any):
    """Cumulative sums along rows, 4000x1000."""
    return jax.jit(lambda x: jax.numpy.cumsum(x, axis=1)), tuple(arrays(jax, (4000, 1000)))


@workload(family="cumulative")
def cumsum_columns(jax: Any):
    """Cumulative sums along columns, 4000x1000."""
    return jax.jit(lambda x: jax.numpy.cumsum(x, axis=0)), tuple(arrays(jax, (4000, 1000)))


@workload(family="sort")
def sort_1e6(jax: Any):
    """Sort 10^6 floats."""
    return jax.jit(jax.numpy.sort), tuple(arrays(jax, (10**6,)))


@workload(family="sort")
def argsort_1e5(jax: Any):
    """Find the order of 10^5 floats."""
    return jax.jit(jax.numpy.argsort), tuple(arrays(jax, (10**5,)))


@workload(family="sum")
def sum_all(jax: Any):
    """Sum of 4 million floats."""
    return jax.jit(jax.numpy.sum), tuple(arrays(jax, (2000, 2000)))


@workload(family="sum")
def sum_rows(jax: Any):
    """Sum of each row, 2000x2000."""
    return jax.jit(lambda x: jax.numpy.sum(x, axis=1)), tuple(arrays(jax, (2000, 2000)))


@workload(family="sum")
def sum_columns(jax: Any):
    """Sum of each column, 2000x2000."""
    return jax.jit(lambda x: jax.numpy.sum(x, axis=0)), tuple(arrays(jax, (2000, 2000)))


@workload()
def argmax(jax: Any):
    """Index of the largest of 4 million floats."""
    return jax.jit(jax.numpy.argmax), tuple(arrays(jax, (4_000_000,)))


@workload()
def transpose_add(jax: Any):
    """x + x.T, 2000x2000."""
    return jax.jit(lambda x: x + x.T), tuple(arrays(jax, (2000, 2000)))


@workload()
def stencil_sum_f64(jax: Any):
    """Sum of the squared second difference of 4 million doubles."""
    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.asarray(np.random.default_rng(0).normal(size=4_000_000))
    f = lambda x: jax.numpy.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)  # noqa: E731
    return jax.jit(f), (x,)


@workload()
def gather_rows(jax: Any):
    """Take 10^5 rows of 16 floats from a table of 10^5."""
    indices = np.random.default_rng(0).integers(0, 10**5, 10**5)
    (table,) = arrays(jax, (10**5, 16))
    return jax.jit(lambda table, i: table[i]), (table, jax.numpy.asarray(indices, "int32"))


@workload(family="scatter")
def scatter_add(jax: Any):
    """Add 10^6 floats at random places of 10^5."""
    places = np.random.default_rng(0).integers(0, 10**5, 10**6)
    (values,) = arrays(jax, (10**6,))
    f = jax.jit(lambda v, i: jax.numpy.zeros(10**5, v.dtype).at[i].add(v))
    return f, (values, jax.numpy.asarray(places, "int32"))


@workload(family="scatter")
def segment_sum(jax: Any):
    """Sum 10^6 floats in 1,000 sorted segments."""
    segments = np.sort(np.random.default_rng(0).integers(0, 1000, 10**6))
    (values,) = arrays(jax, (10**6,))
    f = jax.jit(lambda v, s: jax.ops.segment_sum(v, s, num_segments=1000))
    return f, (values, jax.numpy.asarray(segments, "int32"))


@workload(family="random")
def normals_1e6(jax: Any):
    """Draw 10^6 normal numbers."""
    return jax.jit(lambda key: jax.random.normal(key, (10**6,))), (jax.random.key(0),)


@workload(family="random")
def uniforms_1e6(jax: Any):
    """Draw 10^6 uniform numbers."""
    return jax.jit(lambda key: jax.random.uniform(key, (10**6,))), (jax.random.key(0),)


@workload(family="random")
def bits_1e6(jax: Any):
    """Draw 10^6 words."""
    return jax.jit(lambda key: jax.random.bits(key, (10**6,))), (jax.random.key(0),)


@workload(family="random")
def integers_1e6(jax: Any):
    """Draw 10^6 integers in a range."""
    return jax.jit(lambda key: jax.random.randint(key, (10**6,), 0, 10)), (jax.random.key(0),)
