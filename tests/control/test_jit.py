"""The `jit` operation: every transformation of it is a compiled program again."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.jit import IN_PLACE, jit_p

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


def test_written_equations_come_from_the_caller_or_from_where_they_did():
    inner = jax.make_jaxpr(lambda x: lax.sin(x))(1.0)

    def run(x, inline):
        with jax.named_scope("outside"):
            return jit_p.bind(x, name="inner", jaxpr=inner, inline=inline)

    for inline, function in ((IN_PLACE, "<lambda>"), (True, "run")):
        (eqn,) = jax.make_jaxpr(run, static_argnums=1)(1.0, inline).eqns
        assert (eqn.source.frame.function, eqn.source.name_stack) == (function, "outside")


def test_written_equations_have_the_names_outside_and_inside():
    @jax.jit(inline="early")
    def inner(x):
        with jax.named_scope("inside"):
            y = jnp.sin(x)
        return jnp.cos(y)

    def run(x):
        with jax.named_scope("outside"):
            return inner(x)

    assert [eqn.source.name_stack for eqn in equations(run, X)] == ["outside/inside", "outside"]


def test_a_program_is_written_as_if_it_were_traced_there():
    """Literals are converted, what is captured comes in the order of its use, calls stay calls."""
    captured = [jnp.arange(3.0), jnp.arange(3.0) + 1]

    def body(x, y):
        z = lax.convert_element_type(y, jnp.float32) * captured[1]
        return jax.jit(jnp.sin)(x) + captured[0] * z, y, 2.0, x

    written = jax.jit(body, inline="early")
    for y in (3, jnp.int32(3)):
        expected, found = jax.make_jaxpr(body)(X, y), jax.make_jaxpr(written)(X, y)
        assert str(found) == str(expected)
        first, second = (jax.make_jaxpr(lambda x, f=f, y=y: f(x, y))(X) for f in (body, written))
        assert str(second) == str(first)


def test_a_program_may_be_written_twice():
    @jax.jit(inline="early")
    def double(x):
        return x * 2

    assert len(equations(lambda x: double(double(x)), X)) == 2
    np.testing.assert_array_equal(jax.jit(lambda x: double(double(x)))(X), 4 * X)
