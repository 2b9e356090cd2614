"""Elementwise programs of other dtypes and shapes, and programs that move data."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


def doubles(jax: Any, *shapes: tuple[int, ...]) -> tuple:
    """Return uniformly distributed doubles between 0 and 3, with 64-bit types allowed."""
    jax.config.update("jax_enable_x64", True)
    draw = np.random.default_rng(0)
    return tuple(jax.numpy.asarray(draw.uniform(0, 3, size=shape)) for shape in shapes)


@workload(family="doubles")
def sin_f64(jax: Any):
    """sin of 10^6 doubles."""
    return jax.jit(jax.numpy.sin), doubles(jax, (10**6,))


@workload(family="doubles")
def log_f64(jax: Any):
    """log of 10^6 doubles."""
    return jax.jit(jax.numpy.log), doubles(jax, (10**6,))


@workload(family="doubles")
def pow_f64(jax: Any):
    """x ** y of 10^6 doubles."""
    return jax.jit(lambda x, y: x**y), doubles(jax, (10**6,), (10**6,))


@workload(family="half floats")
def elementwise_f16(jax: Any):
    """x * 2 + tanh(x), 10^6 floats of 16 bits."""
    (x,) = arrays(jax, (10**6,), scale=1.0)
    return jax.jit(lambda x: x * 2 + jax.numpy.tanh(x)), (x.astype("float16"),)


@workload(family="half floats")
def elementwise_bf16(jax: Any):
    """x * 2 + tanh(x), 10^6 brain floats."""
    (x,) = arrays(jax, (10**6,), scale=1.0)
    return jax.jit(lambda x: x * 2 + jax.numpy.tanh(x)), (x.astype("bfloat16"),)


@workload(family="integers")
def integer_arithmetic(jax: Any):
    """Multiply, shift, mix and take remainders of 10^6 integers."""
    numbers = np.random.default_rng(0).integers(0, 2**31, 10**6)

    def f(x):
        x = (x ^ (x >> 16)) * np.uint32(0x45D9F3B)
        return (x ^ (x >> 16)) % np.uint32(1000)

    return jax.jit(f), (jax.numpy.asarray(numbers, "uint32"),)


@workload(family="where")
def where_heavy(jax: Any):
    """A piecewise function of five pieces, 10^6 floats."""
    jnp = jax.numpy

    def f(x):
        y = jnp.where(x < -1, -1.0, jnp.where(x > 1, 1.0, x))
        return jnp.where(y < 0, y * y, jnp.where(y > 0.5, 0.5 * y + 0.25, y))

    return jax.jit(f), tuple(arrays(jax, (10**6,), scale=1.0))


@workload(family="large output", memory=True)
def large_fresh_output(jax: Any):
    """x * 2 + 1, 16 million floats."""
    return jax.jit(lambda x: x * 2 + 1), (jax.numpy.ones(16_000_000),)


@workload(family="transpose")
def transpose_3d_last(jax: Any):
    """Swap the last two axes of 100x200x200 floats."""
    f = jax.jit(lambda x: jax.numpy.transpose(x, (0, 2, 1)))
    return f, tuple(arrays(jax, (100, 200, 200)))


@workload(family="transpose")
def transpose_3d_reversed(jax: Any):
    """Reverse the axes of 100x200x200 floats."""
    return jax.jit(lambda x: jax.numpy.transpose(x)), tuple(arrays(jax, (100, 200, 200)))


@workload(family="transpose")
def transpose_heads(jax: Any):
    """Bring the heads of attention to the front: 8x256x16x64 to 8x16x256x64."""
    f = jax.jit(lambda x: jax.numpy.transpose(x, (0, 2, 1, 3)))
    return f, tuple(arrays(jax, (8, 256, 16, 64)))


@workload(family="moves")
def concatenate(jax: Any):
    """Join three 1000x400 arrays along their rows."""
    f = jax.jit(lambda *parts: jax.numpy.concatenate(parts, axis=1))
    return f, tuple(arrays(jax, *[(1000, 400)] * 3))


@workload(family="moves")
def pad(jax: Any):
    """Surround 1000x1000 floats with 8 zeros."""
    return jax.jit(lambda x: jax.numpy.pad(x, 8)), tuple(arrays(jax, (1000, 1000)))


@workload(family="moves")
def roll(jax: Any):
    """Roll 1000x1000 floats along both axes."""
    f = jax.jit(lambda x: jax.numpy.roll(x, (3, 5), (0, 1)))
    return f, tuple(arrays(jax, (1000, 1000)))


@workload(family="moves")
def flip(jax: Any):
    """Reverse both axes of 1000x1000 floats."""
    return jax.jit(lambda x: jax.numpy.flip(x)), tuple(arrays(jax, (1000, 1000)))


@workload(family="gather")
def gather_elements(jax: Any):
    """Take 10^6 floats at random places of 10^5."""
    places = np.random.default_rng(0).integers(0, 10**5, 10**6)
    (x,) = arrays(jax, (10**5,))
    return jax.jit(lambda x, i: x[i]), (x, jax.numpy.asarray(places, "int32"))


@workload(family="gather")
def take_along_axis(jax: Any):
    """Take 100 elements of each of 1,000 rows of 1,000, each row at its own places."""
    places = np.random.default_rng(0).integers(0, 1000, (1000, 100))
    (x,) = arrays(jax, (1000, 1000))
    f = jax.jit(lambda x, i: jax.numpy.take_along_axis(x, i, axis=1))
    return f, (x, jax.numpy.asarray(places, "int32"))


@workload(family="scatter")
def scatter_rows(jax: Any):
    """Add 10^5 rows of 16 floats to the rows of a table of 10^4."""
    places = np.random.default_rng(0).integers(0, 10**4, 10**5)
    table, rows = arrays(jax, (10**4, 16), (10**5, 16))
    f = jax.jit(lambda t, i, v: t.at[i].add(v))
    return f, (table, jax.numpy.asarray(places, "int32"), rows)


@workload(family="scatter")
def scatter_set(jax: Any):
    """Set 10^5 elements of 10^6 at places of a permutation."""
    places = np.random.default_rng(0).permutation(10**6)[: 10**5]
    x, values = arrays(jax, (10**6,), (10**5,))
    f = jax.jit(lambda x, i, v: x.at[i].set(v))
    return f, (x, jax.numpy.asarray(places, "int32"), values)


@workload(family="segments")
def segment_max(jax: Any):
    """Largest of 10^6 floats in each of 1,000 segments."""
    segments = np.sort(np.random.default_rng(0).integers(0, 1000, 10**6))
    (values,) = arrays(jax, (10**6,))
    f = jax.jit(lambda v, s: jax.ops.segment_max(v, s, num_segments=1000))
    return f, (values, jax.numpy.asarray(segments, "int32"))


@workload(family="segments")
def segment_sum_rows(jax: Any):
    """Sum 10^5 rows of 16 floats in 1,000 segments."""
    segments = np.sort(np.random.default_rng(0).integers(0, 1000, 10**5))
    (values,) = arrays(jax, (10**5, 16))
    f = jax.jit(lambda v, s: jax.ops.segment_sum(v, s, num_segments=1000))
    return f, (values, jax.numpy.asarray(segments, "int32"))


@workload(family="sparse product")
def sparse_matvec(jax: Any):
    """A sparse 10^5 x 10^5 matrix of 10^6 entries times a vector: gather and segment_sum."""
    draw = np.random.default_rng(0)
    rows = np.sort(draw.integers(0, 10**5, 10**6))
    columns = draw.integers(0, 10**5, 10**6)
    entries, x = arrays(jax, (10**6,), (10**5,))

    def f(entries, rows, columns, x):
        return jax.ops.segment_sum(entries * x[columns], rows, num_segments=10**5)

    numbers = [jax.numpy.asarray(places, "int32") for places in (rows, columns)]
    return jax.jit(f), (entries, *numbers, x)


@workload(family="random")
def categorical(jax: Any):
    """Draw 10^4 categories of 100, each with logits of its own."""
    (logits,) = arrays(jax, (10**4, 100), scale=1.0)
    return jax.jit(jax.random.categorical), (jax.random.key(0), logits)


@workload(family="random")
def gamma(jax: Any):
    """Draw 10^5 numbers of the gamma distribution of shape 2.5."""
    return jax.jit(lambda key: jax.random.gamma(key, 2.5, (10**5,))), (jax.random.key(0),)


@workload(family="random")
def permutation(jax: Any):
    """Shuffle the numbers below 10^5."""
    return jax.jit(lambda key: jax.random.permutation(key, 10**5)), (jax.random.key(0),)
