"""Instrumented programs compute the same, and have a check beside each operation of a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.instrument import are_fine, instrument
from tapeless.core.check import check_jaxpr
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr, subjaxprs
from tapeless.prims.check import check_p

X = jnp.arange(6, dtype=np.float32)


def checks_in(jaxpr: Jaxpr) -> list[Any]:
    """Return the faults of all checks of a program, nested ones included."""
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is check_p:
            found.append(eqn.params["fault"])
        for inner in subjaxprs(eqn.params):
            found.extend(checks_in(inner))
    return found


def instrumented(function: Callable, kinds: str, *args: Any) -> Jaxpr:
    """Trace and instrument."""
    jaxpr = instrument(jax.make_jaxpr(function)(*args), frozenset(kinds.split()))
    check_jaxpr(jaxpr)
    return jaxpr


def window(x: Any, i: Any) -> Any:
    """Read two elements."""
    return lax.dynamic_slice(x, (i,), (2,))


CASES = {
    "dynamic_slice": (window, "index", 1),
    "known start": (lambda x, i: lax.dynamic_slice(x, (np.int32(1),), (2,)), "index", 0),
    "whole": (lambda x, i: lax.dynamic_slice(x, (np.int32(0),), (6,)), "index", 0),
    "update": (lambda x, i: lax.dynamic_update_slice(x, x[:2], (i,)), "index", 1),
    "gather": (lambda x, i: x[jnp.stack([i, i])], "index", 1),
    "clip": (lambda x, i: x.at[jnp.stack([i, i])].get(mode="clip"), "index fill", 0),
    "fill": (lambda x, i: x.at[jnp.stack([i, i])].get(mode="fill"), "index", 0),
    "fill, wanted": (lambda x, i: x.at[jnp.stack([i, i])].get(mode="fill"), "fill", 1),
    "scatter": (lambda x, i: x.at[i].add(1, mode="promise_in_bounds"), "index", 1),
    "in a loop": (lambda x, i: lax.fori_loop(0, 3, lambda k, s: s + x[k + i], 0.0), "index", 1),
    "in a branch": (lambda x, i: lax.cond(i > 0, window, lambda x, i: x[:2], x, i), "index", 1),
    "in a call": (lambda x, i: jax.jit(window)(x, i), "index", 1),
    "division": (lambda x, i: x / (x + 1), "div", 1),
    "remainder": (lambda x, i: lax.rem(i, i + 1), "rem div", 1),
    "shift": (lambda x, i: (i << i) + (i >> i), "shift", 2),
    "nan": (lambda x, i: jnp.sin(x) * 2 + i, "nan", 3),
    "nan and inf": (lambda x, i: jnp.sin(x), "nan inf", 2),
    "integers are numbers": (lambda x, i: i + 1, "nan inf moved", 0),
    "moved": (lambda x, i: x.reshape(2, 3), "nan", 0),
    "moved, wanted": (lambda x, i: x.reshape(2, 3), "nan moved", 1),
    "elements": (lambda x, i: lax.reduce(x, np.float32(0), lax.add, (0,)), "nan", 1),
}


@pytest.mark.parametrize("name", CASES)
def test_a_check_stands_beside_each_operation_of_the_kind(name: str) -> None:
    function, kinds, number = CASES[name]
    jaxpr = instrumented(function, kinds, X, np.int32(1))
    assert len(checks_in(jaxpr)) == number


@pytest.mark.parametrize("name", CASES)
def test_the_program_computes_the_same(name: str) -> None:
    function, kinds, _ = CASES[name]
    args = (X, np.int32(1))
    jaxpr = instrumented(function, kinds, *args)
    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, *args)
    np.testing.assert_array_equal(out, function(*args))


def test_variables_and_lines_stay() -> None:
    plain = jax.make_jaxpr(window)(X, 1)
    found = instrument(plain, frozenset(("index",)))
    assert (found.invars, found.outvars) == (plain.invars, plain.outvars)
    assert found is instrument(plain, frozenset(("index",)))
    (fault,) = checks_in(found)
    reading = next(eqn for eqn in plain.eqns if eqn.primitive.name == "dynamic_slice")
    assert fault.source == reading.source


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("word", ["nan", "inf"])
def test_what_is_not_finite_is_found(dtype: str, word: str) -> None:
    with jax.enable_x64(True):
        bad = {"nan": np.nan, "inf": np.inf}
        good = jnp.array([-0.0, 1.0, -3e4], dtype)
        assert jnp.all(are_fine(good, word))
        other = "inf" if word == "nan" else "nan"
        for sign in (1, -1):
            np.testing.assert_array_equal(
                are_fine(good.at[1].set(sign * bad[word]), word), [1, 0, 1]
            )
            assert jnp.all(are_fine(good.at[1].set(sign * bad[other]), word))
        assert jnp.all(are_fine(good[1], word))
        assert jnp.all(are_fine(jnp.zeros((0,), dtype), word))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_places_of_all_integers_are_compared_with_the_room(dtype: str) -> None:
    x = jnp.arange(300.0)
    with jax.checks(index=True):
        read = jax.jit(lambda i: x[i])
        np.testing.assert_array_equal(read(np.array([0, 100], dtype)), [0, 100])
        short = jax.jit(lambda i: x[:100][i])
        with pytest.raises(IndexError, match="index 100 is"):
            short(np.array([0, 100], dtype))
        if dtype.startswith("i"):
            with pytest.raises(IndexError, match=r"index -1 \(counted from the front\) is"):
                short(np.array([0, -101], dtype))
