"""The `remat2` operation: what a checkpoint stores, and what it computes again."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import checkpoint_policies as policies
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.ad_checkpoint import checkpoint_name
from tapeless.control.remat import saveable
from tapeless.experimental import io_callback

X = np.array([0.1, 0.2, 0.3], np.float32)
W = np.eye(3, dtype=np.float32)


def layer(w, x):
    """Return a scalar by way of a product, a named value and two sines."""
    return jnp.sum(jnp.sin(checkpoint_name(jnp.sin(w @ x), "hidden")))


def parts(policy=None):
    """Return the names in the backward copy, and the number of values stored for it."""
    f = jax.checkpoint(layer, policy=policy)
    (eqn,) = [e for e in jax.make_jaxpr(jax.grad(f))(W, X).eqns if e.primitive.name == "remat2"]
    assert eqn.params["differentiated"]
    return [e.primitive.name for e in eqn.params["jaxpr"].eqns], len(eqn.invars)


def test_without_a_policy_everything_is_computed_again():
    names, n_stored = parts()
    assert names.count("sin") == 1
    assert names.count("dot_general") == 2
    assert n_stored == 3


def test_a_policy_starts_the_backward_copy_from_what_it_stores():
    assert parts(policies.dots_saveable)[0].count("dot_general") == 1
    names, _ = parts(policies.save_only_these_names("hidden"))
    assert "sin" not in names
    assert parts(policies.everything_saveable)[0].count("dot_general") == 1


def test_the_gradient_is_the_same():
    for policy in (None, policies.dots_saveable, policies.everything_saveable):
        found = jax.grad(jax.checkpoint(layer, policy=policy))(W, X)
        np.testing.assert_allclose(jax.grad(layer)(W, X), found, rtol=1e-6)


def test_it_is_mapped_and_pushed_forward():
    f = jax.checkpoint(layer)
    tangent = jax.jvp(lambda x: f(W, x), (X,), (X,))[1]
    np.testing.assert_allclose(jax.jvp(lambda x: layer(W, x), (X,), (X,))[1], tangent, rtol=1e-6)
    rows = np.stack([X, -X])
    mapped = jax.vmap(jax.grad(f), (None, 0))(W, rows)
    np.testing.assert_allclose(jax.vmap(jax.grad(layer), (None, 0))(W, rows), mapped, rtol=1e-6)


def test_a_loop_of_checkpointed_steps_stores_about_its_carries():
    def run(body, x):
        """Run 200 steps of 16 sines."""
        return jnp.sum(lax.scan(lambda c, _: (body(c), None), x, None, length=200)[0])

    def body(c):
        """Make a step of many intermediates."""
        for _ in range(16):
            c = jnp.sin(c) * c + 1
        return c

    x = np.ones(100, np.float32)

    def temporaries(body):
        """Return the bytes that the compiled gradient needs."""
        compiled = jax.jit(jax.grad(lambda x: run(body, x))).lower(x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    carries = 200 * 100 * 4
    assert temporaries(jax.checkpoint(body)) < 1.3 * carries
    assert temporaries(body) > 10 * carries


def test_prints_are_repeated_and_other_effects_refused(capsys):
    def f(x):
        """Print."""
        jax.debug.print("at {}", x)
        return jnp.sin(x)

    jax.grad(jax.checkpoint(f))(1.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "at 1.0\nat 1.0\n"
    spec = jax.ShapeDtypeStruct((), np.float32)
    g = lambda x: x * io_callback(lambda: np.float32(1), spec)  # noqa: E731
    with pytest.raises(NotImplementedError, match="Effects not supported in AD of `checkpoint`"):
        jax.grad(jax.checkpoint(g))(1.0)


def test_policies_are_asked_about_each_equation():
    jaxpr = jax.make_jaxpr(layer)(W, X)
    named = saveable(jaxpr, policies.save_only_these_names("hidden"))
    assert named == [eqn.outvars[0] for eqn in jaxpr.eqns if eqn.primitive.name == "name"]
    assert saveable(jaxpr, None) == []


def test_halves_of_a_checkpoint_share_what_they_capture():
    """The value and the tangent are rows in another order, by the same captured positions."""

    def turned(x):
        """Multiply each row by the one before it."""
        row = lambda a: lax.ppermute(a, "rows", [(0, 1), (1, 2), (2, 0)]) * a  # noqa: E731
        return jax.vmap(row, axis_name="rows")(x)

    @jax.custom_jvp
    def function(x):
        return turned(x)

    function.defjvp(lambda primals, tangents: jax.jvp(turned, primals, tangents))
    loss = lambda x: jnp.sum(function(x))  # noqa: E731
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.jit(jax.grad(jax.checkpoint(loss)))(x), jax.grad(loss)(x))
