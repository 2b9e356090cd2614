"""Recipes of scalars that are packed into lanes: which calls are, and that the bits stay."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler.emit import emit_program
from tapeless.compiler.generate import optimised
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import named_target

N = 11


def turned(function, carry):
    """Return numbers of which each has grown by the function of its neighbour."""
    return tuple(0.9 * a + function(b) for a, b in zip(carry, carry[1:] + carry[:1], strict=True))


def emitted(function, *args):
    """Return the emitted program of a function, for a machine with AVX2."""
    program = lower_jaxpr(jax.make_jaxpr(function)(*args))
    return emit_program(program, named_target("x86-64-v3"))


def calls(function, *args):
    """Return the names of the recipes that a program calls in its entry, on a machine with AVX2."""
    text = emitted(function, *args).text
    entry = text[text.index("@entry(") :]
    return re.findall(r'call [^@]*@"([a-z0-9]+\.[a-z0-9]+\.\d+)"', entry[: entry.index("\n}")])


def loop(function):
    """Return the function that carries numbers through 50 steps."""
    return lambda *start: jax.lax.fori_loop(0, 50, lambda i, c: turned(function, c), start)


def start(dtype="float32"):
    """Return N numbers, some of them so large that a sine takes its slow way."""
    numbers = np.linspace(-2, 2, N).astype(dtype)
    numbers[4] = 3e9
    return tuple(numbers)


def test_calls_fill_registers():
    """Eleven sines are one register of eight; three that are left over are computed alone."""
    assert calls(loop(jnp.sin), *start()) == ["sin.float32.8"] + 3 * ["sin.float32.1"]


def test_calls_on_results_of_calls_are_packed_by_levels():
    found = calls(loop(lambda x: jnp.tanh(jnp.sin(x))), *start()[:8])
    assert found == ["sin.float32.8", "tanh.float32.8"]


def test_few_calls_stay_alone():
    assert calls(loop(jnp.sin), *start()[:3]) == 3 * ["sin.float32.1"]


def test_chains_stay_alone():
    """Each sine needs the one before."""

    def chain(x):
        for _ in range(8):
            x = jnp.sin(x) + 1
        return x

    assert calls(chain, np.float32(1)) == 8 * ["sin.float32.1"]


def test_what_a_store_changes_is_not_read_before():
    """A sine of an element that the statement before has written waits for it."""

    def f(x):
        def body(i, x):
            for k in range(6):
                x = x.at[k + 1].set(jnp.sin(x[k]) + x[k + 1])
            return x

        return jax.lax.fori_loop(0, 3, body, x)

    want = np.linspace(0, 1, 30).astype("float32")
    found = jax.jit(f)(want)
    for _ in range(3):
        for k in range(6):
            want[k + 1] = jnp.sin(want[k]) + want[k + 1]
    np.testing.assert_array_equal(found, want)


def test_what_surrounds_packed_calls_in_a_loop_goes_into_lanes():
    """The sums, the products and the carry of eight numbers are one register each."""
    found = emitted(loop(jnp.sin), *start()[:8])
    assert found.rewards_effort
    with optimised(found.text, named_target("x86-64-v3"), 2) as module:
        text = str(module)
    assert "phi <8 x float>" in text
    assert "fmul <8 x float>" in text
    assert "= extractelement" not in text[text.index("phi <8 x") : text.index("fadd <8 x")]


def test_packed_calls_outside_loops_ask_for_no_more():
    assert not emitted(lambda *c: turned(jnp.sin, c), *start()[:8]).rewards_effort


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_in_lanes_has_the_bits_of_one_in_scalars(dtype):
    """Steps called one by one, whose numbers are scalars, agree with a loop that is optimised."""
    with jax.enable_x64(dtype == "float64"):
        numbers = start(dtype)[:8]
        found = jax.jit(loop(jnp.sin))(*numbers)
        step = jax.jit(lambda *c: turned(jnp.sin, c))
        for _ in range(50):
            numbers = step(*numbers)
    np.testing.assert_array_equal(np.stack(found), np.stack(numbers))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sin", "exp", "log1p", "tanh"])
def test_bits_are_those_of_single_calls(name, dtype):
    function = getattr(jnp, name)
    numbers = tuple(jnp.asarray(x, dtype) for x in start())
    packed = jax.jit(lambda *c: tuple(map(function, c)))(*numbers)
    single = [jax.jit(function)(x) for x in numbers]
    packed, single = (np.asarray(jnp.stack(c), "float64") for c in (packed, single))
    np.testing.assert_array_equal(packed, single)
