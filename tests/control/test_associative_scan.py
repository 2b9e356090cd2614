"""Prefixes of associative combinations."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.lower import lower_jaxpr
from tapeless.kernel.pprint import listing


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 16, 33])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes_of_every_length(n, reverse):
    x = np.arange(n, dtype=np.float32) + 1
    wanted = np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)
    np.testing.assert_allclose(wanted, lax.associative_scan(jnp.add, x, reverse=reverse))


def test_the_earlier_element_comes_first():
    matrices = np.random.RandomState(0).randn(5, 2, 2).astype(np.float32)
    out = lax.associative_scan(jnp.matmul, matrices)
    wanted = matrices[0]
    for i in range(1, 5):
        wanted = wanted @ matrices[i]
    np.testing.assert_allclose(wanted, out[-1], rtol=1e-4)


def test_trees_and_axes():
    def combine(a, b):
        """Compose two affine maps."""
        return a[0] * b[0], b[0] * a[1] + b[1]

    slope, shift = np.full((2, 4), 2.0, np.float32), np.ones((2, 4), np.float32)
    out = lax.associative_scan(combine, (slope, shift), axis=1)
    np.testing.assert_array_equal([[1, 3, 7, 15]] * 2, out[1])


def test_it_is_differentiated_and_mapped():
    x = np.array([0.5, 1.5, 2.0], np.float32)
    total = lambda x: jnp.sum(lax.associative_scan(jnp.multiply, x))  # noqa: E731
    np.testing.assert_allclose([1 + 1.5 + 3, 0.5 + 1, 0.75], jax.grad(total)(x), rtol=1e-6)
    mapped = jax.vmap(lambda x: lax.associative_scan(jnp.add, x))(np.stack([x, x]))
    np.testing.assert_allclose(np.cumsum([x, x], 1), mapped)


def test_booleans_are_interleaved():
    x = np.array([False, True, False, False])
    assert lax.associative_scan(jnp.logical_or, x).tolist() == [False, True, True, True]


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="must have the same first dimension"):
        lax.associative_scan(jnp.add, (np.ones(3), np.ones(4)))
    with pytest.raises(TypeError, match="fn argument should be callable"):
        lax.associative_scan(3, np.ones(3))


def test_even_and_odd_elements_are_stored_side_by_side() -> None:
    prefixes = lambda x: lax.associative_scan(jnp.add, x)  # noqa: E731
    x = np.arange(201.0, dtype=np.float32)
    text = listing(lower_jaxpr(jax.make_jaxpr(prefixes)(x).jaxpr).body)
    assert "%" not in re.sub(r"%\d+", "", text)
    np.testing.assert_array_equal(jax.jit(prefixes)(x), np.cumsum(x))
