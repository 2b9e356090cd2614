"""Covariances and convolutions of sequences are NumPy's."""

import numpy as np
import pytest

import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(4, 20)
Z = normal(4, 20, dtype="complex64")
COUNTS = np.arange(20)
WEIGHTS = np.abs(normal(20, seed=3))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ddof": 0},
        {"bias": True},
        {"aweights": WEIGHTS},
        {"fweights": COUNTS, "aweights": WEIGHTS},
        {"fweights": COUNTS, "bias": True},
    ],
)
def test_cov(options):
    check("cov", X, **options)


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_forms_of_operands(name):
    check(name, Z)
    check(name, X[0])
    check(name, X[0], X[1])
    check(name, X.T, rowvar=False)


def test_wrong_weights():
    with pytest.raises(TypeError, match="fweights must be integer"):
        jnp.cov(X, fweights=WEIGHTS)
    with pytest.raises(RuntimeError, match="incompatible numbers of samples"):
        jnp.cov(X, aweights=WEIGHTS[:3])


PAIRS = [(X[0], X[1, :3]), (X[0, :4], X[1]), (Z[0], Z[1, :5]), (Z[0, :2], X[1])]


@pytest.mark.parametrize("pair", range(len(PAIRS)))
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_sequences(name, mode, pair):
    check(name, *PAIRS[pair], mode=mode, tolerance=1e-4)


def test_wrong_sequences():
    with pytest.raises(ValueError, match="only support 1-dimensional inputs"):
        jnp.convolve(X, X[0])
    with pytest.raises(ValueError, match="inputs cannot be empty"):
        jnp.convolve(X[0], jnp.ones(0))
    with pytest.raises(ValueError, match="mode must be one of"):
        jnp.correlate(X[0], X[1], mode="wide")


def test_cov_of_no_observations_is_nan():
    assert np.isnan(jnp.cov(np.zeros((3, 0), np.float32))).all()
