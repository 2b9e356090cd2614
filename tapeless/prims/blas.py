"""Matrix products by BLAS, as statements of the loop language.

The loop language stores arrays by rows, BLAS reads them by columns; so a product C = A B is
computed as C' = B' A', where no element moves: what one reads as C by rows, the other reads as C'
by columns.

Fortran takes every argument by reference: the compiler passes the address of a scalar argument.
Characters are int8 scalars, integers int32 scalars, floating-point arguments values of rank 0.
A matrix operand is a stored value whose last two axes are the matrix; batches are a loop around the
call, with displaced pointers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray

__all__ = ["BLAS_LETTER", "character", "gemm", "integer", "number"]

BLAS_LETTER = {
    np.dtype(np.float32): "s",
    np.dtype(np.float64): "d",
    np.dtype(np.complex64): "c",
    np.dtype(np.complex128): "z",
}


def character(b: Any, text: str) -> Any:
    """Return a Fortran CHARACTER argument."""
    return b.const(ord(text), np.dtype(np.int8))


def integer(b: Any, value: int) -> Any:
    """Return a Fortran INTEGER argument."""
    return b.const(value, np.dtype(np.int32))


def number(b: Any, value: float, dtype: np.dtype) -> Any:
    """Return a floating-point argument, complex ones included: a stored value of rank 0."""
    return b.stored(b.constant(value, ShapedArray((), dtype)))


def gemm(
    b: Any,
    x: Any,
    y: Any,
    out: Any,
    sizes: Sequence[int],
    flips: Sequence[bool],
) -> None:
    """Store the products of the matrices of x and y in out, batch by batch.

    sizes: (count, n, m, k); x: (count, n, k) or, flipped, (count, k, n); y: (count, k, m) or,
    flipped, (count, m, k); out: (count, n, m).  All are stored and of one BLAS dtype.
    """
    count, n, m, k = sizes
    flip_x, flip_y = flips
    symbol = f"blas:{BLAS_LETTER[out.dtype]}gemm"
    one, zero = number(b, 1, out.dtype), number(b, 0, out.dtype)
    flags = (
        character(b, "T" if flip_y else "N"),
        character(b, "T" if flip_x else "N"),
    )
    extents = tuple(integer(b, size) for size in (m, n, k))
    steps = tuple(integer(b, max(1, size)) for size in (k if flip_y else m, n if flip_x else k, m))

    def product(batch: Any) -> None:
        """Multiply one pair of matrices."""
        left = (x, b.imul(batch, n * k))
        right = (y, b.imul(batch, k * m))
        result = (out, b.imul(batch, n * m))
        args = [
            *flags,
            *extents,
            one,
            right,
            steps[0],
            left,
            steps[1],
            zero,
            result,
            steps[2],
        ]
        b.call(symbol, args, reads=(x, y, one, zero), writes=(out,))

    if count == 1:
        product(0)
    else:
        b.loop(count, product)
