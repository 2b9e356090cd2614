"""Depth: programs within programs are traced and compiled with Python's usual bound."""

from __future__ import annotations

import sys
import threading

import pytest

import tapeless as jax
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
