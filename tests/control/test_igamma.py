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


@pytest.mark.parametrize("shape", [(511,), (512,), (513,), (7, 333), (2, 256), (3, 0), ()])
def test_blocks_of_elements_fit_every_shape(shape):
    a, b, x = RANDOM.uniform(0.1, 1, (3, *shape))
    with jax.enable_x64(True):
        np.testing.assert_allclose(lax.betainc(a, b, x), special.betainc(a, b, x), rtol=1e-11)
        np.testing.assert_allclose(lax.igamma(a, b), special.gammainc(a, b), rtol=1e-11)
        np.testing.assert_allclose(lax.igammac(a, b), special.gammaincc(a, b), rtol=1e-11)


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


# By mpmath, 30 digits: where series and fraction take too many steps, and at tiny a.
CENTRAL = np.array(
    [
        (1e6, 1e6, 0.50013298076087259, 0.49986701923912741),
        (1e8, 1e8, 0.50001329807601412, 0.49998670192398588),
        (1e10, 1e10, 0.50000132980760134, 0.49999867019239866),
    ]
).T
DISTANT = np.array([-6.0, -3.0, -1.0, -0.1, 0.1, 1.0, 3.0, 6.0])


def test_incomplete_gamma_of_one_large_number_twice():
    a, x, lower, upper = CENTRAL
    with jax.enable_x64(True):
        np.testing.assert_allclose(lax.igamma(a, x), lower, rtol=2e-15)
        np.testing.assert_allclose(lax.igammac(a, x), upper, rtol=2e-15)
        a = np.array([1e12, 1e18, 1e30, 1e300])
        wanted = 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a))
        np.testing.assert_allclose(lax.igamma(a, a), wanted, rtol=2e-15)
    narrow = np.array([1e8, 1e10, 1e20, 3e38], np.float32)
    np.testing.assert_allclose(lax.igamma(narrow, narrow), 0.5, rtol=3e-5)


@pytest.mark.parametrize("a", [1e12, 1e15])
def test_incomplete_gamma_of_large_numbers_is_that_of_the_normal_distribution(a):
    """The next term of Edgeworth's series is of the order of 1/sqrt(a)."""
    x = a + DISTANT * np.sqrt(a)
    with jax.enable_x64(True):
        lower, upper = lax.igamma(a, x), lax.igammac(a, x)
    z = (x - a) / np.sqrt(a)
    for found, sign in ((lower, 1), (upper, -1)):
        density = sign * (1 - z * z) / (3 * np.sqrt(a)) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        np.testing.assert_allclose(found, special.ndtr(sign * z) + density, rtol=1e-8)


@pytest.mark.parametrize("a", [200.5, 300.0, 1e3, 1e5, 1e6])
def test_the_expansion_meets_series_and_fraction(a):
    x = a * np.array([0.69, 0.705, 0.8, 0.95, 1.0, 1.05, 1.2, 1.295, 1.31])
    with jax.enable_x64(True):
        for ours, scipys in PAIRS:
            wanted = scipys(a, x)
            np.testing.assert_allclose(ours(a, x), wanted, rtol=1e-11, atol=1e-200)


def test_incomplete_gamma_of_tiny_numbers():
    tiny = np.array([5e-324, 1e-310, 1e-300, 1e-20, 1e-5, 0.03, 0.04])
    for x in (1e-3, 0.3, 0.5, 0.51, 1.0, 1.5):
        with jax.enable_x64(True):
            lower, upper = lax.igamma(tiny, x), lax.igammac(tiny, x)
        normal = tiny > 1e-307
        wanted = special.gammaincc(tiny, x)
        np.testing.assert_allclose(upper[normal], wanted[normal], rtol=1e-13)
        least = tiny[~normal] * special.exp1(x)
        np.testing.assert_allclose(upper[~normal], least, rtol=0, atol=1e-322)
        np.testing.assert_allclose(lower[normal], special.gammainc(tiny, x)[normal], rtol=1e-13)
        assert (np.asarray(lower)[~normal] == 1).all() and (np.asarray(upper) >= 0).all()
