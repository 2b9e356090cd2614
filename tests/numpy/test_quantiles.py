"""Quantiles and medians are NumPy's."""

import numpy as np
import pytest

import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(4, 5, 3)
WITH_NAN = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X).astype(np.float32)
METHODS = ["linear", "lower", "higher", "midpoint", "inverted_cdf"]


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("method", METHODS)
def test_quantile(method, axis):
    for q, keepdims in ((0.3, False), (np.array([0, 0.25, 0.5, 1], np.float32), True)):
        options = {"axis": axis, "method": method, "keepdims": keepdims}
        check("quantile", X, q, **options)
        check("nanquantile", WITH_NAN, q, **options)


def test_one_nan_makes_a_line_nan():
    check("quantile", WITH_NAN, 0.5, axis=0)
    check("median", WITH_NAN, axis=1)


def test_nearest_takes_the_lower_of_two_at_one_distance():
    assert jnp.quantile(jnp.array([1.0, 2.0]), 0.5, method="nearest") == 1.0
    assert jnp.quantile(jnp.array([1.0, 2.0]), 0.6, method="nearest") == 2.0


def test_weighted_quantile():
    weights = np.array([0.1, 0.5, 1.0, 0.3], np.float32)
    for q in (0.3, np.array([0.1, 0.25, 0.8], np.float32)):
        check("quantile", X, q, axis=0, weights=weights, method="inverted_cdf")
    with pytest.raises(NotImplementedError, match="linear doesn't support weights"):
        jnp.quantile(X, 0.5, axis=0, weights=weights)


def test_percentiles_and_medians():
    check("percentile", X, 30, axis=1)
    check("nanpercentile", WITH_NAN, 30, axis=1)
    check("median", X, axis=(0, 1))
    check("nanmedian", WITH_NAN, axis=1, keepdims=True)
    check("median", np.arange(5))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "median", "nanmedian"])
def test_floats_that_do_not_promote_keep_their_dtype(name, dtype):
    x, fractions = jnp.arange(4).astype(dtype), np.float32([0.5, 1.0])
    median = name.endswith("median")
    found = getattr(jnp, name)(x) if median else getattr(jnp, name)(x, fractions)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype("float32"), 1.5 if median else [1.5, 3])


def test_minmax():
    low, high = jnp.minmax(X, axis=1)
    np.testing.assert_array_equal((low, high), (X.min(1), X.max(1)))
    assert [int(each) for each in jnp.minmax(jnp.array([3, 4]), initial=(0, 9))] == [0, 9]


@pytest.mark.parametrize(
    ("q", "options", "message"),
    [
        (0.5, {"method": "x"}, "method can only be"),
        (np.zeros((2, 2)), {}, "q must be have rank <= 1"),
        (0.5, {"overwrite_input": True}, "does not support overwrite_input"),
    ],
)
def test_wrong_calls(q, options, message):
    with pytest.raises(ValueError, match=message):
        jnp.quantile(X, q, **options)


@pytest.mark.parametrize("name", ["nanquantile", "nanpercentile", "nanmedian"])
def test_of_nothing_there_is_no_quantile_but_nan(name):
    x = np.zeros((3, 0), np.float32)
    q = () if name == "nanmedian" else (np.array([0.2, 0.5], np.float32),)
    leading = (2,) * len(q)
    function = getattr(jnp, name)
    for axis, keepdims, shape in [(1, False, (3,)), (1, True, (3, 1)), (None, False, ())]:
        found = function(x, *q, axis=axis, keepdims=keepdims)
        assert found.shape == leading + shape
        assert np.isnan(found).all()
    error, text = TypeError, "at least one element along the reduced axes"
    if name == "nanmedian":
        error, text = ValueError, "median reduction axis must be non-empty"
    with pytest.raises(error, match=text):
        getattr(jnp, name.removeprefix("nan"))(x, *q, axis=1)


def test_of_nothing_no_quantiles_can_be_asked_for():
    x, q = np.zeros((3, 0), np.float32), np.zeros(0, np.float32)
    assert jnp.quantile(x, q, axis=1, keepdims=True).shape == (0, 3, 1)


def test_weights_promote_values():
    x, weights = np.array([1, 2, 3], np.float16), np.array([1, 2, 1], np.float32)
    found = jnp.quantile(x, 0.5, method="inverted_cdf", weights=weights)
    assert found.dtype == np.float32
    assert found == 2
