"""Distributions and statistics against SciPy."""

import numpy as np
import pytest
from scipy import stats

import tapeless as jax
from tapeless import random
from tapeless.scipy import stats as ours
from tests.meta import names

R = np.random.default_rng(0)
X, U = R.normal(size=60) * 2, R.uniform(0.01, 0.99, 60)
P, Q = R.uniform(0.3, 5, 60), R.uniform(0.3, 5, 60)
K = np.floor(R.uniform(-1, 8, 60))
SCALE = {"loc": 0.3, "scale": 1.7}

# name: arguments before loc and scale, and whether it has these, for all functions but ppf, isf
CONTINUOUS = {
    "beta": ((U, P, Q), True), "cauchy": ((X,), True), "chi2": ((X, P), True),
    "expon": ((X,), True), "gamma": ((X, P), True), "gennorm": ((X, P), False),
    "gumbel_l": ((X,), True), "gumbel_r": ((X,), True), "laplace": ((X,), True),
    "logistic": ((X,), True), "norm": ((X,), True), "pareto": ((X + 3, P), True),
    "t": ((X, P), True), "truncnorm": ((X, -P, Q), True), "uniform": ((X,), True),
    "vonmises": ((X, P), False), "wrapcauchy": ((3 * U, U), False),
}  # fmt: skip
DISCRETE = {
    "bernoulli": ((np.clip(K, 0, 1), U), False), "betabinom": ((K, np.full(60, 7.0), P, Q), True),
    "binom": ((K, np.full(60, 7.0), U), True), "geom": ((K, U), True),
    "nbinom": ((K, P, U), True), "poisson": ((K, P), True),
}  # fmt: skip
ALL = CONTINUOUS | DISCRETE
FUNCTIONS = [
    (name, function) for name in ALL for function in names.stored_names()[f"jax.scipy.stats.{name}"]
]


def arguments_of(name: str, function: str) -> tuple[tuple, dict]:
    """Return sample arguments of a function."""
    arguments, has_scale = ALL[name]
    if function in ("ppf", "isf"):
        arguments = (U, *arguments[1:])
    if function == "entropy":
        arguments = (np.concatenate([P, [0.0, 50.0, 150.0]]),)
    if name in DISCRETE:
        return arguments, {}
    return arguments, SCALE if has_scale else {}


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_function_of_a_distribution(name, function):
    arguments, scale = arguments_of(name, function)
    with np.errstate(all="ignore"):
        expected = getattr(getattr(stats, name), function)(*arguments, **scale)
    with jax.enable_x64(True):
        values = jax.jit(getattr(getattr(ours, name), function))(*arguments, **scale)
    np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n not in ("wrapcauchy", "uniform")])
def test_score_is_the_derivative(name):
    (x, *rest), _ = CONTINUOUS[name]
    logpdf = getattr(ours, name).logpdf
    step = 1e-6
    with jax.enable_x64(True):
        slope = jax.grad(lambda x: logpdf(x, *rest).sum())(x)
        difference = (logpdf(x + step, *rest) - logpdf(x - step, *rest)) / (2 * step)
    smooth = np.isfinite(difference) & np.isfinite(slope)
    assert smooth.mean() > 0.3
    np.testing.assert_allclose(slope[smooth], difference[smooth], rtol=1e-3, atol=1e-5)


def test_all_distributions_are_here():
    listed = set(names.stored_names()["jax.scipy.stats"])
    others = {"dirichlet", "gaussian_kde", "mode", "multinomial", "multivariate_normal", "rankdata"}
    assert set(ALL) | others | {"sem"} == listed


def test_dirichlet():
    alpha = P[:4]
    points = stats.dirichlet.rvs(alpha, size=5, random_state=0).T
    expected = stats.dirichlet.logpdf(points, alpha)
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours.dirichlet.logpdf(points, alpha), expected, rtol=1e-9)
        np.testing.assert_allclose(ours.dirichlet.logpdf(points[:-1], alpha), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="same number of entries"):
        ours.dirichlet.logpdf(points[:2], alpha)


def test_multinomial():
    counts, p = np.array([[1, 2, 3], [0, 6, 0], [1, 1, 1]]), np.array([0.2, 0.5, 0.3])
    expected = stats.multinomial.logpmf(counts, 6, p)
    np.testing.assert_allclose(ours.multinomial.logpmf(counts, 6, p), expected, rtol=1e-5)


