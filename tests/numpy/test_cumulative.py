"""Running sums, differences, integrals and interpolation are NumPy's."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(4, 5)
LINE = np.sort(normal(7))
HEIGHTS = normal(7, seed=1)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running_sums_and_products(name, axis):
    x = X.copy()
    if name.startswith("nan"):
        x[1, 2] = np.nan
    check(name, x, axis=axis)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_sums_of_the_array_standard(name):
    if hasattr(np, name):
        check(name, X, axis=1, include_initial=True)
    x = jnp.array([2, 3], "int8")
    assert getattr(jnp, name)(x).dtype == "int32"
    with pytest.raises(ValueError, match="axis was not set"):
        getattr(jnp, name)(X)


def test_integers_keep_their_dtype_unless_asked():
    x = np.array([100, 100], np.int8)
    assert jnp.cumsum(x).dtype == "int8"
    np.testing.assert_array_equal(jnp.cumsum(x, dtype="int32"), [100, 200])
    assert jnp.cumsum(x > 0).dtype == "int32"


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_diff(n):
    check("diff", X, n=n)
    check("diff", X, n=n, axis=0)


def test_ends_of_differences():
    check("diff", X, prepend=0, append=X[:, :2])
    check("diff", X > 0)
    check("ediff1d", X, to_begin=3.0, to_end=np.array([1, 2], np.float32))


def test_gradient_for_each_kind_of_spacing():
    check("gradient", X)
    check("gradient", X, axis=0)
    check("gradient", HEIGHTS, 2.0)
    check("gradient", HEIGHTS, LINE, tolerance=1e-4)
    check("gradient", X, 2.0, np.array([0, 1, 3, 4, 6], np.float32))
    with pytest.raises(ValueError, match="at least 2 elements"):
        jnp.gradient(jnp.ones(1))


def test_trapezoid():
    check("trapezoid", X)
    check("trapezoid", X, axis=0, dx=0.5)
    check("trapezoid", HEIGHTS, LINE)
    check("trapezoid", X, np.array([0, 1, 3, 4], np.float32), axis=0)


def test_unwrap():
    check("unwrap", np.cumsum(HEIGHTS) * 4 % 6.28, tolerance=1e-4)
    check("unwrap", np.array([0, 1, 2, -1, 0]), period=4)
    check("unwrap", X * 5, axis=0, discont=4.0, tolerance=1e-4)
    with pytest.raises(IndexError, match="must have an axis"):
        jnp.unwrap(1.0)


@pytest.mark.parametrize("options", [{}, {"left": 1.0, "right": 2.0}, {"period": 1.5}])
def test_interp(options):
    check("interp", X, LINE, HEIGHTS, tolerance=1e-4, **options)
    check("interp", 0.3, LINE, HEIGHTS, tolerance=1e-4, **options)


def test_interp_goes_on_in_straight_lines():
    found = jnp.interp(
        jnp.array([-1.0, 4.0]), jnp.arange(3.0), jnp.array([0.0, 1.0, 3.0]), "extrapolate",
        "extrapolate",
    )  # fmt: skip
    np.testing.assert_allclose(found, [-1.0, 7.0])
    slope = jax.grad(lambda x: jnp.interp(x, jnp.arange(3.0), jnp.array([0.0, 1.0, 3.0])))(1.5)
    assert slope == 2.0


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running_sums_and_products_to_bools_are_logical(name):
    x = np.array([0.0, 0.5, 0.0, 2.0], "float32")
    for values in (x, x > 0, x[1::2]):
        found = getattr(jnp, name)(values, dtype=bool)
        logical = np.logical_or if name.endswith("sum") else np.logical_and
        np.testing.assert_array_equal(found, logical.accumulate(values != 0))
