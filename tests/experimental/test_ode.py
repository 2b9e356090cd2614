"""Initial value problems: against closed forms, SciPy and JAX; and their derivatives."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest
from scipy import integrate as scipy_integrate

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.experimental import ode
from tapeless.experimental.ode import odeint
from tests.support.against_numpy import normal, slope_error

T = np.linspace(0, 3, 5)
Y = np.array([1.0, 0.5])


@pytest.fixture(autouse=True)
def double() -> None:
    """Run in 64-bit mode."""
    with jax.enable_x64(True):
        yield


def oscillator(y, t, mu):
    """Van der Pol's equation, pushed."""
    return jnp.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0] + jnp.sin(t)])


def test_a_linear_problem_is_solved_as_by_its_matrix_exponential():
    matrix = normal(3, 3, dtype="float64")
    found = odeint(lambda y, t, a: a @ y, jnp.ones(3), T, matrix)
    expected = [jax.scipy.linalg.expm(matrix * t) @ np.ones(3) for t in T]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_values_are_scipys():
    def slope(y, t):
        return np.array([y[1], 1.5 * (1 - y[0] ** 2) * y[1] - y[0] + np.sin(t)])

    expected = scipy_integrate.odeint(slope, Y, T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(odeint(oscillator, Y, T, 1.5), expected, atol=1e-6)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_tolerances_bound_the_error(tolerance):
    found = odeint(lambda y, t: -y, jnp.ones(1), T, rtol=tolerance, atol=tolerance)[:, 0]
    error = np.abs(found - np.exp(-T)).max()
    assert error < 10 * tolerance


def test_options_limit_the_steps():
    def at_end(**options):
        return odeint(lambda y, t: jnp.cos(40 * t), jnp.zeros(()), T, **options)[-1]

    exact = np.sin(120) / 40
    assert abs(at_end(hmax=0.01, rtol=1e3, atol=1e3) - exact) < 1e-6
    assert abs(at_end(rtol=1e3, atol=1e3) - exact) > 1e-6
    assert abs(at_end(mxstep=2) - exact) > 1e-6


def test_trees_one_time_and_single_precision():
    start = {"x": jnp.ones((2, 2)), "v": jnp.zeros(())}
    found = odeint(lambda y, t: {"x": -y["x"], "v": y["x"].sum()}, start, T)
    assert found["x"].shape == (5, 2, 2)
    np.testing.assert_allclose(found["v"], 4 * (1 - np.exp(-T)), atol=1e-6)
    np.testing.assert_array_equal(odeint(lambda y, t: y, Y, T[:1]), Y[None])
    single = odeint(lambda y, t: -y, np.ones(1, "float32"), T.astype("float32"), rtol=1e-5)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[:, 0], np.exp(-T), rtol=1e-4)


def test_gradients_match_differences():
    def total(y, t, mu):
        return odeint(oscillator, y, t, mu, rtol=1e-10, atol=1e-10) ** 2

    assert slope_error(total, Y, T, np.array(1.5), step=1e-4) < 1e-5


def test_gradients_by_what_the_function_closes_over_and_beside_integers():
    def end(rate, power):
        return odeint(lambda y, t, n: -rate * y**n, jnp.ones(()), T, power)[-1]

    found = jax.jit(jax.grad(end), static_argnums=1)(0.5, 2)
    # y = 1 / (1 + rate t)
    np.testing.assert_allclose(found, -3 / (1 + 0.5 * 3) ** 2, rtol=1e-5)


def test_complex_problems_turn():
    found = odeint(lambda y, t: 1j * y, jnp.ones(1, complex), T)[:, 0]
    np.testing.assert_allclose(found, np.exp(1j * T), atol=1e-6)


def test_a_batch_is_a_loop():
    starts = normal(3, 2, dtype="float64")
    found = jax.vmap(lambda y: odeint(oscillator, y, T, 1.0))(starts)
    expected = [odeint(oscillator, y, T, 1.0) for y in starts]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: odeint(oscillator, Y, T, "a"), TypeError, "must be arrays or scalars"),
    (lambda: odeint(oscillator, Y, np.arange(3), 1.0), TypeError, "floating dtype, got int64"),
    (lambda: odeint(oscillator, Y, 1.0, 1.0), ValueError, r"got shape \(\)"),
])  # fmt: skip
def test_wrong_arguments_are_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX's module of the same name."""
    return importlib.import_module("jax.experimental.ode")


@pytest.mark.oracle
def test_parts_of_a_step_are_jaxs(oracle):
    theirs = importlib.import_module("jax")

    def slope(y, t):
        return -y * t + 1

    with theirs.enable_x64(True):
        k = normal(7, 2, dtype="float64")
        calls = [
            ("fit_4th_order_polynomial", (Y, 2 * Y, 3 * Y, 0.1 * Y, 0.2 * Y, np.float64(0.3))),
            ("interp_fit_dopri", (Y, 2 * Y, k, np.float64(0.3))),
            ("initial_step_size", (slope, 0.1, Y, 4, 1e-6, 1e-6, slope(Y, 0.1))),
            ("runge_kutta_step", (slope, Y, slope(Y, 0.1), np.float64(0.1), np.float64(0.2))),
            ("mean_error_ratio", (1e-3 * Y, 1e-3, 1e-3, Y, 2 * Y)),
            *[("optimal_step_size", (0.3, np.float64(r))) for r in (0.001, 0.5, 1, 2, 1e6)],
            ("abs2", (Y + 1j,)),
        ]
        for name, arguments in calls:
            expected = theirs.tree.leaves(getattr(oracle, name)(*arguments))
            found = jax.tree.leaves(getattr(ode, name)(*arguments))
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.oracle
def test_gradients_are_jaxs(oracle):
    theirs = importlib.import_module("jax")

    def gradients(system, module):
        numpy = system.numpy

        def slope(y, t, mu):
            return numpy.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

        return system.grad(lambda y, t: (module.odeint(slope, y, t, 1.5) ** 2).sum(), (0, 1))(Y, T)

    with theirs.enable_x64(True):
        for x, y in zip(gradients(jax, ode), gradients(theirs, oracle), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
