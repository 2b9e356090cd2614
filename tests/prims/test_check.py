"""Checks: programs end where a condition does not hold, with the words of the fault."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.effects import CHECK
from tapeless.core.source import UNKNOWN_SOURCE
from tapeless.prims.check import IndexFault, NamedFault, check

FAULT = NamedFault(UNKNOWN_SOURCE, "{} is too small, and {} also", ArithmeticError)


def checked(x: jax.Array) -> jax.Array:
    """Return x + 1, unless x is below zero."""
    check(x >= 0, FAULT, x, 2 * x)
    return x + 1


RUNS = {
    "eager": checked,
    "jit": jax.jit(checked),
    "grad": jax.grad(checked),
    "jvp": lambda x: jax.jvp(checked, (x,), (x,)),
    "scan": lambda x: lax.scan(lambda c, k: (checked(c), None), x, None, length=2),
    "while": lambda x: lax.while_loop(lambda c: c < 1, checked, x),
    "cond": lambda x: lax.cond(True, checked, lambda x: x, x),
    "checkpoint": lambda x: jax.grad(jax.checkpoint(checked))(x),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_program_ends_where_a_check_fails(name: str) -> None:
    RUNS[name](jnp.float32(0.5))
    with pytest.raises(ArithmeticError, match=r"^-1.0 is too small, and -2.0 also\n"):
        RUNS[name](jnp.float32(-1))


def test_under_vmap_the_last_row_that_fails_is_told() -> None:
    mapped = jax.vmap(jax.vmap(checked))
    np.testing.assert_array_equal(mapped(jnp.ones((2, 3))), 2 * np.ones((2, 3)))
    with pytest.raises(ArithmeticError, match=r"^-3.0 is too small"):
        mapped(jnp.array([[1.0, -1.0, -2.0], [-3.0, 4.0, 5.0]]))
    assert jax.vmap(checked)(jnp.zeros(0)).shape == (0,)


def test_a_branch_that_is_not_taken_is_not_checked() -> None:
    taken = jax.jit(lambda p, x: lax.cond(p, checked, lambda x: x, x))
    assert taken(False, jnp.float32(-1)) == -1


def test_a_check_stays_though_it_has_no_results() -> None:
    assert CHECK in jax.make_jaxpr(checked)(1.0).effects
    with pytest.raises(ArithmeticError):
        jax.jit(lambda x: (checked(x), 3)[1])(jnp.float32(-1))


def test_numbers_of_iterations_are_told() -> None:
    def inner(d: jax.Array, j: jax.Array) -> tuple:
        check(d + j < 12, FAULT, d, j)
        return d, None

    def outer(c: jax.Array, i: jax.Array) -> tuple:
        return lax.scan(inner, c + 5 * i, jnp.arange(3))[0] - 5 * i, None

    with pytest.raises(ArithmeticError, match="in iterations 2, 1 of the loops around it"):
        lax.scan(outer, jnp.int32(1), jnp.arange(4))
    with pytest.raises(ArithmeticError, match="in iteration 3 of the loop"):
        lax.while_loop(lambda c: c < 9, lambda c: (check(c < 3, FAULT, c, c), c + 1)[1], 0)


def test_the_program_works_again_after_a_failure() -> None:
    compiled = jax.jit(checked)
    for _ in range(3):
        with pytest.raises(ArithmeticError):
            compiled(jnp.float32(-1))
        assert compiled(jnp.float32(1)) == 2


def test_the_first_index_out_of_bounds_is_found() -> None:
    fault = IndexFault(UNKNOWN_SOURCE, "gather", (3, 4), (0, 1), (2, 3))
    assert fault.first([np.array([[0, 3], [1, 4], [5, 0]])]) == (4, 1)
    assert fault.first([np.array(3), np.array(9)]) == (3, 0)
    assert fault.message([np.array([[0, -1]])]) == (
        "out-of-bounds indexing for array of shape (3, 4): index -1 is out of bounds for axis 1 "
        "with size 4. "
    )
    told = str(fault.exception([np.array([[0, -1]])], ()))
    assert told.startswith(
        "index -1 (counted from the front) is out of bounds for axis 1 with size 4, in gather of "
        "an array of shape (3, 4)."
    )
