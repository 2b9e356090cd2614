"""Factorisations as StableHLO: calls of LAPACK under JAX's names, which XLA runs to our values."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as jax
from tapeless.config import enable_x64
from tapeless.prims import linalg
from tests.golden.xla import run_text

pytestmark = pytest.mark.oracle

DTYPES = ["float32", "complex128"]
SQUARE = [(3, 3), (2, 2, 3, 3), (0, 0), (2, 0, 0)]
OBLONG = [(4, 3), (2, 3, 4), (0, 3), (3, 0)]


def draw(shape, dtype, seed=0) -> np.ndarray:
    """Return random numbers."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=shape)
    return (x + 1j * generator.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def hermitian(shape, dtype) -> np.ndarray:
    """Return a random Hermitian matrix."""
    x = draw(shape, dtype)
    return x + np.conj(np.swapaxes(x, -1, -2))


def definite(shape, dtype) -> np.ndarray:
    """Return a random positive definite matrix."""
    x = draw(shape, dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype)


def one(make):
    """Return the maker of a single operand."""
    return lambda shape, dtype: (make(shape, dtype),)


def tridiagonal_system(shape, dtype) -> tuple:
    """Return the three diagonals and the right-hand side of a system."""
    line = draw(shape[:-1], dtype)
    return line / 10, line * 0 + 3, line / 5, draw(shape, dtype)


def reflectors(shape, dtype) -> tuple:
    """Return reflectors and their factors."""
    return draw(shape, dtype), draw((*shape[:-2], min(shape[-2:])), dtype, 1) / 4


def product(shape, dtype) -> tuple:
    """Return reflectors, their factors and a matrix to multiply."""
    return *reflectors(shape, dtype), draw((*shape[:-1], 2), dtype, 2)


def two(shape, dtype) -> tuple:
    """Return a triangular matrix, whose other half is noise, and a right-hand side."""
    return draw(shape, dtype) + 3 * np.eye(shape[-1], dtype=dtype), draw(shape, dtype, 1)


# By name: the function of a linear algebra module, the maker of its operands, the shapes.
ANY = SQUARE + OBLONG
CASES = {
    "lu": (lambda m: m.lu, one(draw), ANY),
    "qr": (lambda m: lambda x: m.qr(x, full_matrices=False), one(draw), ANY),
    "qr-full": (lambda m: m.qr, one(draw), ANY),
    "qr-pivoting": (
        lambda m: lambda x: m.qr(x, pivoting=True, full_matrices=False),
        one(draw),
        ANY,
    ),
    "svd": (lambda m: m.svd, one(draw), ANY),
    "svd-reduced": (lambda m: lambda x: m.svd(x, full_matrices=False), one(draw), ANY),
    "singular-values": (lambda m: lambda x: m.svd(x, compute_uv=False), one(draw), ANY),
    "eigh": (lambda m: m.eigh, one(hermitian), SQUARE),
    "eig": (lambda m: m.eig, one(draw), SQUARE),
    "eig-right": (
        lambda m: lambda x: m.eig(x, compute_left_eigenvectors=False),
        one(draw),
        SQUARE,
    ),
    "schur": (lambda m: m.schur, one(draw), SQUARE),
    "schur-values": (
        lambda m: lambda x: m.schur(x, compute_schur_vectors=False),
        one(draw),
        SQUARE,
    ),
    "hessenberg": (lambda m: m.hessenberg, one(draw), SQUARE),
    "tridiagonal": (lambda m: lambda x: m.tridiagonal(x, lower=False), one(hermitian), SQUARE),
    "tridiagonal_solve": (lambda m: m.tridiagonal_solve, tridiagonal_system, SQUARE[:2]),
    "cholesky": (lambda m: m.cholesky, one(definite), SQUARE),
    "cholesky-fails": (
        lambda m: lambda x: m.cholesky(-x),
        one(definite),
        SQUARE[:2],
    ),
    "triangular_solve": (
        lambda m: (
            lambda a, y: m.triangular_solve(
                a, y, left_side=True, lower=True, transpose_a=True, conjugate_a=True
            )
        ),
        two,
        SQUARE[:2],
    ),
    "triangular_solve-right": (
        lambda m: lambda a, y: m.triangular_solve(a, y, unit_diagonal=True),
        two,
        SQUARE[:2],
    ),
    "householder_product": (lambda m: m.householder_product, reflectors, [(4, 3), (2, 5, 3)]),
    "ormqr": (
        lambda m: lambda a, taus, c: m.ormqr(a, taus, c, left=True, transpose=True),
        product,
        [(4, 3), (2, 5, 3), (3, 0)],
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_xla_runs_the_calls_to_our_values(name, dtype):
    function, make, shapes = CASES[name]
    bound = 5e-4 if dtype in ("float32", "complex64") else 1e-9
    for shape in shapes:
        args = make(shape, dtype)
        with enable_x64(True):
            compiled = jax.jit(function(linalg))
            expected = jax.tree.leaves(compiled(*args))
            found = run_text(compiled.lower(*args).as_text(), args)
        for want, got in zip(map(np.asarray, expected), found, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=bound, atol=bound, err_msg=str(shape))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", CASES)
def test_calls_have_the_names_that_jax_gives_them(name, dtype):
    import jax as oracle

    function, make, shapes = CASES[name]
    args = make(shapes[0], dtype)
    texts = [
        jax.jit(function(linalg)).lower(*args).as_text(),
        oracle.jit(function(oracle.lax.linalg)).lower(*args).as_text(),
    ]
    ours, theirs = (set(re.findall(r"@(lapack_\w+)", text)) for text in texts)
    assert ours == theirs
    assert ours


def test_exchanges_become_a_permutation():
    pivots = np.random.default_rng(0).integers(0, 5, (2, 2, 3)).astype(np.int32)
    for steps in (pivots, pivots[0, 0], pivots[:, :, :0]):
        permute = jax.jit(lambda p: linalg.lu_pivots_to_permutation(p, 5))
        (found,) = run_text(permute.lower(steps).as_text(), [steps])
        np.testing.assert_array_equal(found, permute(steps))
