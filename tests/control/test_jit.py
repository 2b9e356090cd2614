"""The `jit` operation: every transformation of it is a compiled program again."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import numpy as jnp

X = np.array([0.1, 0.2, 0.3], np.float32)


def equations(f, *args):
    """Return the equations of the traced function."""
    return jax.make_jaxpr(f)(*args).eqns


def test_vmap_and_jvp_go_into_the_program():
    f = jax.jit(lambda x: jnp.sin(x) * 2)
    assert [eqn.primitive.name for eqn in equations(jax.vmap(f), X)] == ["jit"]
    tangent = equations(lambda x: jax.jvp(f, (x,), (x,)), X)
    assert [eqn.primitive.name for eqn in tangent] == ["jit"]


def test_reverse_mode_has_a_known_and_a_staged_program():
    f = jax.jit(lambda x: jnp.sum(jnp.sin(x)))
    names = [eqn.primitive.name for eqn in equations(jax.grad(f), X)]
    assert names == ["jit", "jit"]


def test_inputs_are_passed_on_and_not_returned_as_residuals():
    f = jax.jit(lambda x, y: x * y)
    known, _ = equations(lambda x, y: jax.vjp(f, x, y)[1](x), X, X)
    assert len(known.outvars) == 1


def test_unused_results_are_removed_from_the_program():
    f = jax.jit(lambda x: (jnp.sin(x), jnp.cos(x)))
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: jnp.sum(f(x)[0])))(X)
    assert "neg" not in str(jaxpr)


def test_captured_tracers_are_differentiated():
    def outer(w):
        """Compile a function that captures the argument."""
        return jnp.sum(jax.jit(lambda x: x * w)(X))

    np.testing.assert_allclose(X.sum(), jax.grad(outer)(2.0), rtol=1e-6)
    np.testing.assert_allclose(X.sum(), jax.jit(jax.grad(outer))(2.0), rtol=1e-6)


def test_an_inlined_function_leaves_no_equation():
    f = jax.jit(jnp.sin, inline="early")
    assert [eqn.primitive.name for eqn in equations(f, X)] == ["sin"]
