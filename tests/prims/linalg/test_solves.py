"""Cholesky, LU, triangular and tridiagonal solves obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.prims import linalg
from tests.support.harness import laws
from tests.support.records import Failure, Record, normal

PRECISE = ("float64", "float32", "complex64", "complex128")
REAL = ("float64", "float32")
SQUARE = {"empty": "the matrices must stay square"}
X = np.ones((3, 4), np.float32)


def definite(*shape: int) -> object:
    """Return the maker of positive definite matrices."""

    def make(dtype, generator):
        """Draw a matrix and multiply it with its adjoint."""
        x = normal(*shape)(dtype, generator)
        adjoint = np.conj(np.swapaxes(x, -1, -2))
        return (x @ adjoint + shape[-1] * np.eye(shape[-1])).astype(dtype)

    return make


def dominant(*shape: int) -> object:
    """Return the maker of matrices that are far from singular."""

    def make(dtype, generator):
        """Add to the diagonal."""
        x = normal(*shape)(dtype, generator)
        return (x + 6 * np.eye(*shape[-2:])).astype(dtype)

    return make


def solve(**options) -> object:
    """Return the triangular solve with fixed options."""
    return lambda a, y: linalg.triangular_solve(a, y, **options)


def system(dl, d, du, y) -> object:
    """Solve a tridiagonal system whose diagonal dominates."""
    return linalg.tridiagonal_solve(dl, d, du, y)


KEYS = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
RECORDS = [
    Record(
        "cholesky",
        linalg.cholesky,
        (definite(3, 3),),
        PRECISE,
        {**SQUARE, "complex_step": "it conjugates: it is not analytic"},
        ulps=512,
        errors=(Failure((X,), ValueError, "must have shape [..., n, n], got shape (3, 4)"),),
    ),
    Record("cholesky-batch", linalg.cholesky, (definite(2, 4, 4),), REAL, ulps=512),
    Record(
        "triangular",
        solve(left_side=True, lower=True),
        (dominant(3, 3), normal(3, 2)),
        PRECISE,
        SQUARE,
        ulps=512,
    ),
    Record(
        "triangular-right",
        solve(transpose_a=True, unit_diagonal=True),
        (normal(2, 3, 3), normal(2, 2, 3)),
        REAL,
        {"empty": "the batches go together", "hlo": "batches go together"},
        ulps=4096,
    ),
    *(
        Record(
            f"lu-{n}-{m}",
            lambda x: linalg.lu(x)[0],
            (dominant(n, m),),
            PRECISE,
            {"hlo": "StableHLO has no LU factorisation", "empty": "see the test of no rows"},
            ulps=512,
        )
        for n, m in ((3, 3), (4, 3), (3, 4))
    ),
    Record(
        "tridiagonal",
        system,
        (normal(4), lambda d, g: normal(4)(d, g) + np.asarray(6, d), normal(4), normal(4, 2)),
        PRECISE,
        {"hlo": "StableHLO has no tridiagonal solve", "empty": "all operands go together"},
        ulps=512,
    ),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("flags", list(itertools.product((False, True), repeat=5)))
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_triangular_solves_of_all_kinds(flags, dtype):
    generator = np.random.default_rng(0)
    a = dominant(2, 4, 4)(np.dtype(dtype), generator)
    y = normal(2, 4, 4)(np.dtype(dtype), generator)
    options = dict(zip(KEYS, flags, strict=True))
    expected = linalg.triangular_solve_p.reference(a / 8, y, **options)[0]
    found = linalg.triangular_solve(a / np.asarray(8, dtype), y, **options)
    np.testing.assert_allclose(expected, found, rtol=1e-3, atol=1e-4)


def test_a_matrix_that_is_not_definite_gives_nan():
    assert np.isnan(np.diag(np.asarray(linalg.cholesky(-np.eye(3, dtype=np.float32))))).all()


@pytest.mark.parametrize("shape", [(5, 5), (2, 30, 20), (20, 30)])
def test_lu_is_the_matrix_permuted(shape):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    factors, pivots, order = map(np.asarray, linalg.lu(x))
    k = min(shape[-2:])
    lower = np.tril(factors[..., :k], -1) + np.eye(shape[-2], k)
    upper = np.triu(factors[..., :k, :])
    np.testing.assert_allclose(
        lower @ upper, np.take_along_axis(x, order[..., None], -2), rtol=1e-3, atol=1e-4
    )
    again = linalg.lu_pivots_to_permutation(pivots, shape[-2])
    np.testing.assert_array_equal(order, again)


def test_factors_of_no_rows():
    factors, pivots, order = linalg.lu(np.ones((0, 3), np.float32))
    assert (factors.shape, pivots.shape, order.shape) == ((0, 3), (0,), (0,))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: linalg.triangular_solve(X, X), ValueError, "must be a square matrix. Got shape"),
        (lambda: linalg.lu(X[0]), TypeError, "Input 0 to lu must have rank at least 2, but got"),
        (
            lambda: linalg.triangular_solve(np.eye(3, dtype=np.float32), X),
            ValueError,
            "Incompatible shapes for arguments to triangular_solve",
        ),
    ],
)
def test_wrong_operands_are_refused(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["cholesky", "eig", "eigh", "lu", "qr", "svd", "schur"])
def test_half_precision_is_refused_before_compilation(name):
    struct = jax.ShapeDtypeStruct((3, 3), "float16")
    with pytest.raises(TypeError, match=f"{name} does not accept dtype float16 at position 0"):
        jax.eval_shape(getattr(linalg, name), struct)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 9, 9)])
def test_triangular_systems_of_halves_are_solved(dtype, shape):
    generator = np.random.default_rng(0)
    below, y = generator.normal(size=(2, *shape))
    a, y = jnp.asarray(np.tril(below) + 4 * np.eye(shape[-1]), dtype), jnp.asarray(y, dtype)
    x = linalg.triangular_solve(a, y, left_side=True, lower=True)
    assert x.dtype == dtype
    wide = [np.asarray(value, np.float32) for value in (a, y)]
    np.testing.assert_allclose(np.asarray(x, np.float32), np.linalg.solve(*wide), atol=0.05)


def test_an_empty_matrix_has_an_inverse():
    assert jnp.linalg.inv(np.zeros((2, 0, 0), np.float32)).shape == (2, 0, 0)
