"""Histograms and counts are NumPy's."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X, Y = normal(20), normal(20, seed=1)
WEIGHTS = np.abs(normal(20, seed=2))
BINS = [5, np.array([-1, 0, 0.5, 2], np.float32)]


@pytest.mark.parametrize("options", [{}, {"minlength": 6}, {"weights": np.array([0.5, 1, 2, 3])}])
def test_bincount(options):
    check("bincount", np.array([1, 0, 3, 1]), **options)


def test_integers_beyond_the_length_are_not_counted_and_no_fault_of_an_index():
    with jax.checks(index=True):
        np.testing.assert_array_equal(jnp.bincount(jnp.array([0, 9, 2]), length=3), [1, 0, 1])


def test_bincount_of_traced_integers_needs_a_length():
    x = jnp.array([1, 0, 3, 1])
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.bincount(x, length=3))(x), [1, 2, 0])
    with pytest.raises(jax.errors.ConcretizationTypeError, match="pass a static `length`"):
        jax.jit(jnp.bincount)(x)
    with pytest.raises(TypeError, match="must have an integer type"):
        jnp.bincount(jnp.ones(3))


@pytest.mark.parametrize("bins", BINS, ids=["number", "edges"])
def test_histogram(bins):
    check("histogram", X, bins)
    check("histogram", X, bins, weights=WEIGHTS)
    check("histogram", X, bins, density=True)
    check("histogram", X, bins, range=(-1, 1))


def test_elements_on_edges_belong_to_the_right_but_for_the_last():
    edges = jnp.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(jnp.histogram(jnp.array([0, 1, 2.0]), edges)[0], [1, 2])
    check("histogram_bin_edges", np.ones(3, np.float32))


@pytest.mark.parametrize("bins", [*BINS, [3, 4]], ids=["number", "edges", "pair"])
def test_histogram2d(bins):
    check("histogram2d", X, Y, bins)
    check("histogram2d", X, Y, bins, density=True, weights=WEIGHTS)


def test_histogramdd():
    points = np.stack([X, Y, X * Y], 1)
    check("histogramdd", points, [2, 3, 4])
    check("histogramdd", points, 2, range=[(-1, 1), (-2, 2), (0, 1)])
    with pytest.raises(ValueError, match="should be a bin for each dimension"):
        jnp.histogramdd(points, [2, 3])


def test_weights_have_the_shape_of_what_is_counted():
    with pytest.raises(ValueError, match=r"\(4,\) and x of shape \(3,\)"):
        jnp.bincount(jnp.arange(3), weights=jnp.ones(4))
