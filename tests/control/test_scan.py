"""The `scan` operation: derivatives, batches, and what is stored between the two passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.ad_checkpoint import print_saved_residuals

X = np.array([0.1, 0.2, 0.3], np.float32)
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) / 10


def unrolled(f, carry, rows):
    """Run a scan in Python."""
    ys = []
    for row in rows:
        carry, y = f(carry, row)
        ys.append(y)
    return carry, jnp.stack(ys)


def step(carry, row):
    """Return a carry and an output that depend on both."""
    new = jnp.tanh(carry * row + carry)
    return new, new * row


def loss(loop):
    """Return a scalar function of everything a loop takes."""

    def total(x, rows):
        """Sum the carry and the outputs."""
        carry, ys = loop(step, x, rows)
        return jnp.sum(carry) + jnp.sum(ys * ys)

    return total


@pytest.mark.parametrize("transform", [jax.grad, jax.hessian, jax.jacfwd])
def test_derivatives_match_the_unrolled_loop(transform):
    wanted = jax.jit(transform(loss(unrolled)))(X, ROWS)
    np.testing.assert_allclose(wanted, transform(loss(lax.scan))(X, ROWS), rtol=2e-5, atol=1e-6)


def test_gradients_by_the_rows_match_the_unrolled_loop():
    wanted = jax.grad(loss(unrolled), 1)(X, ROWS)
    np.testing.assert_allclose(wanted, jax.grad(loss(lax.scan), 1)(X, ROWS), rtol=1e-5)


@pytest.mark.parametrize("axes", [(0, None), (None, 1), (1, 2)])
def test_a_batch_is_one_loop(axes):
    xs = np.stack([X, -X], axes[0] or 0) if axes[0] is not None else X
    rows = np.stack([ROWS, ROWS * 2], axes[1] or 0) if axes[1] is not None else ROWS
    mapped = jax.vmap(loss(lax.scan), axes)
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(mapped)(xs, rows).eqns]
    assert names.count("scan") == 1
    np.testing.assert_allclose(
        jax.vmap(loss(unrolled), axes)(xs, rows), mapped(xs, rows), rtol=1e-5
    )


def residuals(f, *args, capsys):
    """Return the lines of the report."""
    print_saved_residuals(f, *args)
    return capsys.readouterr().out.splitlines()


def test_invariant_residuals_are_not_stacked(capsys):
    f = lambda x: jnp.sum(lax.scan(lambda c, r: (c * jnp.sin(x) + r, None), X, ROWS)[0])  # noqa: E731
    found = residuals(f, X, capsys=capsys)
    assert sum(line.startswith("f32[4,3]") for line in found) == 1
    assert sum(line.startswith("f32[3]") for line in found) == 2


def test_a_linear_carry_stores_nothing_but_its_coefficients(capsys):
    f = lambda x: jnp.sum(lax.scan(lambda c, r: (c * r, None), x, ROWS)[0])  # noqa: E731
    assert residuals(f, X, capsys=capsys) == ["f32[4,3] from a constant"]


def test_what_only_passes_through_does_not_go_through_the_loop():
    f = lambda x, rows: lax.scan(lambda c, r: ((c[0] + r, c[1]), r), (x, x), rows)  # noqa: E731
    jaxpr = jax.make_jaxpr(f)(X, ROWS)
    (loop,) = jaxpr.eqns
    assert len(loop.outvars) == 1
    assert jaxpr.outvars[1] is jaxpr.invars[0]
    assert jaxpr.outvars[2] is jaxpr.invars[1]


def test_empty_and_reversed_loops():
    carry, ys = lax.scan(step, X, ROWS[:0])
    np.testing.assert_array_equal(X, carry)
    assert ys.shape == (0, 3)
    carry, ys = lax.scan(step, X, ROWS, reverse=True)
    wanted, backwards = lax.scan(step, X, ROWS[::-1])
    np.testing.assert_allclose(wanted, carry, rtol=1e-6)
    np.testing.assert_allclose(backwards[::-1], ys, rtol=1e-6)


def rules_with(row: jax.Array) -> dict[str, Callable]:
    """Return functions, of value sin, with rules that captured a row: it is their derivative."""
    forward, residual, backward = (jax.custom_vjp(jnp.sin) for _ in range(3))
    forward.defvjp(lambda y: (jnp.sin(y) + 0 * row, row), lambda r, g: (g * r,))
    residual.defvjp(lambda y: (jnp.sin(y), row), lambda r, g: (g * r,))
    backward.defvjp(lambda y: (jnp.sin(y), None), lambda r, g: (g * row,))
    jvp = jax.custom_jvp(jnp.sin)
    jvp.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), tangents[0] * row))
    return {"jvp": jvp, "forward": forward, "residual": residual, "backward": backward}


@pytest.mark.parametrize("kind", ["jvp", "forward", "residual", "backward"])
def test_rules_that_captured_a_row_hold_in_checkpoints_and_loops(kind: str) -> None:
    x = jnp.arange(3.0) + 1

    def checkpointed(row: jax.Array, y: jax.Array) -> jax.Array:
        return jax.grad(jax.checkpoint(rules_with(row)[kind]))(y)

    def looped(row: jax.Array, y: jax.Array) -> jax.Array:
        step = rules_with(row)[kind]
        return jax.grad(lambda y: lax.scan(lambda c, _: (step(c), None), y, None, length=2)[0])(y)

    for transform in (lambda f: f, jax.jit):
        np.testing.assert_allclose(transform(jax.vmap(checkpointed))(x, x), x)
        np.testing.assert_allclose(transform(jax.vmap(looped))(x, x), x * x, rtol=1e-6)
    both = jax.vmap(jax.vmap(checkpointed, (None, 0)), (0, None))
    np.testing.assert_allclose(both(x, x), np.repeat(x[:, None], 3, axis=1))
