"""Draws follow their distributions: Kolmogorov-Smirnov and chi-square tests of fixed seeds."""

import numpy as np
import pytest
from scipy import stats

import tapeless as jax
from tests.random import golden
from tests.random.table import ROWS

N = 4000
# One seed of a correct sampler fails about once in ten thousand.
ALPHA = 1e-4
LAWS = {row.name: getattr(row.law, "dist", row.law) for row in ROWS.values() if row.law}
DISCRETE = [name for name, law in LAWS.items() if isinstance(law, stats.rv_discrete)]
PLAIN = "float32"
CONTINUOUS = [name for name in LAWS if name not in DISCRETE]


def sample(name: str, seed: int) -> np.ndarray:
    """Draw in a 32-bit dtype, if there is one."""
    dtypes = ROWS[name].dtypes
    dtype = next((dtype for dtype in dtypes if dtype.endswith("32")), dtypes[0])
    return golden.draw(jax, name, dtype, (N,), seed)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_draws_follow_the_distribution_function(name: str) -> None:
    assert stats.kstest(sample(name, 1), ROWS[name].law.cdf).pvalue > ALPHA


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_follow_the_probabilities(name: str) -> None:
    """Cells with few expected counts are taken together."""
    law, drawn = ROWS[name].law, sample(name, 1).astype(int)
    low, high = int(law.ppf(0.005)), int(law.ppf(0.995))
    cells = np.arange(low, high + 1)
    observed = [np.sum(drawn <= low), *(np.sum(drawn == k) for k in cells[1:-1])]
    observed.append(np.sum(drawn >= high))
    expected = [law.cdf(low), *law.pmf(cells[1:-1]), 1 - law.cdf(high - 1)]
    scaled = np.asarray(expected) * N / np.sum(expected)
    assert stats.chisquare(observed, scaled).pvalue > ALPHA


def test_bytes_of_bits_are_equally_likely() -> None:
    drawn = np.asarray(jax.random.bits(jax.random.key(1), (20 * N,), "uint32"))
    for shift in (0, 8, 16, 24):
        assert stats.chisquare(np.bincount((drawn >> shift) & 255, minlength=256)).pvalue > ALPHA


def test_signs_are_equally_likely() -> None:
    positive = int((sample("rademacher", 1) == 1).sum())
    assert stats.binomtest(positive, N, 0.5).pvalue > ALPHA


def test_components_of_vectors_follow_their_distributions() -> None:
    """Marginals: of a symmetric matrix group, of a simplex, of counts, of complex numbers."""
    key = jax.random.key(1)
    entries = np.asarray(jax.random.orthogonal(key, 3, (N,)))[:, 0, 0]
    assert stats.kstest(entries, stats.uniform(-1, 2).cdf).pvalue > ALPHA
    parts = np.asarray(jax.random.dirichlet(key, np.array([1.0, 2.0, 3.0], PLAIN), (N,)))
    assert stats.kstest(parts[:, 1], stats.beta(2, 4).cdf).pvalue > ALPHA
    counts = np.asarray(jax.random.multinomial(key, 5, np.array([0.4, 0.6], PLAIN), shape=(N,)))
    observed = np.bincount(counts[:, 0].astype(int), minlength=6)
    assert stats.chisquare(observed, N * stats.binom(5, 0.4).pmf(np.arange(6))).pvalue > ALPHA
    numbers = np.asarray(jax.random.normal(key, (N,), "complex64"))
    for part in (numbers.real, numbers.imag):
        assert stats.kstest(part, stats.norm(scale=np.sqrt(0.5)).cdf).pvalue > ALPHA
    cov = np.array([[2.0, 0.5], [0.5, 1.0]], PLAIN)
    pairs = np.asarray(jax.random.multivariate_normal(key, np.zeros(2, PLAIN), cov, (N,)))
    white = pairs @ np.linalg.inv(np.linalg.cholesky(cov)).T
    assert stats.kstest(white.ravel(), stats.norm().cdf).pvalue > ALPHA


def test_normal_numbers_of_different_keys_are_uncorrelated() -> None:
    rows = jax.vmap(lambda key: jax.random.normal(key, (N,)))(
        jax.random.split(jax.random.key(3), 4)
    )
    correlations = np.corrcoef(np.asarray(rows)) - np.eye(4)
    assert np.abs(correlations).max() < 5 / np.sqrt(N)


def test_orders_are_equally_likely() -> None:
    keys = jax.random.split(jax.random.key(5), N)
    orders = np.asarray(jax.vmap(lambda key: jax.random.permutation(key, 4))(keys))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert counts.size == 24
    assert stats.chisquare(counts).pvalue > ALPHA


