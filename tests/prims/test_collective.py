"""Exchanges between rows of a named axis."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.prims import collective
from tests.support.harness import laws
from tests.support.records import Record, normal

X = np.arange(16, dtype=np.float32).reshape(4, 4)


WIDE = ("float32", "float64", "complex64", "complex128")
ROWS = {"empty": "there is no axis without rows"}


def over_rows(function):
    """Return the function of an array whose squared rows are exchanged over the axis "i"."""
    return lambda x: jax.vmap(lambda row: function(row * row, "i"), axis_name="i")(x)


RECORDS = [
    Record("ppermute",
           over_rows(lambda x, i: collective.ppermute(x, i, [(0, 2), (1, 0), (2, 3), (3, 1)])),
           (normal(4, 2),), WIDE, ROWS, reference=lambda x: (x * x)[[1, 3, 0, 2]]),
    Record("pbroadcast", over_rows(lambda x, i: collective.pbroadcast(x, i, 2)), (normal(4, 2),),
           WIDE, ROWS, reference=lambda x: np.tile((x * x)[2], (4, 1))),
    Record("all_gather", over_rows(collective.all_gather), (normal(4, 2),), WIDE, ROWS,
           reference=lambda x: np.tile(x * x, (4, 1, 1))),
    Record("all_to_all", over_rows(lambda x, i: collective.all_to_all(x, i, 0, 0)),
           (normal(4, 4),), WIDE, ROWS, reference=lambda x: (x * x).T),
    Record("reduce_scatter", over_rows(collective.psum_scatter), (normal(4, 4),), WIDE, ROWS,
           reference=lambda x: np.sum(x * x, 0)),
]  # fmt: skip
globals().update(laws(RECORDS))


def mapped(function, x=X) -> np.ndarray:
    """Map a function over the first axis, called "i"."""
    return np.asarray(jax.vmap(function, axis_name="i")(x))


def pieces(x, split, concat) -> np.ndarray:
    """Exchange the pieces of all rows the slow way."""
    rows = []
    for i in range(4):
        part = [np.split(row, 4, split)[i] for row in x]
        rows.append(np.concatenate(part, concat))
    return np.stack(rows)


CASES = [
    (lambda x: collective.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]), np.roll(X, 1, 0)),
    (lambda x: collective.pshuffle(x, "i", [1, 0, 3, 2]), X[[1, 0, 3, 2]]),
    (lambda x: collective.pbroadcast(x, "i", 2), np.tile(X[2], (4, 1))),
    (lambda x: collective.all_gather(x, "i"), np.tile(X, (4, 1, 1))),
    (lambda x: collective.all_gather(x, "i", axis=1), np.tile(X.T, (4, 1, 1))),
    (lambda x: collective.all_gather(x, "i", tiled=True), np.tile(X.reshape(-1), (4, 1))),
    (lambda x: collective.all_to_all(x, "i", 0, 0), X.T),
    (lambda x: collective.pswapaxes(x, "i", 0), X.T),
    (lambda x: collective.psum_scatter(x, "i"), X.sum(0)),
    (lambda x: collective.psum_scatter(x, "i", tiled=True), X.sum(0).reshape(4, 1)),
]


@pytest.mark.parametrize(("function", "expected"), CASES, ids=range(len(CASES)))
def test_rows_are_exchanged(function, expected):
    np.testing.assert_array_equal(expected, mapped(function))


@pytest.mark.parametrize(("split", "concat"), [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_tiled_pieces_are_joined(split, concat):
    x = np.arange(4 * 8 * 4, dtype=np.float32).reshape(4, 8, 4)
    found = mapped(lambda row: collective.all_to_all(row, "i", split, concat, tiled=True), x)
    np.testing.assert_array_equal(pieces(x, split, concat), found)


@pytest.mark.parametrize("source", range(4))
def test_gradients_inside_the_axis_collect_at_the_source(source):
    """Row `source` moves all rows, so that its gradient is the sum of theirs."""
    pulled = mapped(
        lambda x: jax.grad(lambda y: (collective.pbroadcast(y, "i", source) * x).sum())(x)
    )
    expected = np.zeros_like(X)
    expected[source] = X.sum(0)
    np.testing.assert_array_equal(expected, pulled)


@pytest.mark.parametrize(("function", "expected"), CASES, ids=range(len(CASES)))
def test_gradients_are_adjoint(function, expected):
    batched = jax.vmap(function, axis_name="i")
    ct = np.random.default_rng(0).normal(size=expected.shape).astype(np.float32)
    out, pullback = jax.vjp(batched, X)
    (found,) = pullback(ct)
    np.testing.assert_allclose(
        np.sum(ct * np.asarray(out)), np.sum(np.asarray(found) * X), rtol=1e-4
    )


@pytest.mark.parametrize(("function", "expected"), CASES, ids=range(len(CASES)))
def test_another_batch_goes_along(function, expected):
    both = np.stack([X, X + 1])
    found = jax.vmap(jax.vmap(function, axis_name="i"))(both)
    np.testing.assert_array_equal(np.stack([mapped(function, x) for x in both]), found)
    inner = jax.vmap(jax.vmap(function), axis_name="i")(np.stack([X, X + 1], 1))
    np.testing.assert_array_equal(np.asarray(found), np.swapaxes(np.asarray(inner), 0, 1))


def test_wrong_permutations_are_refused():
    with pytest.raises(AssertionError, match="Permutation doesn't match the axis size!"):
        mapped(lambda x: collective.ppermute(x, "i", [(0, 1), (1, 0)]))
    with pytest.raises(ValueError, match=r"must be unique, got .*sent to \[1\]"):
        mapped(lambda x: collective.ppermute(x, "i", [(0, 1), (1, 1), (2, 3), (3, 0)]))
    with pytest.raises(ValueError, match="`perm` does not represent a permutation"):
        mapped(lambda x: collective.pshuffle(x, "i", [0, 0, 1, 2]))
    with pytest.raises(ValueError, match="axis 1 is out of bounds for array of dimension 1"):
        mapped(lambda x: collective.all_to_all(x, "i", 0, 1))


@pytest.mark.parametrize("name", ["all_gather", "psum_scatter", "all_to_all"])
def test_axes_out_of_bounds_are_refused(name: str) -> None:
    calls = {
        "all_gather": lambda x: jax.lax.all_gather(x, "i", axis=3),
        "psum_scatter": lambda x: jax.lax.psum_scatter(x, "i", scatter_dimension=3),
        "all_to_all": lambda x: jax.lax.all_to_all(x, "i", 0, 3),
    }
    with pytest.raises(ValueError, match="axis 3 is out of bounds for array of dimension"):
        jax.vmap(calls[name], axis_name="i")(np.zeros((3, 3, 2), np.float32))


def test_what_cannot_be_scattered_is_refused() -> None:
    x = np.zeros((3, 2), np.float32)
    with pytest.raises(ValueError, match="must be equal to the size of the named axis, 3, but"):
        jax.vmap(lambda x: jax.lax.psum_scatter(x, "i"), axis_name="i")(x)
    with pytest.raises(ValueError, match="must be a multiple of the size of the named axis, 3"):
        jax.vmap(lambda x: jax.lax.psum_scatter(x, "i", tiled=True), axis_name="i")(x)


def test_scatter_dimensions_count_from_the_end() -> None:
    x = np.arange(18.0, dtype=np.float32).reshape(3, 2, 3)
    scatter = lambda axis: jax.vmap(  # noqa: E731
        lambda x: jax.lax.psum_scatter(x, "i", scatter_dimension=axis), axis_name="i"
    )(x)
    np.testing.assert_array_equal(scatter(-1), x.sum(0).T)
    np.testing.assert_array_equal(scatter(1), x.sum(0).T)


def test_bad_permutations_and_axes():
    """Errors of JAX's classes say what was wanted."""
    x = np.arange(4, dtype=np.float32)
    run = lambda f: jax.vmap(f, axis_name="i")(x)  # noqa: E731
    with pytest.raises(TypeError, match="must be a list or a tuple. Got perm of type <class 'None"):
        run(lambda v: lax.ppermute(v, "i", None))
    for pair in ("ab", (0, 1, 2), 3):
        with pytest.raises(AssertionError, match="pairs of integers"):
            run(lambda v, pair=pair: lax.ppermute(v, "i", [pair]))
    with pytest.raises(ValueError, match=r"psum: reduction axes \[0\] contains out-of-bounds"):
        run(lambda v: lax.psum(v, 0))


def test_groups_of_rows_are_refused_before_their_sizes():
    groups = [[0, 1], [2, 3]]
    for function in (
        lambda x: collective.all_to_all(x, "i", 0, 0, axis_index_groups=groups),
        lambda x: collective.psum_scatter(x, "i", axis_index_groups=groups),
    ):
        with pytest.raises(NotImplementedError, match="axis_index_groups not supported in vmap"):
            jax.vmap(function, axis_name="i")(np.ones((4, 2), np.float32))
