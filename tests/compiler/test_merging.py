"""Rows on demand are put where the other side of their select is, and the select is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.byrows import rows_on_demand_p
from tests.compiler.test_demand import by_rows, check, costly, operations, simplify

RNG = np.random.default_rng(3)
X = RNG.normal(size=(70, 5)).astype(np.float32)
P = RNG.random(70) < 0.3
SHARES = [0.0, 0.03, 0.3, 0.8, 1.0]


def pair(p: Any, x: jax.Array) -> Any:
    """Choose two results."""
    other = (lambda x: (x * 2, jnp.sum(x)), x)
    return lax.cond(p, lambda x: (costly(x), costly(x).max()), *other)


def several(k: Any, x: jax.Array) -> jax.Array:
    """Choose among four sides, two of which are expensive."""
    sides = [lambda x: x, costly, lambda x: -x, lambda x: costly(x[::-1])]
    return lax.switch(k, sides, x)


def nested(p: Any, x: jax.Array) -> jax.Array:
    """Choose with what was chosen before."""
    first = lax.cond(p, costly, lambda x: x + 1, x)
    return lax.cond(p, lambda y: costly(y) - x, lambda y: y * first[0], first)


def crossed(p: Any, x: jax.Array) -> Any:
    """Choose a second time with the first choice as the other side."""
    a, b = lax.cond(p, lambda x: (costly(x), costly(x + 1)), lambda x: (x, x), x)
    return jnp.where(p, b, a * 2), a


def read_twice(p: Any, x: jax.Array) -> Any:
    """Use what is chosen, and what it is chosen from."""
    base = jnp.exp(x)
    return lax.cond(p, costly, lambda _: base, x) + base, base


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("function", [pair, nested, crossed, read_twice])
def test_values(function: Callable, share: float) -> None:
    check(function, RNG.random(70) < share, X)
    check(function, RNG.random(7) < share, X[:7])


def test_values_of_a_switch() -> None:
    for most in (0, 1, 9):
        check(several, RNG.integers(-2, most, 70).astype(np.int32), X)


@pytest.mark.parametrize("share", SHARES)
def test_gradients(share: float) -> None:
    wanted = RNG.random(70) < share
    found = jax.jit(jax.vmap(jax.grad(lambda x, p: sum(map(jnp.sum, pair(p, x))))))(X, wanted)
    alone = jax.jit(jax.grad(lambda x, p: sum(map(jnp.sum, pair(p, x)))))
    rows = [alone(x, p) for x, p in zip(X, wanted, strict=True)]
    np.testing.assert_allclose(found, np.stack(rows), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("function", [pair, nested, read_twice])
def test_no_select_is_left(function: Callable) -> None:
    names = operations(jax.vmap(function), P, X)
    assert "rows_on_demand" in names and "select_n" not in names


def test_other_sides_are_chosen_first() -> None:
    k = RNG.integers(0, 4, 70).astype(np.int32)
    program = by_rows(simplify(jax.make_jaxpr(jax.vmap(several))(k, X).jaxpr))
    on_demand = [eqn for eqn in program.eqns if eqn.primitive is rows_on_demand_p]
    assert [eqn.params["bases"] for eqn in on_demand] == [(True,), (True,)]
    assert [eqn.primitive.name for eqn in program.eqns].count("select_n") == 1


def test_special_values_and_signs_of_what_is_not_wanted_stay() -> None:
    x = np.array([[np.nan, -0.0, np.inf, -np.inf, 1.0]] * 70, np.float32)
    found = jax.jit(jax.vmap(lambda p, x: lax.cond(p, costly, lambda x: x, x)))(P, x)
    np.testing.assert_array_equal(found[~P], x[~P])
    assert np.signbit(found[~P][:, 1]).all()


def test_the_other_side_is_not_changed() -> None:
    x = jnp.asarray(X)
    jax.jit(jax.vmap(lambda p, x: lax.cond(p, costly, lambda x: x, x)))(P, x)
    np.testing.assert_array_equal(x, X)


def test_no_row_wants_it_costs_what_the_other_side_does() -> None:
    """The memory of what is not wanted is not there."""
    x = np.ones((2000, 64), np.float32)

    def bytes_of(function: Callable) -> int:
        """Return the bytes of the temporaries."""
        program = jax.jit(jax.vmap(function)).lower(np.zeros(2000, bool), x).compile()
        return program.memory_analysis().temp_size_in_bytes

    assert bytes_of(lambda p, x: lax.cond(p, costly, lambda x: x * 2, x)) < x.nbytes / 2
