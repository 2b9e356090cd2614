"""Cumulative operations obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import cumulative
from tests.support.harness import laws
from tests.support.records import FLOATS, INEXACT, INTEGERS, Failure, Record, between, fixed, normal

DISTINCT = fixed([[0.5, -1.5, 2.0, 0.1], [1.0, 3.0, -0.25, 7.0], [-3.0, 0.2, 0.3, 0.4]])
X = np.ones((3, 4), np.float32)
WRONG = (
    Failure((X, -1), ValueError, "XLA operations do not allow negative axes"),
    Failure((X, 5), ValueError, "axis 5 is out of bounds for array of shape (3, 4)"),
    Failure((X > 0, 0), TypeError, "cumsum does not accept dtype bool."),
)


def along(function, axis, reverse=False) -> object:
    """Return the operation along a fixed axis; an extra argument replaces it."""
    return lambda x, other=axis: function(x, other, reverse)


RECORDS = [
    Record("sum0", along(cumulative.cumsum, 0), (normal(3, 4),), (*INEXACT, *INTEGERS), ulps=16),
    Record(
        "sum1-reverse",
        along(cumulative.cumsum, 1, True),
        (normal(2, 5),),
        FLOATS,
        errors=WRONG,
        ulps=16,
    ),
    Record("sum-vector", along(cumulative.cumsum, 0), (normal(9),), FLOATS, ulps=16),
    Record("prod", along(cumulative.cumprod, 0), (between(0.5, 2, 3, 2),), INEXACT, ulps=16),
    Record("prod-reverse", along(cumulative.cumprod, 1, True), (between(0.5, 2, 2, 4),), ulps=16),
    Record("max", along(cumulative.cummax, 0), (DISTINCT,), (*FLOATS, "int32")),
    Record("min-reverse", along(cumulative.cummin, 1, True), (DISTINCT,), (*FLOATS, "uint32")),
    Record("logsumexp", along(cumulative.cumlogsumexp, 1), (normal(2, 5),), FLOATS, ulps=64),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums_of_all_lengths(size, reverse):
    x = np.arange(size, dtype=np.int32)
    expected = np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)
    np.testing.assert_array_equal(expected, cumulative.cumsum(x, 0, reverse))


def test_infinities_do_not_spoil_logsumexp():
    x = np.array([-np.inf, -np.inf, 0.0, np.inf], np.float32)
    found = np.asarray(cumulative.cumlogsumexp(x))
    np.testing.assert_array_equal([-np.inf, -np.inf, 0.0, np.inf], found)


@pytest.mark.parametrize("shape", [(3,), (2, 17)])
def test_logsumexp_of_integers_is_an_overflow(shape):
    with pytest.raises(OverflowError, match="cannot convert float infinity"):
        cumulative.cumlogsumexp(np.ones(shape, np.int32))


@pytest.mark.parametrize("shape", [(16, 16), (37, 53), (3, 40, 100), (16, 15), (2, 20, 16)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_rows_keep_their_order_in_squares(shape, reverse, dtype):
    x = (9 * np.random.default_rng(0).normal(size=shape)).astype(dtype)
    axis, way = len(shape) - 1, slice(None, None, -1 if reverse else 1)
    pairs = [
        (cumulative.cumsum, np.add),
        (cumulative.cumprod, np.multiply),
        (cumulative.cummax, np.maximum),
    ]
    with jax.enable_x64(True), np.errstate(all="ignore"):
        for function, ufunc in pairs:
            expected = ufunc.accumulate(x[..., way], axis, dtype=dtype)[..., way]
            np.testing.assert_array_equal(expected, function(x, axis, reverse))


def test_rows_in_squares_have_the_bits_of_single_rows():
    x = np.random.default_rng(1).normal(size=(33, 70)).astype(np.float32)
    rows = [cumulative.cumlogsumexp(row) for row in x]
    np.testing.assert_array_equal(rows, cumulative.cumlogsumexp(x, 1))


@pytest.mark.parametrize("reverse", [False, True])
def test_cumlogsumexp_of_complex_numbers(reverse: bool) -> None:
    generator = np.random.default_rng(0)
    z = (generator.normal(size=(3, 9)) + 1j * generator.normal(size=(3, 9))).astype(np.complex64)
    turned = z[:, ::-1] if reverse else z
    sums = np.cumsum(np.exp(turned), 1)
    expected = sums[:, ::-1] if reverse else sums
    found = jax.jit(along(cumulative.cumlogsumexp, 1, reverse))(z)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)
    moved = jax.jvp(along(cumulative.cumlogsumexp, 1, reverse), (z,), (np.ones_like(z),))[1]
    np.testing.assert_allclose(moved, np.ones_like(z), rtol=1e-5, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(1,), (2,), (17,), (2, 1), (1, 3), (3, 2), (2, 17), (40, 2)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
@pytest.mark.parametrize("reverse", [False, True])
def test_zeros_below_zero_have_the_signs_that_jax_gives_them(name, shape, reverse):
    from jax import lax as reference

    x = np.full(shape, -0.0, np.float32)
    for axis in range(x.ndim):
        found, wanted = (
            np.asarray(getattr(system, name)(x, axis=axis, reverse=reverse))
            for system in (jax.lax, reference)
        )
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