def test_dirichlet_vectors_sum_to_one_and_have_their_mean() -> None:
    alpha = np.array([1.0, 2.0, 3.0], np.float32)
    drawn = np.asarray(jax.random.dirichlet(jax.random.key(0), alpha, (N,)))
    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(drawn.mean(0), alpha / 6, atol=0.02)


def test_multivariate_normal_vectors_have_their_covariance() -> None:
    mean, cov = np.array([1.0, -1.0], "f4"), np.array([[2.0, 0.5], [0.5, 1.0]], "f4")
    for method in ("cholesky", "eigh", "svd"):
        key = jax.random.key(1)
        drawn = jax.random.multivariate_normal(key, mean, cov, (N,), method=method)
        np.testing.assert_allclose(np.cov(np.asarray(drawn).T), cov, atol=0.15)
        np.testing.assert_allclose(np.asarray(drawn).mean(0), mean, atol=0.1)


def test_orthogonal_matrices_are_orthogonal() -> None:
    matrices = np.asarray(jax.random.orthogonal(jax.random.key(0), 4, (10,)))
    products = matrices @ matrices.transpose(0, 2, 1)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(4), (10, 4, 4)), atol=1e-5)
    assert abs(np.linalg.det(matrices)).max() < 1.001


def test_points_of_a_ball_are_inside_and_fill_it() -> None:
    points = np.asarray(jax.random.ball(jax.random.key(0), 3, shape=(N,)))
    radii = np.linalg.norm(points, axis=-1)
    assert stats.kstest(radii**3, stats.uniform().cdf).pvalue > ALPHA


def test_draws_without_replacement_do_not_repeat() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4], "f4")
    for given in (None, p):
        drawn = jax.random.choice(jax.random.key(2), 4, (4,), replace=False, p=given)
        assert sorted(map(int, drawn)) == [0, 1, 2, 3]


def test_independent_orders_of_rows_are_equally_likely_together() -> None:
    """Two rows of three have 36 pairs of orders."""
    rows = np.arange(6).reshape(2, 3)
    keys = jax.random.split(jax.random.key(6), N)
    draw = jax.vmap(lambda key: jax.random.permutation(key, rows, axis=1, independent=True))
    pairs, counts = np.unique(np.asarray(draw(keys)), axis=0, return_counts=True)
    assert (np.sort(pairs, axis=2) == rows).all()
    assert counts.size == 36
    assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize("p", [None, (0.1, 0.2, 0.3, 0.4)], ids=["uniform", "weighted"])
@pytest.mark.parametrize("name", ["choice", "categorical"])
def test_pairs_without_replacement_follow_their_probabilities(name: str, p: tuple | None) -> None:
    """The second one follows the probabilities of those that are left."""
    law = np.array(p or [0.25] * 4)

    def pair(key: jax.Array) -> jax.Array:
        """Draw two of four."""
        if name == "choice":
            return jax.random.choice(key, 4, (2,), replace=False, p=p and law.astype("f4"))
        return jax.random.categorical(key, np.log(law).astype("f4"), shape=(2,), replace=False)

    drawn = np.asarray(jax.vmap(pair)(jax.random.split(jax.random.key(7), N)))
    observed = np.zeros((4, 4))
    np.add.at(observed, (drawn[:, 0], drawn[:, 1]), 1)
    expected = N * law[:, None] * law / (1 - law[:, None])
    different = ~np.eye(4, dtype=bool)
    assert observed[~different].sum() == 0
    assert stats.chisquare(observed[different], expected[different]).pvalue > ALPHA


def test_parameters_of_a_wider_dtype_widen_weibull_and_maxwell_numbers() -> None:
    wide, narrow = np.array([2.0], "float32"), "float16"
    random, key = jax.random, jax.random.key(0)
    assert random.weibull_min(key, wide, 2.0, (3,), narrow).dtype == np.float32
    assert random.weibull_min(key, 1.0, 2.0, (3,), narrow).dtype == np.float16
    found = random.double_sided_maxwell(key, wide, 1.0, (2, 3), narrow)
    assert (found.dtype, found.shape) == (np.float32, (2, 3, 1))
    bare = random.double_sided_maxwell(key, np.zeros(3, "float32"), 1.0)
    full = random.double_sided_maxwell(key, np.zeros(3, "float32"), 1.0, (3,))
    np.testing.assert_array_equal(bare, full)
