"""Profiles see the calls that are made, and change none of their results."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.runtime.executable import watchers

X = np.ones((120, 120), np.float32)


def product(x):
    return jnp.sum(jnp.tanh(x @ x), axis=1)


def named(profile, name):
    """Return the program of this name."""
    (found,) = [program for program in profile.programs if program.name == name]
    return found


def test_calls_are_counted_and_divided_among_kernels():
    f = jax.jit(product)
    for _ in range(50):  # long enough for calls without Python code
        expected = f(X)
    start = time.perf_counter()
    with jax.profile() as p:
        for _ in range(4):
            found = f(X)
    spent = time.perf_counter() - start
    np.testing.assert_array_equal(found, expected)
    program = named(p, "product")
    assert program.calls == 4
    are_products = [("panels:" in kernel.text) for kernel in program.kernels]
    assert True in are_products
    assert not are_products[-1]
    assert all(kernel.seconds > 0 for kernel in program.kernels)
    assert 0 < program.seconds == p.seconds < spent


def test_nothing_is_seen_outside():
    f = jax.jit(product)
    f(X)
    with jax.profile() as p:
        f(X)
    f(X)
    assert named(p, "product").calls == 1
    assert not watchers


def test_calls_with_trees_and_keywords_are_seen():
    @jax.jit
    def scaled(tree, *, by):
        return jax.tree.map(lambda x: x * by, tree)

    tree = {"a": X, "b": (X, X)}
    for _ in range(50):
        scaled(tree, by=2.0)
    with jax.profile() as p:
        scaled(tree, by=3.0)
        out = scaled(tree, by=2.0)
    assert named(p, "scaled").calls == 2
    np.testing.assert_array_equal(out["b"][1], 2 * X)


def test_single_operations_are_seen_under_their_names():
    x = jnp.asarray(X)
    with jax.profile() as p:
        jnp.sin(x)
    (kernel,) = named(p, "sin").kernels
    assert "sin(" in kernel.head


def test_the_inner_profile_takes_what_runs_in_it():
    f = jax.jit(product)
    with jax.profile() as outer:
        f(X)
        with jax.profile() as inner:
            f(X)
            f(X)
        f(X)
    assert (named(outer, "product").calls, named(inner, "product").calls) == (2, 2)


def test_errors_end_a_profile():
    with pytest.raises(ZeroDivisionError), jax.profile():
        1 / 0  # noqa: B018
    assert not watchers


def test_donated_arguments_are_used_and_deleted():
    step = jax.jit(lambda x: x + 1.0, donate_argnums=0)
    x = jnp.array(X)
    with jax.profile() as p:
        out = step(x)
    assert named(p, "<lambda>").calls == 1
    assert x.is_deleted()
    np.testing.assert_array_equal(out, X + 1)


def test_captured_arrays_are_those_of_the_call():
    def times(matrix):
        """Return a compiled function that captures a matrix."""
        return jax.jit(lambda x: x @ matrix)

    with jax.profile():
        for scale in (1.0, 2.0):
            np.testing.assert_allclose(times(jnp.array(scale * X))(X), scale * (X @ X))


def test_threads_are_counted_together():
    f = jax.jit(product)
    expected = f(X)
    results = []
    with jax.profile() as p:
        threads = [threading.Thread(target=lambda: results.append(f(X))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert named(p, "product").calls == 4
    assert all(np.array_equal(x, expected) for x in results)


def test_a_table_is_printed(capsys):
    with jax.profile() as p:
        jax.jit(product)(X)
    p.show()
    printed = capsys.readouterr().out
    assert "product" in printed
    assert "panels:" in printed


def test_a_profile_says_its_sums_and_how_to_see_more():
    with jax.profile() as p:
        pass
    assert repr(p) == "<Profile: 0 s in 0 programs; .show() prints a table>"
    with jax.profile() as p:
        jax.jit(lambda x: x + 1.0)(1.0)
    assert " in 1 program; " in repr(p)
