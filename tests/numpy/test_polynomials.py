"""Polynomials are NumPy's."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

P = np.array([1, -2, 3, 4], np.float32)
Q = np.array([2, -1], np.float32)


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_arithmetic(name):
    check(name, P, Q)
    check(name, Q, P)


def test_division_leaves_a_remainder():
    quotient, rest = jnp.polydiv(P, Q)
    expected, remainder = np.polydiv(P, Q)
    np.testing.assert_allclose(quotient, expected, rtol=1e-6)
    np.testing.assert_allclose(rest, [0, 0, 0, *remainder], rtol=1e-6)
    back = jnp.polyadd(jnp.polymul(quotient, Q), rest)
    np.testing.assert_allclose(back, P, rtol=1e-6)
    for found, wanted in zip(jnp.polydiv(Q, P), ([0], Q), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("args", [(2.0, 3.0), (P, 2.0)])
def test_a_product_takes_vectors(args):
    with pytest.raises(TypeError, match="polymul takes a vector of coefficients, got a scalar"):
        jnp.polymul(*args)


def test_division_of_infinities_leaves_nan_in_the_remainder():
    p = np.float32([np.nan, -1, np.inf, 0.5])
    with np.errstate(all="ignore"):
        expected = np.polydiv(p, np.float32([np.inf, 1]))
    for found, wanted in zip(jnp.polydiv(p, np.float32([np.inf, 1])), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_derivatives_and_integrals(m):
    check("polyder", P, m)
    check("polyint", P, m)
    if m:
        check("polyint", P, m, np.arange(1.0, m + 1).astype("float32"))


def test_values():
    x = normal(2, 3)
    check("polyval", P, x)
    check("polyval", np.array([1, 0, 2]), np.array([0, 3]))
    slope = jax.grad(lambda x: jnp.polyval(P, x))(2.0)
    assert slope == np.polyval(np.polyder(P), 2.0)


def test_polynomials_from_roots():
    check("poly", P)
    check("poly", np.zeros(0))
    matrix = np.array([[2, 1], [1, 3]], np.float32)
    np.testing.assert_allclose(jnp.poly(matrix).real, np.poly(matrix), rtol=1e-5)


@pytest.mark.parametrize("roots", [[np.nan, 1], [1, np.inf], [np.inf, 2, 3], [np.inf, 0, 1]])
def test_roots_that_are_not_finite_leave_the_leading_coefficient(roots):
    check("poly", np.float32(roots))


@pytest.mark.parametrize(
    "p", [[1, -3, 2], [0, 0, 1, -3, 2], [1, 0, 0], [2, -3, 0, 0], [1, 0, 1], [5], [0, 0]]
)
def test_roots(p):
    p = np.array(p, np.float32)
    found, expected = np.sort_complex(jnp.roots(p)), np.sort_complex(np.roots(p))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    padded = np.asarray(jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(p))
    present = padded[~np.isnan(padded)]
    np.testing.assert_allclose(np.sort_complex(present), expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(8,), (8, 2)])
def test_fit(shape):
    x, y = np.linspace(-1, 1, 8).astype("float32"), normal(*shape)
    check("polyfit", x, y, 3, tolerance=1e-4)
    check("polyfit", x, y, 2, w=np.arange(1.0, 9).astype("float32"), tolerance=1e-4)
    for cov in (True, "unscaled"):
        check("polyfit", x, y, 2, cov=cov, tolerance=1e-4)


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        ((P, P, -1), ValueError, "expected deg >= 0"),
        ((np.ones((2, 2)), P, 1), TypeError, "expected 1D vector for x"),
        ((P, Q, 1), TypeError, "same length"),
    ],
)
def test_wrong_fits(args, kind, message):
    with pytest.raises(kind, match=message):
        jnp.polyfit(*args)
