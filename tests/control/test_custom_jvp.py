"""The `custom_jvp_call` operation under every transformation."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


@jax.custom_jvp
def f(x):
    """Return sin x, with a derivative that is 10 times too steep."""
    return jnp.sin(x)


@f.defjvp
def f_jvp(primals, tangents):
    """Return the wrong derivative on purpose."""
    return f(*primals), 10 * jnp.cos(primals[0]) * tangents[0]


SLOPE = 10 * np.cos(0.5)
ROWS = np.array([0.5, 1.0], np.float32)


def test_the_rule_is_used_in_both_modes_and_under_jit():
    for g in (f, jax.jit(f), jax.checkpoint(f)):
        np.testing.assert_allclose(SLOPE, jax.grad(g)(0.5), rtol=1e-6)
        np.testing.assert_allclose(SLOPE, jax.jvp(g, (0.5,), (1.0,))[1], rtol=1e-6)
        np.testing.assert_allclose(SLOPE, jax.jit(jax.grad(g))(0.5), rtol=1e-6)


def test_the_rule_is_mapped():
    np.testing.assert_allclose(10 * np.cos(ROWS), jax.vmap(jax.grad(f))(ROWS), rtol=1e-6)
    total = lambda x: jnp.sum(jax.vmap(f)(x))  # noqa: E731
    np.testing.assert_allclose(10 * np.cos(ROWS), jax.grad(total)(ROWS), rtol=1e-6)


def test_the_rule_is_used_inside_loops():
    chain = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]  # noqa: E731
    wanted = 100 * np.cos(0.5) * np.cos(np.sin(0.5))
    np.testing.assert_allclose(wanted, jax.grad(chain)(0.5), rtol=1e-6)


def test_the_rule_itself_is_differentiated():
    np.testing.assert_allclose(-10 * np.sin(0.5), jax.grad(jax.grad(f))(0.5), rtol=1e-6)


def test_staging_writes_one_equation():
    (eqn,) = jax.make_jaxpr(f)(0.5).eqns
    assert eqn.primitive.name == "custom_jvp_call"
    assert eqn.params["name"] == "f"


def test_captured_values_are_operands_that_the_rule_does_not_see():
    def outer(w):
        """Capture an argument of a compiled function."""
        g = jax.custom_jvp(lambda x: x * w)
        g.defjvp(lambda p, t: (g(*p), 7.0 * t[0]))
        return jax.grad(g)(2.0)

    assert jax.jit(outer)(3.0) == 7.0
    np.testing.assert_array_equal([7.0, 7.0], jax.vmap(outer)(ROWS))
