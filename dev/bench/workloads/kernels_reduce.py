"""Reductions, cumulative operations, searches and sorts."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload(family="points")
def pairwise_distances(jax: Any):
    """Distances between 1,000 and 1,000 points of 8 coordinates, by nested vmap."""
    jnp = jax.numpy
    distance = lambda a, b: jnp.sqrt(jnp.sum((a - b) ** 2))  # noqa: E731
    every = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
    return jax.jit(every), tuple(arrays(jax, (1000, 8), (1000, 8), scale=1.0))


@workload(family="points", memory=True)
def rbf_row_sums(jax: Any):
    """Row sums of the Gaussian kernel of 2,000 points of 8 coordinates."""
    jnp = jax.numpy

    def f(x):
        return jnp.sum(jnp.exp(-jnp.sum((x[:, None] - x[None]) ** 2, axis=-1)), axis=1)

    return jax.jit(f), tuple(arrays(jax, (2000, 8), scale=1.0))


@workload(family="reduction axes")
def sum_axis_0_of_3(jax: Any):
    """Sum over the first axis of 100x200x200 floats."""
    return jax.jit(lambda x: jax.numpy.sum(x, axis=0)), tuple(arrays(jax, (100, 200, 200)))


@workload(family="reduction axes")
def sum_axis_1_of_3(jax: Any):
    """Sum over the middle axis of 100x200x200 floats."""
    return jax.jit(lambda x: jax.numpy.sum(x, axis=1)), tuple(arrays(jax, (100, 200, 200)))


@workload(family="reduction axes")
def mean_variance_outer(jax: Any):
    """Mean and variance over the first and last axes of 100x200x200 floats."""
    jnp = jax.numpy
    f = lambda x: (jnp.mean(x, axis=(0, 2)), jnp.var(x, axis=(0, 2)))  # noqa: E731
    return jax.jit(f), tuple(arrays(jax, (100, 200, 200)))


@workload(family="reduction axes")
def max_columns(jax: Any):
    """Largest of each column, 2000x2000."""
    return jax.jit(lambda x: jax.numpy.max(x, axis=0)), tuple(arrays(jax, (2000, 2000)))


@workload(family="cumulative")
def cummax_columns(jax: Any):
    """Cumulative maxima along columns, 2000x1000."""
    return jax.jit(lambda x: jax.lax.cummax(x, axis=0)), tuple(arrays(jax, (2000, 1000)))


@workload(family="cumulative")
def cumlogsumexp_rows(jax: Any):
    """Cumulative log-sum-exp along rows, 1000x1000."""
    return jax.jit(lambda x: jax.lax.cumlogsumexp(x, axis=1)), tuple(arrays(jax, (1000, 1000)))


@workload(family="cumulative")
def associative_scan(jax: Any):
    """Prefix products of 10^4 linear recurrences by associative_scan."""

    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    f = lambda a, b: jax.lax.associative_scan(combine, (a, b))  # noqa: E731
    return jax.jit(f), tuple(arrays(jax, (10**4,), (10**4,), scale=0.5))


@workload(family="sort")
def sort_rows(jax: Any):
    """Sort each of 1,000 rows of 1,000 floats."""
    return jax.jit(lambda x: jax.numpy.sort(x, axis=1)), tuple(arrays(jax, (1000, 1000)))


@workload(family="sort")
def sort_pairs(jax: Any):
    """Sort 10^5 integer keys and carry a float with each."""
    keys = jax.numpy.asarray(np.random.default_rng(0).integers(0, 10**6, 10**5), "int32")
    f = jax.jit(lambda k, v: jax.lax.sort((k, v), num_keys=1))
    return f, (keys, *arrays(jax, (10**5,)))


@workload(family="search")
def argmax_rows(jax: Any):
    """Index of the largest of each row, 1000x1000."""
    return jax.jit(lambda x: jax.numpy.argmax(x, axis=1)), tuple(arrays(jax, (1000, 1000)))


@workload(family="search")
def top_k(jax: Any):
    """The ten largest of each row, 100x10000."""
    return jax.jit(lambda x: jax.lax.top_k(x, 10)), tuple(arrays(jax, (100, 10_000)))


@workload(family="search")
def searchsorted(jax: Any):
    """Places of 10^5 floats in a sorted array of 10^5."""
    table, x = arrays(jax, (10**5,), (10**5,))
    return jax.jit(jax.numpy.searchsorted), (jax.numpy.sort(table), x)


@workload(family="histogram")
def bincount(jax: Any):
    """Count 10^6 integers below 1,000."""
    numbers = np.random.default_rng(0).integers(0, 1000, 10**6)
    f = jax.jit(lambda x: jax.numpy.bincount(x, length=1000))
    return f, (jax.numpy.asarray(numbers, "int32"),)


@workload(family="histogram")
def histogram(jax: Any):
    """Histogram of 10^6 floats in 100 bins."""
    return jax.jit(lambda x: jax.numpy.histogram(x, bins=100)[0]), tuple(arrays(jax, (10**6,)))


@workload(family="median")
def median_rows(jax: Any):
    """Median of each row, 1000x1000."""
    return jax.jit(lambda x: jax.numpy.median(x, axis=1)), tuple(arrays(jax, (1000, 1000)))


@workload(family="bool reductions")
def any_all_rows(jax: Any):
    """Whether any, and whether all, of each row are positive, and how many: 2000x2000."""
    jnp = jax.numpy

    def f(x):
        positive = x > 0
        return positive.any(axis=1), positive.all(axis=1), jnp.sum(positive, axis=1)

    return jax.jit(f), tuple(arrays(jax, (2000, 2000)))


@workload(family="bool reductions")
def count_nonzero(jax: Any):
    """How many of 4 million bools are true."""
    (x,) = arrays(jax, (4_000_000,))
    return jax.jit(jax.numpy.count_nonzero), (x > 0,)