def test_multivariate_normal():
    root = R.normal(size=(3, 3))
    cov, mean, x = root @ root.T + np.eye(3), R.normal(size=3), R.normal(size=(5, 3))
    expected = stats.multivariate_normal.logpdf(x, mean, cov)
    with jax.enable_x64(True):
        value = ours.multivariate_normal.logpdf(x, mean, cov)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        value = ours.multivariate_normal.logpdf(x, mean, 2.0)
    np.testing.assert_allclose(value, stats.multivariate_normal.logpdf(x, mean, 2.0), rtol=1e-10)


def test_density_estimate():
    sample, points = R.normal(size=(2, 40)), R.normal(size=(2, 7))
    weights = R.uniform(size=40)
    theirs = stats.gaussian_kde(sample, weights=weights)
    with jax.enable_x64(True):
        mine = ours.gaussian_kde(sample, weights=weights)
        np.testing.assert_allclose(mine.logpdf(points), theirs.logpdf(points), rtol=1e-9)
        np.testing.assert_allclose(
            mine.integrate_kde(mine), theirs.integrate_kde(theirs), rtol=1e-9
        )
        gaussian = np.zeros(2), np.eye(2)
        expected = theirs.integrate_gaussian(*gaussian)
        np.testing.assert_allclose(mine.integrate_gaussian(*gaussian), expected, rtol=1e-9)
        line = ours.gaussian_kde(sample[0])
        expected = stats.gaussian_kde(sample[0]).integrate_box_1d(-1, 0.5)
        np.testing.assert_allclose(line.integrate_box_1d(-1, 0.5), expected, rtol=1e-9)
    draws = ours.gaussian_kde(sample).resample(random.key(0), (3000,))
    np.testing.assert_allclose(draws.mean(1), sample.mean(1), atol=0.1)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    x = R.integers(0, 5, (3, 8))
    assert (ours.rankdata(x, method) == stats.rankdata(x, method)).all()
    assert (ours.rankdata(x, method, axis=1) == stats.rankdata(x, method, axis=1)).all()
    assert ours.rankdata(x, method).dtype == np.float32
    y = np.where(x == R.integers(0, 5), np.nan, x)
    y[0] = x[0]
    ranks = ours.rankdata(y, method, axis=1)
    np.testing.assert_array_equal(ranks, stats.rankdata(y, method, axis=1))


