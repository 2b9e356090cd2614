"""Loops over registers: their trip counts are found, and they can still be interrupted."""

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless.compiler.emit import emit_program
from tapeless.compiler.generate import optimised
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import named_target


def count(limit):
    """Count to a limit, one by one."""
    return lax.while_loop(
        lambda c: lax.lt(c, limit), lambda c: lax.add(c, np.int32(1)), np.int32(0)
    )


def emitted(function, *args):
    """Return the emitted program of a function, for a machine with AVX2."""
    program = lower_jaxpr(jax.make_jaxpr(function)(*args))
    return emit_program(program, named_target("x86-64-v3"))


def test_counting_is_vector_code():
    """The optimiser turns the counter into lanes."""
    found = emitted(count, np.int32(5))
    assert found.rewards_effort
    with optimised(found.text, named_target("x86-64-v3"), 2) as module:
        text = str(module)
    assert "vector.body" in text
    assert "tapeless_poll" in text


def test_loop_over_memory_keeps_the_short_list():
    """A loop that writes an array is not compiled with the long list of passes."""
    x = np.zeros(100, "float32")

    def fill(x):
        """Write a growing number into every place."""
        body = lambda i, x: x.at[i].set(lax.convert_element_type(i, np.float32))  # noqa: E731
        return lax.fori_loop(0, 100, body, x)

    assert not emitted(fill, x).rewards_effort


def test_rows_of_three_are_lanes():
    """Products of small matrices work on whole rows, with a lane to spare."""
    x = np.arange(6 * 9, dtype=np.float32).reshape(6, 3, 3)
    product = lambda a, b: lax.batch_matmul(a, b)  # noqa: E731
    assert "fmul <4 x float>" in emitted(product, x, x).text
    np.testing.assert_array_equal(jax.jit(product)(x, x), x @ x)


def test_counts_past_the_budget():
    """The poll between two stretches of a loop changes no value."""
    assert int(jax.jit(count)(np.int32(3_000_000))) == 3_000_000
    assert int(jax.jit(count)(np.int32(0))) == 0
    assert int(jax.jit(count)(np.int32(-5))) == 0
