"""Depth: programs within programs are traced and compiled with Python's usual bound."""

from __future__ import annotations

import sys
import threading

import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.util.depth import deeply, nested


def chain(n_levels):
    """Return a function whose compiled form calls another one, and so on."""

    def around(inner, level):
        return jax.jit(lambda x: inner(x) + level)

    f = jax.jit(lambda x: x * 2)
    for level in range(n_levels):
        f = around(f, level)
    return f


@pytest.mark.parametrize("n_levels", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_compiled_functions_call_each_other_deeply(n_levels):
    """A thousand calls within each other are traced, printed, lowered to text and compiled."""
    bound = sys.getrecursionlimit()
    f = chain(n_levels)
    assert f(1.0) == 2 + n_levels * (n_levels - 1) // 2
    traced = f.trace(1.0)
    assert str(traced.jaxpr).count("jit[") >= n_levels
    assert traced.lower().as_text().count("func.func") == n_levels + 1
    assert sys.getrecursionlimit() == bound


def test_a_function_that_calls_itself_ends():
    """Room is bounded: a compiled function that calls itself for ever is an error."""
    bound = sys.getrecursionlimit()

    @jax.jit
    def f(x):
        return f(x) + 1

    with pytest.raises(RecursionError):
        f(1.0)
    assert sys.getrecursionlimit() == bound
    assert jax.jit(lambda x: x + 1)(1.0) == 2.0


def down(n):
    """Nest n calls."""
    return 0 if n == 0 else 1 + down(n - 1)


def test_a_call_that_meets_the_bound_is_made_again():
    """It is made once more, and not once for each caller that would."""
    calls = []

    def endless(n):
        calls.append(n)
        return deeply(endless, n + 1)

    assert deeply(down, 5000) == 5000
    with pytest.raises(RecursionError):
        deeply(endless, 0)
    assert len(calls) < 40_000
    with pytest.raises(ZeroDivisionError):
        deeply(lambda: 1 // 0)


def test_threads_raise_the_bound_in_any_order():
    """The bound is as before when all threads have left."""
    bound = sys.getrecursionlimit()
    first, second = threading.Event(), threading.Event()

    def levels(n, mine, other):
        if n:
            with nested():
                return levels(n - 1, mine, other)
        mine.set()
        return other.wait(10)

    thread = threading.Thread(target=levels, args=(100, first, second))
    thread.start()
    assert levels(50, second, first)
    thread.join()
    assert sys.getrecursionlimit() == bound


def nest(kind, n_levels):
    """Return a function with so many constructs of a kind within each other."""

    def f(x):
        inner = nest(kind, n_levels - 1)
        return KINDS[kind](inner, x)

    return f if n_levels else jnp.sin


def custom_forward(inner, x):
    """Call a function by a custom rule."""
    rule = jax.custom_jvp(inner)
    rule.defjvp(lambda xs, ts: (inner(*xs), jnp.cos(xs[0]) * ts[0]))
    return rule(x)


def custom_backward(inner, x):
    """Call a function by a custom rule for gradients."""
    rule = jax.custom_vjp(inner)
    rule.defvjp(lambda x: (inner(x), x), lambda x, ct: (jnp.cos(x) * ct,))
    return rule(x)


KINDS = {
    "cond": lambda inner, x: lax.cond(x.sum() > 0, inner, jnp.cos, x),
    "switch": lambda inner, x: lax.switch(x.sum().astype(int), [jnp.cos, jnp.cos, inner], x),
    "checkpoint": lambda inner, x: jax.checkpoint(inner)(x),
    "scan": lambda inner, x: lax.scan(lambda c, _: (inner(c), None), x, None, length=1)[0],
    "while": lambda inner, x: lax.while_loop(
        lambda c: c[0] < 1, lambda c: (c[0] + 1, inner(c[1])), (0, x)
    )[1],
    "fori": lambda inner, x: lax.fori_loop(0, 1, lambda _, c: inner(c), x),
    "map": lambda inner, x: lax.map(inner, x[None])[0],
    "custom_jvp": custom_forward,
    "custom_vjp": custom_backward,
}


@pytest.mark.parametrize("kind", KINDS)
def test_constructs_nest_deeply(kind):
    """A hundred and fifty levels are traced and printed at Python's usual bound."""
    bound = sys.getrecursionlimit()
    text = str(jax.make_jaxpr(nest(kind, 150))(jnp.ones(2)))
    assert text.count("sin ") == 1
    assert sys.getrecursionlimit() == bound


@pytest.mark.parametrize("kind", ["checkpoint", "custom_jvp", "custom_vjp"])
def test_what_nests_deeply_is_run_compiled_and_mapped(kind):
    """Values are those of what is within; a derivative goes through all levels, too."""
    f, x = nest(kind, 150), jnp.ones(2)
    assert jnp.allclose(jax.jit(f)(x), jnp.sin(x)) and jnp.allclose(f(x), jnp.sin(x))
    assert jnp.allclose(jax.vmap(f)(x[None])[0], jnp.sin(x))
    assert jnp.allclose(jax.grad(lambda x: f(x).sum())(x), jnp.cos(x))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "custom" not in kind])
def test_endless_nesting_is_an_error_that_says_so(kind):
    """The room is bounded."""
    with pytest.raises(RecursionError, match="functions that are traced call each other at most"):
        jax.make_jaxpr(nest(kind, 10**6))(jnp.ones(2))
