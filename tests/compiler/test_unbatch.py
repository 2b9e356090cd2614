"""The program for one row of a batch has the batch's values, row by row, or is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.simplify import simplify
from tapeless.compiler.unbatch import row_program
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr, subjaxprs

N = 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4, 6)).astype(np.float32)
I = RNG.integers(0, 4, size=(N, 3)).astype(np.int32)  # noqa: E741
W = RNG.normal(size=(6, 7)).astype(np.float32)
KERNELS = RNG.normal(size=(3, 1, 2, 2)).astype(np.float32)
IMAGES = RNG.normal(size=(2, 1, 4, 4)).astype(np.float32)


def spd(x: jax.Array) -> jax.Array:
    """Return a positive definite matrix."""
    return x @ x.T + 5 * jnp.eye(4)


def folded(x: jax.Array, y: jax.Array) -> jax.Array:
    """Combine two numbers; associative."""
    return x + y + 0.125 * x * y


def steps(i: jax.Array, x: jax.Array) -> jax.Array:
    """Take as many steps as the row says."""
    return lax.while_loop(lambda s: s[0] < i[0], lambda s: (s[0] + 1, 0.5 * s[1] + x), (0, x))[1]


def running(i: jax.Array, x: jax.Array) -> tuple:
    """Carry a row and a counter, and stack them."""

    def step(carry: tuple, t: jax.Array) -> tuple:
        k, c = carry
        return (k + 1, c + t * k), (c, k)

    return lax.scan(step, (0.0, x[0]), x)


PROGRAMS = {
    "elements": lambda i, x: jnp.where(i[0] > 1, jnp.sin(x) * 2, x + x[:1]),
    "reductions": lambda i, x: (x.sum(0), x.max(), x.argmin(1), jnp.all(x > -1)),
    "shapes": lambda i, x: jnp.swapaxes(x.reshape(2, 12)[:, None], 0, 1)[0, ::-1, 1:7:2],
    "joined": lambda i, x: jnp.concatenate([jnp.pad(x, ((1, 0), (0, 2))), jnp.ones((1, 8))]),
    "split": lambda i, x: jnp.split(x, 2, axis=1)[1],
    "product": lambda i, x: (x @ W, jnp.einsum("ij,kj->ik", x, x), x[0] @ W),
    "gather": lambda i, x: (x[i], x[i[0], i[1]], jnp.asarray(W)[i], x[1:3][i[:2] % 2]),
    "scatter": lambda i, x: (x.at[i].add(1.0), x.at[i[0]].set(x[1]), x.at[:, 2].mul(i[0] + 1.0)),
    "dynamic": lambda i, x: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (i[0], 1), (2, 2)), i[:2]
    ),
    "sorted": lambda i, x: (jnp.sort(x, 0), jnp.argsort(x, 1), jnp.cumsum(x, 1), lax.cummax(x)),
    "numbers": lambda i, x: x + lax.broadcasted_iota(np.float32, (4, 6), 1),
    "matrices": lambda i, x: (jnp.linalg.cholesky(spd(x)), jnp.linalg.solve(spd(x), x)),
    "windows": lambda i, x: (
        lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME"),
        lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 1), "VALID"),
        lax.reduce_window(x, 0.0, folded, (1, 2), (1, 2), "VALID"),
    ),
    "windows_backwards": jax.grad(
        lambda i, x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME") ** 2),
        1,
    ),
    "windows_forwards": lambda i, x: jax.jvp(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME"), (x,), (x * x,)
    )[1],
    "folded": lambda i, x: lax.reduce(x, np.float32(0), folded, (0,)),
    "solver": lambda i, x: lax.custom_linear_solve(
        lambda v: spd(x) @ v, x[:, 0], lambda _, b: jnp.linalg.inv(spd(x)) @ b, symmetric=True
    ),
    "gamma": lambda i, x: jax.random.gamma(jax.random.key(i[0]), jnp.abs(x) + 1),
    "tridiagonal": lambda i, x: lax.linalg.tridiagonal_solve(x[0], x[1] + 9, x[2], x.T),
    "orthogonal": lambda i, x: jnp.linalg.qr(x),
    "lines": lambda i, x: (
        jnp.searchsorted(jnp.sort(x[0]), x),
        jnp.searchsorted(jnp.arange(6.0), x),
        jnp.searchsorted(jnp.sort(x[0]), jnp.arange(6.0)),
    ),
    "largest": lambda i, x: lax.approx_max_k(x, 2),
    "stacked": lambda i, x: (lax.stack([x, x * 2], 1), lax.unstack(x, axis=0)[1]),
    "unstacked": lambda i, x: (lax.unstack(x, axis=1)[2], lax.stack([x[0], x[1]])),
    "repeated": lambda i, x: jnp.tile(x, (2, 3)),
    "apart": lambda i, x: lax.optimization_barrier((x, x * 2)),
    "folded_in": lambda i, x: jax.random.bits(jax.random.fold_in(jax.random.key(1), i[0])),
    "called": lambda i, x: jax.pure_callback(
        lambda x: np.sort(x), jax.typeof(x), x, vmap_method="sequential"
    ),
    "images": lambda i, x: lax.conv_general_dilated(x.reshape(2, 1, 3, 4), KERNELS, (1, 1), "SAME"),
    "one_image": lambda i, x: jnp.tanh(
        lax.conv_general_dilated(x.reshape(1, 1, 6, 4), KERNELS, (1, 1), "SAME")
    ),
    "filters": lambda i, x: lax.conv_general_dilated(
        IMAGES, x.reshape(6, 1, 2, 2), (1, 1), "SAME", feature_group_count=1
    ),
    "grouped_filters": lambda i, x: lax.conv_general_dilated(
        jnp.tile(IMAGES, (1, 2, 1, 1)), x.reshape(6, 1, 2, 2), (1, 1), "SAME", feature_group_count=2
    ),
    "own_filters": lambda i, x: lax.conv_general_dilated(
        x.reshape(2, 3, 2, 2),
        x.reshape(3, 1, 4, 2)[:, :, :2],
        (1, 1),
        "SAME",
        feature_group_count=3,
    ),
    "filters_backwards": jax.grad(
        lambda i, x: jnp.sum(
            lax.conv_general_dilated(
                x.reshape(2, 3, 2, 2), x.reshape(6, 1, 2, 2), (1, 1), "SAME", feature_group_count=3
            )
            ** 2
        ),
        1,
    ),
    "convolved": lambda i, x: jnp.convolve(x[0], x[1]),
    "fourier": lambda i, x: jnp.abs(jnp.fft.fft(x)),
    "random": lambda i, x: jax.random.uniform(jax.random.key(i[0]), (3,)),
    "while": steps,
    "scan": running,
    "for": lambda i, x: lax.fori_loop(0, 4, lambda k, c: c.at[k].add(x[k] * 0.5), x),
    "nested": lambda i, x: jax.vmap(steps, (None, 0))(i, x),
    "mapped": lambda i, x: jax.vmap(lambda y: lax.cond(y.sum() > 0, jnp.sort, jnp.negative, y))(x),
    "cond": lambda i, x: lax.scan(
        lambda c, k: (lax.cond(k > 1, lambda c: c * 2, lambda c: c - x, c), None), x, jnp.arange(4)
    )[0],
}


def batched(function: Callable, *args: np.ndarray) -> Jaxpr:
    """Return the program of a function over rows."""
    return simplify(jax.make_jaxpr(jax.vmap(function))(*args).jaxpr)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_row_program_has_the_values_of_the_batch(name: str) -> None:
    program = batched(PROGRAMS[name], I, X)
    whole = eval_jaxpr(program, program.consts, I, X)
    found = row_program(program, (0,) * len(program.outvars))
    assert found is not None, program
    assert set(found.dims) <= {0, -1}
    for row in range(N):
        outs = eval_jaxpr(found.jaxpr, found.jaxpr.consts, I[row], X[row])
        for mine, all_rows in zip(outs, whole, strict=True):
            np.testing.assert_allclose(mine, all_rows[row], rtol=2e-5, atol=2e-5)


def test_rows_may_be_along_any_axis() -> None:
    program = simplify(jax.make_jaxpr(jax.vmap(lambda x: jnp.sin(x) @ W, 1, 1))(X).jaxpr)
    found = row_program(program, (1,))
    assert found is not None and found.dims == (1,)
    out = eval_jaxpr(found.jaxpr, found.jaxpr.consts, X[:, 2])
    np.testing.assert_allclose(out[0], np.sin(X[:, 2]) @ W, rtol=1e-5, atol=1e-5)


def test_a_loop_over_rows_becomes_a_loop_of_one_bool() -> None:
    found = row_program(batched(steps, I, X), (0,))
    assert found is not None
    (loop,) = [eqn for eqn in found.jaxpr.eqns if eqn.primitive.name == "while"]
    assert [program.out_avals[0].shape for program in subjaxprs(loop.params)] == [(), ()]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x.sum(0),
        lambda x: x * jnp.arange(N)[:, None, None],
        lambda x: x[::-1],
        lambda x: jnp.cumsum(x, 0),
        lambda x: x.T.reshape(N, 4, 6),
        lambda x: lax.scan(lambda c, row: (c + row.sum(), row * c), 0.0, x)[1],
        lambda x: lax.while_loop(lambda s: s.sum() < 9, lambda s: s + s.max(0) + 1, x),
    ],
    ids=["sum", "numbered", "reversed", "running", "mixed", "scanned", "loop"],
)
def test_rows_that_meet_are_refused(function: Callable) -> None:
    program = simplify(jax.make_jaxpr(function)(X).jaxpr)
    assert row_program(program, (0,)) is None


def test_effects_are_refused() -> None:
    program = jax.make_jaxpr(lambda x: (jax.debug.print("{}", x), x * 2)[1])(X).jaxpr
    assert row_program(program, (0,)) is None
