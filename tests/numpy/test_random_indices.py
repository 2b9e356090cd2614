"""Indices drawn at random read, write and add as NumPy's do.

Arrays have up to four axes, some of extent 0 or 1.  An index has integers, slices of any step and
beyond the ends, arrays that are broadcast, masks of one or two axes, new axes, and an ellipsis that
may stand for no axis.  Places are in bounds; see `test_indexing.py` for those that are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.numpy.indices import as_jax

SEEDS = 60  # in the short tests; ten times as many in the long ones
DTYPES = ("float32", "int32", "uint8", "complex64", "float16")


def drawn_slice(random: np.random.Generator, length: int) -> slice:
    """Return a slice whose ends may be left out or lie beyond the axis."""

    def end() -> int | None:
        return None if random.random() < 0.4 else int(random.integers(-length - 2, length + 3))

    return slice(end(), end(), [None, 1, 2, -1, -2, 3, -3][random.integers(7)])


def drawn_places(random: np.random.Generator, length: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of places, of the common shape or one that is broadcast to it."""
    shape = [shape, (), shape[-1:], (1,) * len(shape)][random.integers(4)]
    if length == 0:
        return np.zeros((*shape[:-1], 0) if shape else (0,), np.int32)
    dtype = ["int32", "int8", "uint8"][random.integers(3)]
    return random.integers(0 if dtype == "uint8" else -length, length, shape).astype(dtype)


def drawn_index(random: np.random.Generator, shape: tuple[int, ...]) -> tuple:
    """Return an index of an array of a shape."""
    common = tuple(int(n) for n in random.integers(1, 4, random.integers(1, 3)))
    entries: list[Any] = []
    axis = 0
    while axis < len(shape):
        kind, length = random.random(), shape[axis]
        if kind < 0.12:
            entries.append(None)
            continue
        if kind < 0.25 and not any(entry is Ellipsis for entry in entries):
            entries.append(Ellipsis)
            axis += int(random.integers(0, len(shape) - axis + 1))
            continue
        if kind < 0.3 and axis + 1 < len(shape):
            entries.append(random.random(shape[axis : axis + 2]) < 0.5)
            axis += 1
        elif kind < 0.4 and length:
            entries.append(int(random.integers(-length, length)))
        elif kind < 0.65:
            entries.append(drawn_slice(random, length))
        elif kind < 0.9:
            entries.append(drawn_places(random, length, common))
        else:
            entries.append(random.random(length) < 0.5)
        axis += 1
    return tuple(entries)


def check(seed: int) -> None:
    """Compare an index with NumPy's, unless NumPy refuses it."""
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.choice([0, 1, 2, 3, 4, 3], random.integers(0, 5)))
    x = np.asarray(4 * random.normal(size=shape)).astype(DTYPES[random.integers(len(DTYPES))])
    index = drawn_index(random, shape)
    try:
        expected = x[index]
    except IndexError:
        return
    named = as_jax(index)
    for found in (jnp.asarray(x)[named], jax.jit(lambda x: x[index])(x)):
        assert found.shape == expected.shape, index
        np.testing.assert_array_equal(found, expected)
    written, added = x.copy(), x.copy()
    written[index] = 1
    np.testing.assert_array_equal(jnp.asarray(x).at[named].set(x.dtype.type(1)), written)
    np.add.at(added, index, x.dtype.type(1))
    found = jax.jit(lambda x: x.at[index].add(x.dtype.type(1)))(x)
    np.testing.assert_allclose(found, added, rtol=1e-2 if x.dtype == "float16" else 1e-6)


@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_some_random_indices(first):
    for seed in range(first, first + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, 10 * SEEDS, 20))
def test_more_random_indices(first):
    for seed in range(first, first + 20):
        check(seed)
