"""Vector quantisation, and the trapezoidal rule, as SciPy and JAX have them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless.scipy import integrate
from tapeless.scipy.cluster.vq import vq
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal, slope_error


@pytest.mark.parametrize(("m", "k"), [(5, 3), (1, 1), (4, 7)])
def test_codes_are_scipys(m, k):
    libraries.check("cluster.vq", "vq", normal(m, 3), normal(k, 3, seed=1))
    libraries.check("cluster.vq", "vq", normal(m), normal(k, seed=1), check_finite=False)


def test_gradients_of_distances_match_differences():
    with jax.enable_x64(True):
        x, codes = normal(4, 2, dtype="float64"), normal(3, 2, dtype="float64", seed=1)
        assert slope_error(lambda x, codes: vq(x, codes)[1], x, codes) < 1e-7


def test_a_batch_is_a_loop():
    x, codes = normal(2, 4, 3), normal(3, 3, seed=1)
    found = jax.jit(jax.vmap(lambda x: vq(x, codes)[0]))(x)
    np.testing.assert_array_equal(found, [vq(one, codes)[0] for one in x])


def test_integrals_are_scipys():
    libraries.check("integrate", "trapezoid", normal(3, 4), dx=0.5, axis=0)
    libraries.check("integrate", "trapezoid", normal(3, 4), x=np.array([0, 1, 3, 4.0]))
    assert integrate.trapezoid is jax.numpy.trapezoid


NAMES = {
    "x": normal(3, 4),
    "i": np.arange(12, dtype="int32").reshape(3, 4),
    "z": normal(3, 4, dtype="complex64"),
}
VALUES = [
    "jax.scipy.cluster.vq.vq(i, i[:2])",
    "jax.scipy.cluster.vq.vq(z, x[:2])",
    "jax.scipy.cluster.vq.vq(x[:0], x)",
    "jax.scipy.cluster.vq.vq(x.astype('float16'), x[1:].astype('float16'))",
    "jax.scipy.cluster.vq.vq(x[0], x)",
    "jax.scipy.cluster.vq.vq(2.0, 2.0)",
    "jax.scipy.cluster.vq.vq([1.0], x)",
    "jax.scipy.cluster.vq.vq(x, x[:0])",
    "jax.scipy.integrate.trapezoid(i)",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES, tolerance=2e-3)


@pytest.mark.oracle
def test_error_is_of_jaxs_class(oracle):
    check_error_class(jax, oracle, "jax.scipy.cluster.vq.vq(x, x[:, :2])", NAMES)
