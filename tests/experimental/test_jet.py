"""Higher derivatives along curves: of closed forms, by nested differentiation, and JAX's."""

from __future__ import annotations

import importlib
import math
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.experimental.jet import fact, jet
from tests.parity.expressions import check_error_class, check_value
from tests.support.against_numpy import normal


def test_the_exponential_is_its_own_series():
    value, terms = jet(jnp.exp, (0.3,), ([1.0, 0, 0, 0, 0],))
    np.testing.assert_allclose([value, *terms], math.exp(0.3), rtol=1e-5)
    _, scaled = jet(jnp.exp, (0.3,), ([1.0, 0, 0],), factorial_scaled=False)
    np.testing.assert_allclose(scaled, math.exp(0.3) / np.array([1, 2, 6]), rtol=1e-5)


def test_a_polynomial_along_a_curve():
    """(1 + t + t^2)^3 has the derivatives 3, 12, 42, 144 at 0."""
    value, terms = jet(lambda x: x**3, (1.0,), ([1.0, 2.0, 0.0, 0.0],))
    np.testing.assert_allclose([value, *terms], [1, 3, 12, 42, 144], rtol=1e-5)


@pytest.mark.parametrize("function", [
    lambda x: jnp.tanh(x).sum(), lambda x: jnp.linalg.slogdet(x @ x.T + jnp.eye(3))[1],
    lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 3)[0].sum(),
])  # fmt: skip
def test_terms_are_those_of_nested_derivatives(function):
    with jax.enable_x64(True):
        x, v, w = (normal(3, 3, dtype="float64", seed=seed) for seed in range(3))

        def along(t):
            return function(x + t * v + t * t * w / 2)

        expected = [along(0.0), jax.grad(along)(0.0), jax.grad(jax.grad(along))(0.0)]
        value, terms = jet(function, (x,), ([v, w],))
    np.testing.assert_allclose([value, *terms], expected, rtol=1e-9)


def test_trees_of_results_and_programs():
    def call(x, y):
        return jet(lambda x, y: {"p": x * y, "q": [jnp.floor(x)]}, (x, y), ([1.0, 2.0], [3.0, 4.0]))

    value, terms = jax.jit(call)(0.5, 2.0)
    np.testing.assert_allclose([value["p"], *terms["p"]], [1.0, 3.5, 12.0])
    np.testing.assert_allclose(terms["q"][0], [0, 0])
    rows = jax.vmap(lambda x: call(x, 1.0)[1]["p"][0])(jnp.arange(3.0))
    np.testing.assert_allclose(rows, [1, 4, 7])


def test_results_without_derivatives_have_none():
    _, terms = jet(lambda x: x.astype(int), (2.5,), ([1.0, 2.0],))
    np.testing.assert_array_equal(terms, [0, 0])
    assert jet(jnp.sin, (0.5,), ([],))[1] == []


def test_factorials():
    np.testing.assert_allclose(fact(np.arange(6)), [1, 1, 2, 6, 24, 120], rtol=1e-5)


NAMES = {"x": normal(3), "y": normal(3, seed=1)}
J = "jax.experimental.jet.jet"
VALUES = [
    f"{J}(jnp.sin, (0.5,), ([1.0, 2.0, 3.0],))",
    f"{J}(jnp.sin, (x,), ([x, y, x],))",
    f"{J}(jnp.sin, (1,), ([1, 1],))",
    f"{J}(lambda x, y: x * y, (0.5, 2.0), ([1.0, 2.0], [1.0, 1.0]))[1]",
    f"{J}(lambda x: jnp.where(x > 0, x**3, x), (x,), ([x, y, x],), factorial_scaled=False)",
    f"{J}(jnp.abs, (x,), ([x, y],))",
    f"{J}(lambda x: x @ x, (x,), ([y, x],))",
    f"{J}(jnp.sin, (0.5,), ([1.0, 2.0], [1.0]))",
]
ERRORS = [
    f"{J}(jnp.sin, ({{'a': 1.0}},), ([1.0],))",
    f"{J}(jnp.sin, (x,), ([x, y[:2]],))",
    f"{J}(jnp.sin, 0.5, ([1.0],))",
    f"{J}(lambda x, y: x, (0.5, 1.0), ([1.0, 2.0],))",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    importlib.import_module("jax.experimental.jet")
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES, tolerance=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)
