"""Scans over a batch go row by row where steps read or write at places: same values, any form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.scanrows import scans_by_rows
from tapeless.compiler.simplify import simplify
from tapeless.core.jaxpr import Jaxpr

ROWS, STEPS, WIDTH = 24, 7, 16
RNG = np.random.default_rng(0)
V = RNG.normal(size=(ROWS, WIDTH)).astype(np.float32)
M = RNG.normal(size=(ROWS, 4, WIDTH)).astype(np.float32)
S = RNG.normal(size=ROWS).astype(np.float32)
K = RNG.integers(-WIDTH, WIDTH, size=(ROWS, STEPS)).astype(np.int32)
T = RNG.normal(size=WIDTH).astype(np.float32)


def scanned(step: Callable, **params: object) -> Callable:
    """Return the scan of a step that is given a row of constants."""

    def run(c: object, v: jax.Array, k: jax.Array) -> object:
        """Scan the places of one row."""
        return lax.scan(lambda c, q: step(c, v, q), c, k, **params)

    return run


PLACES: dict[str, tuple[Callable, object, np.ndarray]] = {
    "window summed": (lambda c, v, q: (c + lax.dynamic_slice(v, (q,), (4,)).sum(), None), S, V),
    "written": (lambda c, v, q: (c.at[q].set(v[0]), None), V, V),
    "added": (lambda c, v, q: (c.at[q].add(1.0), c[q]), V, V),
    "swapped": (lambda c, v, q: (c.at[q].set(c[0]).at[0].set(c[q]), None), V, V),
    "two carries": (lambda c, v, q: ((c[0].at[q].add(c[1]), c[1] + 1), c[1]), (V, S), V),
    "window written": (lambda c, v, q: (lax.dynamic_update_slice(c, v[:3], (q,)), None), V, V),
    "row of a matrix": (lambda c, v, q: (v[q % 4], c), V, M),
    "shared table": (lambda c, v, q: (c + jnp.asarray(T)[q], c), S, V),
    "keeps what is read": (lambda c, v, q: (c.at[q].max(v[q]), (c[q], v[q])), V, V),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_values_are_those_of_each_row(name: str, reverse: bool) -> None:
    """The rows' results, bit for bit, as when each row is scanned by itself."""
    step, carry, consts = PLACES[name]
    run = scanned(step, reverse=reverse)
    together = jax.jit(jax.vmap(run))(carry, consts, K)
    alone = jax.jit(run)
    for number in (0, 1, ROWS - 1):
        one = jax.tree.map(lambda x, number=number: x[number], (carry, consts, K))
        same_bits(jax.tree.map(lambda x, number=number: x[number], together), alone(*one))


@pytest.mark.parametrize("name", ["window summed", "written", "added", "two carries"])
def test_gradients_are_those_of_each_row(name: str) -> None:
    """So are gradients, whose loops write where the others read."""
    step, carry, consts = PLACES[name]

    def total(c: object, v: jax.Array, k: jax.Array) -> jax.Array:
        """Sum the squares of what the scan leaves."""
        return sum(jnp.sum(x**2) for x in jax.tree.leaves(scanned(step)(c, v, k)[0]))

    gradient = jax.grad(total, (0, 1))
    together = jax.jit(jax.vmap(gradient))(carry, consts, K)
    for number in (0, ROWS - 1):
        one = jax.tree.map(lambda x, number=number: x[number], (carry, consts, K))
        mine = jax.tree.map(lambda x, number=number: x[number], together)
        for got, want in zip(
            jax.tree.leaves(mine), jax.tree.leaves(jax.jit(gradient)(*one)), strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


def same_bits(got: object, want: object) -> None:
    """Compare trees of arrays."""
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(x, y)


def by_rows(run: Callable, *args: object) -> Jaxpr:
    """Return the simplified program with its scans by rows."""
    return scans_by_rows(simplify(jax.make_jaxpr(run)(*args).jaxpr))


def loops(jaxpr: Jaxpr) -> list[tuple[int, int]]:
    """Return the lengths and carries of the scans of a program."""
    scans = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]
    return [(eqn.params["length"], eqn.params["num_carry"]) for eqn in scans]


@pytest.mark.parametrize("name", PLACES)
def test_rows_are_scanned(name: str) -> None:
    """The loop outside is one over rows, without a carry; its step is the scan of a row."""
    step, carry, consts = PLACES[name]
    program = by_rows(jax.vmap(scanned(step)), carry, consts, K)
    assert loops(program) == [(ROWS, 0)]
    (scan,) = (eqn for eqn in program.eqns if eqn.primitive.name == "scan")
    inner = simplify(scan.params["jaxpr"])
    (length, n_carry) = loops(inner)[0]
    assert length == STEPS and n_carry > 0


STEPWISE = {
    "no places": (lambda c, v, q: (c * 0.5 + v[0], None), S, V),
    "a function waits": (lambda c, v, q: (jnp.sin(c + v[q]), None), S, V),
    "a place waits": (lambda c, v, q: (c + v[jnp.int32(c)], None), S, V),
    "one place for all": (lambda c, v, q: (c.at[1].add(v[0]), None), V, V),
}


@pytest.mark.parametrize("name", STEPWISE)
def test_steps_of_all_rows_stay(name: str) -> None:
    """Arithmetic has its rows as lanes."""
    step, carry, consts = STEPWISE[name]
    assert loops(by_rows(jax.vmap(scanned(step)), carry, consts, K)) == [(STEPS, 1)]


def test_rows_that_meet_are_left() -> None:
    """A carry that is one for all rows is no row's."""

    def run(c: jax.Array, v: jax.Array, k: jax.Array) -> tuple:
        """Add up what all rows read."""

        def step(c: jax.Array, q: jax.Array) -> tuple:
            """Read at a place of each row."""
            read = jnp.take_along_axis(v, q[:, None], 1, mode="clip")
            return c + read.sum(), None

        return lax.scan(step, c, k.T)

    assert loops(by_rows(run, S[0], V, K)) == [(STEPS, 1)]
    total = V[np.arange(ROWS)[:, None], np.clip(K, 0, WIDTH - 1)].sum() + S[0]
    np.testing.assert_allclose(jax.jit(run)(S[0], V, np.clip(K, 0, None))[0], total, rtol=1e-5)


def test_few_rows_stay_together() -> None:
    """A handful of rows wait for each other less than each for itself."""
    step, carry, consts = PLACES["written"]
    program = by_rows(jax.vmap(scanned(step)), carry[:4], consts[:4], K[:4])
    assert loops(program) == [(STEPS, 1)]


def test_batches_of_batches() -> None:
    """Rows of rows are scanned in turn."""
    step, carry, consts = PLACES["added"]
    run = jax.jit(jax.vmap(jax.vmap(scanned(step)), in_axes=(None, 0, 0)))
    k = np.stack([K, K[::-1]] * 8)
    outs = run(carry, np.stack([consts] * 16), k)
    for number in (0, 1):
        mine = jax.tree.map(lambda x, number=number: x[number], outs)
        same_bits(mine, jax.jit(jax.vmap(scanned(step)))(carry, consts, k[number]))
