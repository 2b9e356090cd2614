"""How much work equations are: expressions, and what is more than that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.simplify import simplify
from tapeless.compiler.work import instructions_of, is_apart, is_long, is_work, work_of
from tapeless.core.jaxpr import Eqn

X = np.ones(100, np.float32)


def equations(function: Callable, *args: np.ndarray) -> list[Eqn]:
    """Return the equations of a function, without calls."""
    return list(simplify(jax.make_jaxpr(function)(*args).jaxpr).eqns)


def instructions(function: Callable) -> float:
    """Return the instructions of a function for each element."""
    return sum(map(instructions_of, equations(function, X))) / X.size


def test_functions_of_elements_are_told_apart_by_their_instructions() -> None:
    powers, exponentials = equations(lambda x: x**1.7, X), equations(jnp.exp, X)
    assert sum(map(work_of, powers)) < 1.2 * sum(map(work_of, exponentials))
    assert instructions(lambda x: x**1.7) > 2.5 * instructions(jnp.exp)
    assert instructions(lax.lgamma) > 2 * instructions(lambda x: x**1.7)


def test_what_is_no_function_counts_alike_in_both() -> None:
    assert instructions(lambda x: x * 2 + 1) == 2


def test_a_sum_of_rows_counts_its_elements() -> None:
    (eqn,) = equations(lambda x: x.sum(1), X.reshape(20, 5))
    assert work_of(eqn) == instructions_of(eqn) == 100


@pytest.mark.parametrize(("function", "expected"), [(jnp.sort, True), (jnp.tanh, False)])
def test_work_is_more_than_an_expression(function: Callable, expected: bool) -> None:
    eqns = equations(function, X)
    assert any(map(is_work, eqns)) == any(map(is_apart, eqns)) == expected


def test_steps_count_as_often_as_they_run() -> None:
    (eqn,) = equations(lambda x: lax.fori_loop(0, 30, lambda i, y: jnp.cos(y), x), X)
    assert work_of(eqn) >= 30 * 15 * X.size


def test_many_equations_are_a_long_expression() -> None:
    def chain(x: jax.Array) -> jax.Array:
        """Add up many sines."""
        for k in range(30):
            x = x + jnp.sin(x * k)
        return x

    assert is_long(equations(chain, X))
    assert not is_long(equations(lambda x: jnp.sin(x) * x + 1, X))
