"""Reductions, windows and scatters that combine with a user's function."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control import reducers
from tapeless.prims import binary, bitwise, compare, trig
from tapeless.prims.indexing import ScatterDimensionNumbers
from tapeless.prims.select import select

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def sum_and_product(a, b):
    """Add the first elements, multiply the second ones."""
    return binary.add(a[0], b[0]), binary.mul(a[1], b[1])


def test_named_operations_become_named_reductions():
    text = str(jax.make_jaxpr(lambda x: reducers.reduce(x, 0.0, binary.add, (0,)))(X))
    assert "reduce_sum[axes=(0,) out_sharding=None] a" in text
    text = str(jax.make_jaxpr(lambda x: reducers.reduce_window(x, -np.inf, binary.max, (2, 2)))(X))
    assert "reduce_window_max[" in text


def test_other_initial_values_count_once():
    found = reducers.reduce(X, 1.0, binary.add, (0,))
    np.testing.assert_array_equal(X.sum(0) + 1, found)


def test_operands_are_folded_together():
    total, product = reducers.reduce((X, X), (0.0, 1.0), sum_and_product, (0,))
    np.testing.assert_array_equal(X.sum(0), total)
    np.testing.assert_array_equal(X.prod(0), product)


def test_a_reduction_is_differentiated_and_mapped():
    def product(x):
        """Multiply the columns."""
        return reducers.reduce(x, 1.0, lambda a, b: binary.mul(a, b), (0,))

    gradient = jax.vjp(product, X)[1](np.ones(4, np.float32))[0]
    np.testing.assert_allclose(X.prod(0) / X, gradient, rtol=1e-5)
    both = np.stack([X, X + 1], 1)
    np.testing.assert_allclose(both.prod(0), jax.vmap(product, 1)(both), rtol=1e-5)


def test_windows_by_a_program():
    def product(x):
        """Multiply neighbours."""
        return reducers.reduce_window(x, 1.0, binary.mul, (2, 1))

    out, tangent = jax.jvp(product, (X,), (np.ones_like(X),))
    np.testing.assert_array_equal(X[:-1] * X[1:], out)
    np.testing.assert_array_equal(X[:-1] + X[1:], tangent)
    total, times = reducers.reduce_window((X, X), (0.0, 1.0), sum_and_product, (2, 1))
    np.testing.assert_array_equal(X[:-1] + X[1:], total)
    np.testing.assert_array_equal(X[:-1] * X[1:], times)


def test_a_function_is_applied_as_often_as_a_window_is_named():
    numbers = ScatterDimensionNumbers((1,), (0,), (0,))
    places = np.array([[0], [2], [0]], np.int32)
    found = reducers.scatter_apply(X, places, trig.sin, numbers, update_shape=(3, 4))
    expected = np.stack([np.sin(np.sin(X[0])), X[1], np.sin(X[2])])
    np.testing.assert_allclose(expected, found, rtol=1e-5)


@pytest.mark.parametrize("n", [4, 40])
def test_a_fold_may_use_a_step_of_its_function_twice(n):
    def later(old, new):
        """Return the pair with the larger value, or the old one if its value is NaN."""
        keep = bitwise.bitwise_or(compare.gt(old[0], new[0]), compare.ne(old[0], old[0]))
        return tuple(select(keep, x, y) for x, y in zip(old, new, strict=True))

    values = np.sin(np.arange(2 * n, dtype=np.float32)).reshape(2, n)
    places = np.broadcast_to(np.arange(n, dtype=np.int32), (2, n))
    start = (np.float32(-np.inf), np.int32(0))
    largest, place = reducers.reduce((values, places), start, later, (1,))
    np.testing.assert_array_equal(values.max(1), largest)
    np.testing.assert_array_equal(values.argmax(1), place)


def test_wrong_initial_values_are_refused():
    with pytest.raises(TypeError, match="reduce operand dtypes should match corresponding initial"):
        reducers.reduce(X, 1, lambda a, b: a, (0,))


def test_functions_that_return_something_else_are_refused() -> None:
    x = np.ones((3, 4), np.float32)
    with pytest.raises(ValueError, match=r"\(f32\[\]\), but it returned \(bool\[\]\)"):
        jax.lax.reduce(x, 0.0, lambda a, b: a > b, (0,))
    with pytest.raises(ValueError, match=r"\(f32\[\]\), but it returned \(f32\[\], f32\[\]\)"):
        jax.lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))


def test_axes_that_operands_do_not_have_are_refused():
    with pytest.raises(ValueError, match=r"reduction axes \(2,\) contains out-of-bounds indices"):
        jax.lax.reduce(np.ones((2, 3), np.float32), 0.0, lambda a, b: a - b, (2,))


@pytest.mark.parametrize("operation", [lambda a, b: a * b + a, lax.mul])
def test_windows_of_other_operations_have_forward_mode_only(operation):
    f = lambda x: lax.reduce_window(x, 1.0, operation, (2,), (1,), "VALID").sum()  # noqa: E731
    x = jnp.arange(1.0, 4.0)
    _, tangent = jax.jvp(f, (x,), (x,))
    ahead, back = f(x * 1.01), f(x * 0.99)
    np.testing.assert_allclose(float(tangent), float(ahead - back) / 0.02, rtol=1e-3)
    with pytest.raises(ValueError, match="Linearization failed to produce known values"):
        jax.grad(f)(x)


def test_operands_in_trees_are_folded_together():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    trees = {"a": x, "b": (x.astype(np.int32),)}
    fold = lambda p, q: {"a": p["a"] + q["a"], "b": (p["b"][0] | q["b"][0],)}  # noqa: E731
    inits = {"a": np.float32(0), "b": (0,)}
    out = lax.reduce(trees, inits, fold, (1,))
    np.testing.assert_array_equal([3.0, 12.0], out["a"])
    np.testing.assert_array_equal([3, 7], out["b"][0])
    pairs = lax.reduce_window(trees, inits, fold, (2, 1))
    np.testing.assert_array_equal([[3.0, 5.0, 7.0]], pairs["a"])
    assert type(lax.reduce([x], [0.0], lambda p, q: [p[0] * q[0]], (0,))) is list
    with pytest.raises(ValueError, match="same tree structure as init_values"):
        lax.reduce({"a": x}, [0.0], fold, (0,))
