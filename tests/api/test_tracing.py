"""Looking at functions without running them."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


def test_types_of_results_need_no_values():
    spec = jax.ShapeDtypeStruct((1000, 1000000), np.float32)
    out = jax.eval_shape(lambda x: {"s": jnp.sum(x, 0), "n": 1}, spec)
    assert out["s"].shape == (1000000,)
    assert out["n"].weak_type
    with pytest.raises(TypeError, match="incompatible shapes"):
        jax.eval_shape(lambda x: x + jnp.ones(2), jax.ShapeDtypeStruct((3,), np.float32))


def test_a_program_has_its_types_and_its_result_a_tree():
    jaxpr, shape = jax.make_jaxpr(lambda d: {"y": d["x"] * 2}, return_shape=True)({"x": 3.0})
    assert [str(aval) for aval in jaxpr.in_avals] == ["~float32[]"]
    assert jax.tree.leaves(shape)[0].shape == ()
    assert set(shape) == {"y"}
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        jax.make_jaxpr(3)


def test_static_arguments_are_not_inputs():
    jaxpr = jax.make_jaxpr(lambda x, n: x * n, static_argnums=1)(2.0, 3)
    assert len(jaxpr.invars) == 1


def test_named_axes_may_be_assumed():
    jaxpr = jax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["psum"]


def test_tracing_a_function_inside_another_keeps_its_captures():
    def outer(x):
        """Look at a function that captures the argument."""
        inner = jax.make_jaxpr(lambda y: x * y)(1.0)
        assert len(inner.constvars) == 1
        return x

    assert jax.jit(outer)(2.0) == 2.0


def test_scopes_name_equations():
    def f(x):
        """Compute in two scopes."""
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return jnp.sin(x)

    (eqn,) = jax.make_jaxpr(f)(1.0).eqns
    assert eqn.source.names == ("outer", "inner")


def test_names_of_scopes_are_text():
    with pytest.raises(TypeError, match="must be text, but named_scope got 3"):
        jax.named_scope(3)


def test_a_scope_is_a_decorator():
    (eqn,) = jax.make_jaxpr(jax.named_scope("outer")(lambda x: jnp.sin(x)))(1.0).eqns
    assert eqn.source.names == ("outer",)


def test_a_named_call_is_a_scope():
    f = jax.named_call(functools.partial(jnp.sin), name="my_sine")
    (eqn,) = jax.make_jaxpr(f)(1.0).eqns
    assert eqn.source.names == ("my_sine",)

    def model(x):
        return jnp.sin(x)

    (eqn,) = jax.make_jaxpr(jax.named_call(model))(1.0).eqns
    assert eqn.source.names == ("model",)
