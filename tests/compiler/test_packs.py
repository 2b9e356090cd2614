"""Factors that a loop does not change are packed once, before it."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.fuse import plan_program

H = np.random.default_rng(0).normal(size=(32, 64)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(64, 64)).astype(np.float32) / 8


def steps(w, h, length=5):
    """Run a small recurrent network."""
    return jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), None), h, None, length)[0]


def names_of(f, *args) -> tuple[list[str], list[str]]:
    """Return the operations of a planned program, and those of its scan's body."""
    program = plan_program(jax.make_jaxpr(f)(*args).jaxpr, True).jaxpr
    (scan,) = [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]
    outside = [eqn.primitive.name for eqn in program.eqns]
    return outside, [eqn.primitive.name for eqn in scan.params["jaxpr"].eqns]


def expected(w, h, length=5):
    """Return what `steps` computes."""
    for _ in range(length):
        h = np.tanh(h @ w)
    return h


@pytest.mark.parametrize("flip", [False, True])
def test_weights_of_a_scan_are_packed_before_it(flip):
    def f(w, h):
        return steps(w.T if flip else w, h)

    outside, inside = names_of(f, W, H)
    assert outside.count("pack_panels") == 1
    assert "multiply_panels" in inside
    assert "dot_general" not in inside
    np.testing.assert_allclose(jax.jit(f)(W, H), expected(W.T if flip else W, H), atol=1e-5)


def test_one_factor_of_two_products_is_packed_once():
    def f(w, h):
        return jax.lax.scan(lambda h, _: (jnp.sin(h @ w) @ w, None), h, None, 4)[0]

    outside, inside = names_of(f, W, H)
    assert outside.count("pack_panels") == 1
    assert inside.count("multiply_panels") == 2
    h = H
    for _ in range(4):
        h = np.sin(h @ W) @ W
    np.testing.assert_allclose(jax.jit(f)(W, H), h, atol=1e-4)


def test_what_changes_in_the_loop_is_not_packed_before():
    def f(h, ws):
        return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), h, ws)[0]

    outside, inside = names_of(f, H, np.stack([W] * 5))
    assert "pack_panels" not in outside
    assert "dot_general" in inside


def test_gradients_of_a_loop_are_those_of_its_steps_written_out():
    def written_out(w, h):
        for _ in range(5):
            h = jnp.tanh(h @ w)
        return h

    got = jax.jit(jax.grad(lambda w: steps(w, H).sum()))(W)
    wanted = jax.jit(jax.grad(lambda w: written_out(w, H).sum()))(W)
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


def test_rows_of_a_choice_around_a_loop_are_still_told_apart():
    h = jnp.stack([H * (1 + 0.1 * i) for i in range(6)])
    flags = jnp.arange(6) % 3 == 0
    f = jax.vmap(lambda c, h: jax.lax.cond(c, lambda h: steps(W, h), lambda h: h, h))
    wanted = [expected(W, np.asarray(x)) if c else x for c, x in zip(flags, h, strict=True)]
    np.testing.assert_allclose(jax.jit(f)(flags, h), np.stack(wanted), atol=1e-5)
