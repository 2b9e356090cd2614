"""Row loops are joined when that is legal and pays, and only then."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.emit import emit_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import named_target
from tests.compiler.programs import F32, aval, bind, broadcast, exp, lowered, nests, run, total

ROWS = (90, 70)


def softmax(x: object) -> tuple:
    """Divide the exponentials of each row by their sum."""
    rest = exp(bind("sub", x, broadcast(total(x, (1,), "reduce_max"), ROWS, (0,))))
    return (bind("div", rest, broadcast(total(rest, (1,)), ROWS, (0,))),)


def test_softmax_is_one_loop_over_rows() -> None:
    assert nests(lowered(softmax, aval(*ROWS))) == [((90, 70, 70), 2)]
    x = np.random.default_rng(0).standard_normal(ROWS).astype(F32)
    rest = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(softmax, x)[0], rest / rest.sum(1, keepdims=True), rtol=1e-5)


def test_a_row_that_needs_other_rows_waits_for_all() -> None:
    def function(x: object) -> tuple:
        """Store rows, then add up columns of them, row by row."""
        rest = exp(x)
        return rest, bind("mul", x, broadcast(total(rest, (0,)), ROWS, (1,)))

    x = np.random.default_rng(0).standard_normal(ROWS).astype(F32)
    rest, product = run(function, x)
    np.testing.assert_allclose(rest, np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(product, x * np.exp(x).sum(0), rtol=1e-4)


def test_a_mirrored_row_is_another_row() -> None:
    def function(x: object) -> tuple:
        """Normalise rows by the sums of the mirrored ones."""
        rest = exp(bind("sub", x, broadcast(total(x, (1,), "reduce_max"), ROWS, (0,))))
        mirrored = bind("rev", rest, dimensions=(0,))
        return rest, bind("div", rest, broadcast(total(mirrored, (1,)), ROWS, (0,)))

    x = np.random.default_rng(0).standard_normal(ROWS).astype(F32)
    want = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(function, x)[1], want / want[::-1].sum(1)[:, None], rtol=1e-5)
    assert len(nests(lowered(function, aval(*ROWS)))) == 2


def test_sums_of_columns_stay_alone() -> None:
    def function(x: object, y: object) -> tuple:
        """Sum columns, and multiply rows of another array by row sums."""
        return total(x, (0,)), bind("mul", y, broadcast(total(y, (1,)), (70, 90), (0,)))

    found = nests(lowered(function, aval(90, 70), aval(70, 90)))
    assert sorted(found) == [((70,), 1), ((70, 90), 1)]


def test_plain_loops_are_left_to_the_builder() -> None:
    def function(x: object) -> tuple:
        """Return values that the nest's limit separates."""
        return tuple(bind("add", x, F32(i + 1)) for i in range(12))

    assert [extents for extents, _ in nests(lowered(function, aval(*ROWS)))] == [(6300,), (6300,)]


def test_columns_of_short_rows_are_stored_together() -> None:
    """Of cross products, sums and joined arrays of rows of three and four, one loop remains."""

    def turned(x: jax.Array, y: jax.Array) -> jax.Array:
        """Return what one row has."""
        product = jnp.cross(x, x * y[1:])
        return jnp.concatenate([-(x @ y[1:])[None], y[0] * x + product])

    def steps(x: jax.Array, y: jax.Array) -> jax.Array:
        """Turn rows often."""
        return jax.lax.fori_loop(0, 9, lambda _, y: jax.vmap(turned)(x, y), y)

    x, y = (np.random.default_rng(n).standard_normal((300, n)).astype(F32) for n in (3, 4))
    program = lower_jaxpr(jax.make_jaxpr(steps)(x, y).jaxpr)
    (loop,) = (statement for statement in program.body if statement.extent == 9)
    assert [inner.extent for inner in loop.body] == [300, 1200]  # the second is a copy
    assert "scatter" not in emit_program(program, named_target("x86-64-v3")).text
    got = jax.jit(steps)(x, y)
    for _ in range(9):
        whole = y[:, :1] * x + np.cross(x, x * y[:, 1:])
        y = np.concatenate([-(x * y[:, 1:]).sum(1, keepdims=True), whole], axis=1)
    np.testing.assert_allclose(got, y, rtol=1e-4, atol=1e-4 * np.abs(y).max())


def test_carried_short_rows_are_those_of_the_step_before() -> None:
    def step(_: int, state: tuple) -> tuple:
        """Turn each by the other."""
        x, y = state
        return y + 0.1 * jnp.cross(x, y), x - 0.1 * jnp.cross(y, x)

    x, y = np.random.default_rng(0).standard_normal((2, 37, 3)).astype(F32)
    got = jax.jit(lambda x, y: jax.lax.fori_loop(0, 7, step, (x, y)))(x, y)
    for _ in range(7):
        x, y = y + F32(0.1) * np.cross(x, y), x - F32(0.1) * np.cross(y, x)
    np.testing.assert_allclose(got, (x, y), rtol=1e-4, atol=1e-5)
