"""Special functions obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.prims import bessel, special
from tests.support.harness import laws
from tests.support.records import FLOATS, Failure, Record, between, fixed, like, normal

DOUBLE = ("float32", "float64")
RECORDS = [
    Record(
        "erf",
        special.erf,
        (normal(2, 3),),
        errors=(
            Failure(
                (np.ones(3, np.complex64),),
                TypeError,
                "erf does not accept dtype complex64. Accepted dtypes are subtypes of floating.",
            ),
        ),
    ),
    Record("erfc", special.erfc, (normal(2, 3),)),
    Record("erf_inv", special.erf_inv, (between(-0.8, 0.8, 2, 3),)),
    Record("lgamma", special.lgamma, (between(0.5, 4, 2, 3),), ulps=16),
    Record("digamma", special.digamma, (between(0.5, 4, 2, 3),), ulps=16),
    Record("bessel_i0e", bessel.bessel_i0e, (between(0.5, 12, 2, 3),), ulps=8),
    Record("bessel_i1e", bessel.bessel_i1e, (between(0.5, 12, 2, 3),), ulps=8),
    Record(
        "zeta",
        special.zeta,
        (between(1.5, 4, 2, 3), between(0.5, 4, 2, 3)),
        FLOATS,
        ulps=16,
    ),
    Record(
        "polygamma",
        special.polygamma,
        (fixed([0.0, 1.0, 2.0, 5.0]), between(0.5, 4, 4)),
        DOUBLE,
        ulps=64,
        differentiable=(1,),
    ),
    Record(
        "polynomial",
        lambda x, a, c: special.polynomial(x, [a, c, a, 2.0]),
        (between(0.5, 1.5, 2, 3), normal(), normal(2, 3)),
        DOUBLE,
        ulps=16,
    ),
    Record(
        "polynomial-shared",
        lambda x, c: special.polynomial(x, c),
        (between(0.5, 1.5, 4), fixed([1.0, -2.0, 3.0])),
        DOUBLE,
        {"empty": "the coefficients are fixed"},
        ulps=16,
    ),
    Record(
        "polynomial-integers",
        lambda x: special.polynomial(x, [np.int32(1), np.int32(2), np.int32(3)]),
        (like(normal(2, 3), "int32"),),
        ("int32",),
        dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents"),
    ),
]
globals().update(laws(RECORDS))


def test_bessel_functions_near_zero_and_far_away() -> None:
    """Odd and even, with the limits 1/2 x and 1 / sqrt(2 pi x)."""
    x = np.array([-1e-4, 0.0, 1e-4, 50.0, -50.0], np.float32)
    i1, i0 = np.asarray(bessel.bessel_i1e(x)), np.asarray(bessel.bessel_i0e(x))
    far = 1 / np.sqrt(2 * np.pi * 50.0)
    np.testing.assert_allclose(i1, [-5e-5, 0, 5e-5, far, -far], rtol=1e-2)
    np.testing.assert_allclose(i0, [1, 1, 1, far, far], rtol=1e-2)
    assert float(jax.grad(bessel.bessel_i1e)(np.float32(0))) == 0.5


def test_floats_of_8_bits_are_computed_in_32() -> None:
    """They do not promote, and have their own dtype at the end."""
    x = jnp.ones(2, "float8_e4m3fn")
    wide = x.astype("float32")
    for function in (bessel.bessel_i0e, bessel.bessel_i1e, lambda x: special.zeta(x + x, x)):
        found = function(x)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, function(wide).astype(x.dtype))


def test_zeta_has_poles_and_undefined_places() -> None:
    """Infinite at x = 1 and at integers q <= 0, NaN for x < 1."""
    x = np.array([1.0, 0.5, 2.0], np.float32)
    q = np.array([1.0, 1.0, -1.0], np.float32)
    out = np.asarray(special.zeta(x, q))
    assert np.isinf(out[0]) and np.isnan(out[1]) and np.isinf(out[2])


def test_polygamma_has_no_derivative_by_its_order() -> None:
    """As in JAX, that is an error of the user's."""
    with pytest.raises(ValueError, match="polygamma gradient with respect to m is not supported"):
        jax.grad(lambda m: special.polygamma(m, np.float32(1)))(np.float32(1))


@pytest.mark.parametrize(("x", "q"), [(2.0, 1.0), (3.5, 0.7), (1.2, 5.0), (12.0, 0.3)])
def test_derivatives_of_zeta(x: float, q: float) -> None:
    """The first two are sums of logarithms, as mpmath has them."""
    mpmath.mp.dps = 30
    with jax.enable_x64(True):
        by_x = jax.grad(special.zeta)
        slopes = (by_x(x, q), jax.grad(special.zeta, 1)(x, q), jax.grad(by_x)(x, q))
    wanted = (
        mpmath.zeta(x, q, 1),
        -x * mpmath.zeta(x + 1, q),
        mpmath.zeta(x, q, 2),
    )
    np.testing.assert_allclose(np.array(slopes, float), np.array(wanted, float), rtol=1e-11)


@pytest.mark.parametrize(("dtype", "top"), [(np.float32, 9.0), (np.float64, 26.0)])
def test_derivatives_of_error_functions_are_accurate_far_out(dtype: type, top: float) -> None:
    """2 / sqrt(pi) exp(-x ** 2) to a few units in the last place, and 0 beyond."""
    mpmath.mp.dps = 40
    x = np.linspace(-1, top, 101).astype(dtype)
    wanted = [2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(mpmath.mpf(float(v)) ** 2)) for v in x]
    with jax.enable_x64(True):
        for function, sign in ((special.erf, 1), (special.erfc, -1)):
            slopes = sign * np.asarray(jax.vmap(jax.grad(function))(x)).astype(float)
            errors = [abs(float(g / w - 1)) for g, w in zip(slopes, wanted, strict=True)]
            assert max(errors) < 4 * np.finfo(dtype).eps
            far = np.array([60.0, np.inf, -np.inf, np.nan], dtype)
            second = jax.vmap(jax.grad(jax.grad(function)))(far)
            np.testing.assert_array_equal([0, 0, 0, np.nan], second)
