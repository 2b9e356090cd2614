"""Minima: where SciPy finds them, by the steps that JAX takes."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.scipy.optimize import OptimizeResults, minimize
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("function", [rosenbrock, himmelblau, matyas, lambda x: jnp.cosh(x).sum()])
def test_minima_are_scipys(function, n):
    n = 2 if function in (himmelblau, matyas) else n
    start = np.linspace(-0.7, 0.9, n) if n > 1 else np.array([0.8])
    with jax.enable_x64(True):
        expected = scipy_optimize.minimize(lambda x: float(function(x)), start, method="BFGS")
        found = minimize(function, start, method="BFGS")
        assert found.success
        np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
        assert np.abs(found.jac).max() < 1e-5


def test_single_precision_reaches_the_minimum_too():
    found = minimize(rosenbrock, jnp.zeros(2), method="BFGS")
    assert found.success
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


def test_the_inverse_of_second_derivatives_of_a_quadratic_is_found():
    matrix = np.array([[3, 1, 0], [1, 2, 0.5], [0, 0.5, 1]])
    with jax.enable_x64(True):
        found = minimize(lambda x: x @ matrix @ x / 2, np.ones(3), method="BFGS", tol=1e-10)
    np.testing.assert_allclose(found.hess_inv, np.linalg.inv(matrix), rtol=0.05, atol=0.02)


def test_options():
    def quartic(x):
        return ((x - 1) ** 4).sum()

    loose = minimize(quartic, jnp.zeros(3), method="BFGS", options={"gtol": 0.1, "norm": 2})
    assert loose.success
    assert 1e-3 < np.linalg.norm(loose.jac) < 0.1
    short = minimize(quartic, jnp.zeros(3), method="BFGS", options={"maxiter": 1})
    assert (bool(short.success), int(short.status), int(short.nit)) == (False, 1, 1)
    few = minimize(quartic, jnp.zeros(3), method="BFGS", options={"line_search_maxiter": 2})
    assert few.success


def test_without_a_minimum_it_stops_and_says_so():
    found = minimize(lambda x: x.sum(), jnp.zeros(3), method="BFGS")
    assert not found.success
    assert int(found.status) == 5
    np.testing.assert_array_equal(found.x, 0)


def test_it_compiles_and_is_mapped():
    def minimum(centre):
        return minimize(lambda x, c: ((x - c) ** 2).sum(), jnp.zeros(2), (centre,), method="BFGS").x

    centres = np.array([[1, 2], [3, -4], [0, 0]], "float32")
    np.testing.assert_allclose(jax.jit(jax.vmap(minimum))(centres), centres, atol=1e-4)


def test_forward_derivative_of_a_minimum():
    def minimum(c):
        return minimize(lambda x: jnp.cosh(x - c).sum(), jnp.zeros(1), method="BFGS").x[0]

    with jax.enable_x64(True):
        value, slope = jax.jvp(minimum, (0.5,), (1.0,))
    np.testing.assert_allclose([value, slope], [0.5, 1.0], atol=1e-4)


Q = "lambda x: ((x - 1) ** 4).sum()"
VALUES = [
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3), method='BFGS', options=dict(maxiter=3))",
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3), method='bfgs', options=dict(gtol=0.1))",
    "jax.scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), jnp.zeros(3), method='BFGS')",
    "jax.scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), np.ones(3), method='BFGS')",
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3), [2.0], method='BFGS')",
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3), method='CG')",
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3))",
]
ERRORS = [
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros((3, 1)), method='BFGS')",
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3, int), method='BFGS')",
    f"jax.scipy.optimize.minimize({Q}, jnp.zeros(3), method='BFGS', options=dict(fancy=1))",
    "jax.scipy.optimize.minimize(lambda x: x, jnp.zeros(3), method='BFGS')",
    "jax.scipy.optimize.minimize(lambda x: x.sum() * 1j, jnp.zeros(3), method='BFGS')",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, {}, tolerance=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, {})


@pytest.mark.oracle
def test_results_have_jaxs_fields(oracle):
    assert OptimizeResults._fields == oracle.scipy.optimize.OptimizeResults._fields
