"""Roots that a user's solver finds."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


def newton(f, x):
    """Take 20 Newton steps."""

    def step(state):
        """Take one."""
        i, x = state
        value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
        return i + 1, x - value / slope

    return lax.while_loop(lambda s: s[0] < 20, step, (0, x))[1]


def divide(g, y):
    """Solve g(x) = y for a linear g of one number."""
    return y / g(jnp.ones_like(y))


def root(a):
    """Return the square root of a."""
    return lax.custom_root(lambda x: x * x - a, jnp.ones_like(a), newton, divide)


def test_derivatives_of_every_order_are_those_of_the_root():
    a = jnp.float32(2)
    wanted = [2**0.5, 0.5 * 2**-0.5, -0.25 * 2**-1.5, 0.375 * 2**-2.5]
    found = [f(a) for f in (root, jax.grad(root), jax.grad(jax.grad(root)))]
    found.append(jax.grad(jax.grad(jax.grad(root)))(a))
    np.testing.assert_allclose(wanted, found, rtol=1e-5)


def test_both_modes_agree_under_jit_and_vmap():
    rows = np.array([1.0, 2.0, 3.0], np.float32)
    wanted = 0.5 / np.sqrt(rows)
    np.testing.assert_allclose(wanted, jax.jit(jax.vmap(jax.grad(root)))(rows), rtol=1e-6)
    pushed = jax.vmap(lambda a: jax.jvp(root, (a,), (1.0,))[1])(rows)
    np.testing.assert_allclose(wanted, pushed, rtol=1e-6)


def test_the_guess_has_no_derivative():
    f = lambda guess: lax.custom_root(lambda x: x * x - 2.0, guess, newton, divide)  # noqa: E731
    assert jax.grad(f)(1.0) == 0.0


def test_solvers_may_return_more():
    more = lambda f, x: (newton(f, x), 20)  # noqa: E731
    f = lambda a: lax.custom_root(lambda x: x * x - a, 1.0, more, divide, has_aux=True)  # noqa: E731
    value, steps = f(4.0)
    np.testing.assert_allclose([2.0, 20], [value, steps])
    np.testing.assert_allclose(0.25, jax.grad(lambda a: f(a)[0])(4.0), rtol=1e-6)


def test_trees_are_checked():
    with pytest.raises(TypeError, match=r"^f\(\) output pytree structure must match initial_guess"):
        lax.custom_root(lambda x: (x, x), 1.0, newton, divide)
    with pytest.raises(TypeError, match=r"^solve\(\) output pytree structure must match"):
        lax.custom_root(lambda x: x, 1.0, lambda f, x: (x, x), divide)


def test_a_solver_with_has_aux_returns_a_pair():
    with pytest.raises(ValueError, match=r"structure PyTreeDef\(\*\), but .* has_aux was set"):
        lax.custom_root(lambda x: x, 1.0, lambda f, x: x, lambda g, y: y, has_aux=True)


def test_the_solver_of_the_linear_system_is_checked_when_the_root_is_found():
    with pytest.raises(TypeError, match=r"tangent_solve\(\) output pytree structure must match x"):
        lax.custom_root(lambda x: x * x - 2.0, 1.0, newton, lambda g, y: (y, y))
