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


def recurrence(first, then):
    """Compose two maps `a x + b`."""
    return first[0] * then[0], first[1] * then[0] + then[1]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("combine", [jnp.add, jnp.maximum, recurrence])
def test_rows_along_the_last_axis_have_the_bits_of_each_row(combine, reverse):
    rows = np.random.default_rng(0).uniform(0.9, 1.1, (6, 700)).astype(np.float32)

    def scanned(x):
        """Scan along the last axis."""
        elements = (x, 0.5 * x) if combine is recurrence else x
        return jax.tree.leaves(lax.associative_scan(combine, elements, reverse, x.ndim - 1))

    wanted = [np.stack(leaf) for leaf in zip(*map(scanned, rows), strict=True)]
    blocks = rows.reshape(2, 3, 700)
    program = jax.make_jaxpr(scanned)(blocks)
    assert program.eqns[-1].primitive.name == "custom_jvp_call"
    for want, found in zip(wanted, jax.jit(scanned)(blocks), strict=True):
        np.testing.assert_array_equal(want, np.reshape(found, (6, 700)))


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_rows_along_the_last_axis_are_those_of_each_row(order):
    rows = np.random.default_rng(0).uniform(0.99, 1.01, (3, 600)).astype(np.float32)

    def loss(x, axis):
        """Combine, and make a number of it."""
        return jnp.sum(lax.associative_scan(jnp.multiply, x, axis=axis) ** 2) / x.size

    derived = lambda axis: lambda x: loss(x, axis)  # noqa: E731
    gradient = lambda axis: jax.grad(derived(axis))  # noqa: E731
    if order == 2:
        once = gradient
        gradient = lambda axis: lambda x: jax.jvp(once(axis), (x,), (x,))[1]  # noqa: E731
    wanted = jnp.stack([gradient(0)(row) for row in rows])
    np.testing.assert_allclose(wanted / 3, gradient(1)(rows), rtol=1e-4)
    mapped = jax.vmap(gradient(1))(np.stack([rows, rows]))
    np.testing.assert_allclose(wanted / 3, mapped[1], rtol=1e-4)


def test_functions_that_tell_rows_apart_see_all_rows():
    rows = np.ones((4, 600), np.float32)
    factors = np.arange(4, dtype=np.float32)[:, None]

    @jax.jit
    def scanned(x, c):
        """Add what depends on the row, which is captured."""
        return lax.associative_scan(lambda a, b: jnp.maximum(a, b) + 0 * c, c + x, axis=1)

    np.testing.assert_array_equal(rows + factors, scanned(rows, factors))
    halved = lambda a, b: jnp.maximum(a, b) + 0 * a.shape[0]  # noqa: E731
    np.testing.assert_array_equal(rows, lax.associative_scan(halved, rows, axis=1))
