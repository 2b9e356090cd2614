"""Incomplete gamma and beta functions against SciPy: spread out, near the maximum, at the edges."""

import numpy as np
import pytest
from scipy import special

import tapeless as jax
from tapeless import lax

RANDOM = np.random.default_rng(0)
A = 10 ** RANDOM.uniform(-3, 5, 200)
SPREAD = A * 10 ** RANDOM.uniform(-1.5, 1.5, 200)
NEAR = np.abs(A * (1 + RANDOM.normal(size=200) / np.sqrt(A)))
EDGES = np.array(
    [(0, 1), (0, 0), (1, 0), (-1, 1), (1, -1), (np.inf, 1), (1, np.inf), (np.inf, np.inf),
     (np.nan, 1), (1, np.nan), (0, -1), (0, np.inf)],
).T  # fmt: skip
BETA_EDGES = np.array(
    [(0, 1, 0.5), (1, 0, 0.5), (0, 0, 0.5), (1, 1, 0), (1, 1, 1), (1, 1, -1), (1, 1, 2),
     (-1, 1, 0.5), (np.inf, 1, 0.5), (1, np.inf, 0.5), (1, np.inf, 0), (np.inf, 1, 1)],
).T  # fmt: skip
PAIRS = [(lax.igamma, special.gammainc), (lax.igammac, special.gammaincc)]


@pytest.mark.parametrize(("ours", "scipys"), PAIRS)
@pytest.mark.parametrize("x", [SPREAD, NEAR], ids=["spread", "near"])
def test_incomplete_gamma_in_float64(ours, scipys, x):
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours(A, x), scipys(A, x), rtol=1e-12, atol=1e-200)


@pytest.mark.parametrize(("ours", "scipys"), PAIRS)
@pytest.mark.parametrize("x", [SPREAD, NEAR], ids=["spread", "near"])
def test_incomplete_gamma_in_float32(ours, scipys, x):
    a, x = A.astype("float32"), x.astype("float32")
    expected = scipys(a.astype(float), x.astype(float))
    np.testing.assert_allclose(ours(a, x), expected, rtol=2e-7, atol=1e-37)


@pytest.mark.parametrize(("ours", "scipys"), PAIRS)
def test_edges_of_the_incomplete_gamma_function(ours, scipys):
    a, x = EDGES.astype("float32")
    np.testing.assert_array_equal(ours(a, x), scipys(*EDGES))


def test_derivative_in_the_shape():
    with jax.enable_x64(True):
        slope = jax.grad(lambda a: lax.igamma(a, NEAR).sum())(A)
    step = 1e-5 * A
    expected = (special.gammainc(A + step, NEAR) - special.gammainc(A - step, NEAR)) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_derivative_in_the_bound():
    with jax.enable_x64(True):
        slope = jax.grad(lambda x: lax.igammac(A, x).sum())(NEAR)
    step = 1e-6 * NEAR
    expected = (special.gammaincc(A, NEAR + step) - special.gammaincc(A, NEAR - step)) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def beta_arguments() -> tuple[np.ndarray, ...]:
    """Return arguments of all sizes, half of them near the maximum of the integrand."""
    b = 10 ** RANDOM.uniform(-3, 4, 200)
    x = RANDOM.uniform(0, 1, 200)
    near = np.clip(A / (A + b) * (1 + RANDOM.normal(size=200) / 10), 1e-3, 1 - 1e-9)
    return A, b, np.where(np.arange(200) < 100, x, near)


def test_incomplete_beta_in_float64():
    arguments = beta_arguments()
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            jax.jit(lax.betainc)(*arguments), special.betainc(*arguments), rtol=1e-11, atol=1e-200
        )


def test_incomplete_beta_in_float32():
    narrow = [x.astype("float32") for x in beta_arguments()]
    expected = special.betainc(*(x.astype(float) for x in narrow))
    np.testing.assert_allclose(lax.betainc(*narrow), expected, rtol=2e-7, atol=1e-37)


def test_edges_of_the_incomplete_beta_function():
    # SciPy 1.18 has the same; 1.15 has NaN at 0 and infinity.
    limits = [1, 0, np.nan, 0, 1, np.nan, np.nan, np.nan, 0, 1, 0, 1]
    np.testing.assert_array_equal(lax.betainc(*BETA_EDGES.astype("float32")), limits)


def test_derivatives_of_the_incomplete_beta_function():
    assert jax.grad(lambda x: lax.betainc(2.0, 3.0, x))(0.3) == pytest.approx(1.764)
    with pytest.raises(ValueError, match="not supported"):
        jax.grad(lax.betainc)(2.0, 3.0, 0.3)


def test_batched_shapes():
    values = jax.vmap(lax.igamma, (0, None))(A[1:4].astype("float32"), np.float32(2))
    assert values.shape == (3,)
    np.testing.assert_allclose(values, special.gammainc(A[1:4], 2), rtol=1e-6)


def test_the_gradient_of_gamma_samples_refuses_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        lax.random_gamma_grad(np.ones((4, 4), np.float32), np.ones((3, 4), np.float32))


def test_the_derivative_in_the_shape_ends_where_nothing_changes():
    """At 1e30 a step of the series does not change its terms."""
    for dtype, wide in (("float32", False), ("float64", True)):
        with jax.enable_x64(wide):
            a = np.array([1e30, 0.0, -1.0, np.inf, np.nan], dtype)
            slope = np.asarray(lax.igamma_grad_a(a, np.full(5, a[0])))
        assert abs(slope[0]) < 1e-20
        assert np.isnan(slope[1:]).all()