@pytest.mark.parametrize("row", [[np.nan, 1, 1], [np.nan, 1, np.nan, 2], [np.nan] * 2 + [1] * 2])
def test_the_mode_may_be_nan(row):
    x = np.array([row, row[::-1]], "float32")
    for value, expected in zip(ours.mode(x, axis=1), stats.mode(x, axis=1), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_numbers_of_python_stay_weak():
    for value in (ours.bernoulli.cdf(1, 0.3), ours.bernoulli.ppf(0.9, 0.3)):
        assert value == 1
        assert value.weak_type
    assert not ours.norm.ppf(0.5).weak_type
    assert np.signbit(ours.norm.isf(0.5))
    assert not np.signbit(ours.norm.ppf(0.5))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_mode(axis, keepdims):
    x = R.integers(0, 4, (6, 5))
    expected = stats.mode(x, axis=axis, keepdims=keepdims)
    value = ours.mode(x, axis=axis, keepdims=keepdims)
    np.testing.assert_array_equal(value.mode, expected.mode)
    np.testing.assert_array_equal(value.count, expected.count)
    assert value.mode.shape == expected.mode.shape


def test_standard_error():
    x = R.normal(size=(6, 5)).astype("float32")
    np.testing.assert_allclose(ours.sem(x), stats.sem(x), rtol=1e-5)
    np.testing.assert_allclose(ours.sem(x, None, 0), stats.sem(x, None, 0), rtol=1e-5)
    assert np.isnan(ours.sem(1, None))
    x[0, 0] = np.nan
    expected = stats.sem(x, nan_policy="omit")
    np.testing.assert_allclose(ours.sem(x, nan_policy="omit"), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["cauchy.ppf", "laplace.cdf", "norm.logpdf", "bernoulli.pmf"])
def test_results_for_arrays_are_strong(name):
    family, _, function = name.partition(".")
    call = getattr(getattr(jax.scipy.stats, family), function)
    assert not call(np.array([0, 1]), 0.5).weak_type


@pytest.mark.parametrize("name", ["chi2", "gamma", "pareto", "uniform", "norm"])
def test_of_nan_all_is_nan(name):
    distribution, arguments = getattr(ours, name), () if name in ("uniform", "norm") else (3.0,)
    functions = [distribution.logpdf, distribution.pdf, distribution.cdf]
    assert np.isnan([function(np.nan, *arguments) for function in functions]).all()


def test_the_probability_of_a_number_up_to_nan_is_nan():
    assert np.isnan(ours.bernoulli.cdf(np.nan, 0.5))
    assert ours.bernoulli.cdf(1.0, 0.5) == 1


def test_quantiles_of_what_is_no_probability_are_nan():
    q = np.array([-0.5, 0.0, 0.5, 1.0, 1.5], np.float32)
    for function, expected in (
        (ours.cauchy.ppf, stats.cauchy.ppf),
        (ours.cauchy.isf, stats.cauchy.isf),
    ):
        np.testing.assert_array_equal(expected(q), function(q))


def test_ranks_and_modes_of_nothing():
    assert ours.rankdata(np.zeros((3, 0)), axis=1).shape == (3, 0)
    found = ours.mode(np.zeros((3, 0)), axis=1, keepdims=True)
    np.testing.assert_array_equal(found.mode, np.full((3, 1), np.nan))
    np.testing.assert_array_equal(found.count, np.zeros((3, 1)))


def test_ranks_and_quantiles_are_wide_in_the_wide_mode():
    with jax.enable_x64(True):
        x = np.array([0.25, 0.75], np.float32)
        assert ours.rankdata(x).dtype == np.float64
        assert ours.norm.ppf(x).dtype == ours.norm.isf(x).dtype == np.float64


@pytest.mark.parametrize("function", [ours.norm.logpdf, ours.norm.pdf, ours.cauchy.logpdf])
def test_halves_of_numpy_stay_halves(function):
    assert function(np.ones(3, jax.numpy.bfloat16)).dtype == jax.numpy.bfloat16


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_cauchy_densities_far_away_have_squares_that_overflow(dtype):
    x = np.array([3e4, -3e4, 0.5, -0.5, 0, 1, np.inf, np.nan], dtype)
    x = x if dtype == "float16" else np.append(x, np.float32(1e30))
    found, slope = jax.vmap(jax.value_and_grad(jax.scipy.stats.cauchy.logpdf))(x)
    assert found.dtype == dtype
    wide = x.astype(float)
    tolerance = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(found, stats.cauchy.logpdf(wide), rtol=tolerance)
    with np.errstate(all="ignore"):
        expected = -2 * wide / (1 + wide * wide)
    some = np.isfinite(x) & (np.abs(wide) < 1e20)
    np.testing.assert_allclose(slope[some], expected[some], rtol=tolerance, atol=1e-6)
    assert jax.grad(jax.grad(jax.scipy.stats.cauchy.logpdf))(0.0) == -2


def test_cauchy_densities_of_complex_numbers_are_the_formula():
    z = np.array([0.3 + 0.2j, 2 - 3j], "complex64")
    np.testing.assert_allclose(ours.cauchy.pdf(z), 1 / (np.pi * (1 + z * z)), rtol=1e-5)


def test_pareto_of_complex_numbers_is_positive_zero_below_the_support():
    z = np.array([0.2 + 0.3j, 0.5 - 1j, 2 + 1j], "complex64")
    assert not np.signbit(np.asarray(ours.pareto.cdf(z, 2.0)).real).any()
    np.testing.assert_allclose(
        ours.pareto.logcdf(z, 2.0), stats.pareto.logcdf(z, 2.0), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("df", [0.5, 2.0, 1e30])
def test_densities_of_t_do_not_overflow_where_squares_do(df: float) -> None:
    x = np.float32([1e12, 1e20, -1e30, np.inf, 1.0, 0.0])
    with np.errstate(all="ignore"):
        expected = stats.t.logpdf(x.astype("float64"), df)
    np.testing.assert_allclose(ours.t.logpdf(x, np.float32(df)), expected, rtol=2e-5)
    slope = jax.grad(ours.t.logpdf)(np.float32(1e30), np.float32(df))
    np.testing.assert_allclose(slope, -(df + 1) / 1e30, rtol=1e-5)
