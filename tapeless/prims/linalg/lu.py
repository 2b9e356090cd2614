"""The LU factorisation with row exchanges: A[p] = L U.

    lu: (..., n, m) -> LU (..., n, m), pivots (..., k), permutation (..., n);  k = min(n, m)

L (unit lower triangular) and U share one matrix.  Row i was exchanged with row pivots[i], in order;
the permutation is the result of all exchanges.  With F = L^-1 dA[p] U^-1,
dL = L tril(F, -1) and dU = triu(F) U.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.binary import add
from tapeless.prims.common import const, dtype_of, shape_of
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers
from tapeless.prims.linalg.calls import Calls, permutation
from tapeless.prims.linalg.lapack import Lapack
from tapeless.prims.linalg.matrices import (
    Factorisation,
    check_matrix,
    eye,
    matmul,
    transposed,
    tril,
    triu,
)
from tapeless.prims.linalg.small import is_small, small_lu, small_operand
from tapeless.prims.linalg.triangular import (
    triangular_solve,
)
from tapeless.prims.rules import WithoutTangent
from tapeless.prims.slice import pad, slice_in_dim
from tapeless.prims.structural import expand_dims

__all__ = [
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "permuted_columns",
    "solve_square",
]

_I32 = np.dtype(np.int32)


def _permute(b: Any, pivots: Any, order: Any, count: int) -> None:
    """Store in order (count, n) the permutation that the exchanges pivots (count, k) make."""

    def one(i: Any) -> None:
        """Start with the identity and exchange."""
        b.loop(
            order.shape[1],
            lambda j: b.store(order, (i, j), b.convert(j, _I32)),
        )

        def exchange(j: Any) -> None:
            """Exchange elements j and pivots[j]."""
            other = b.convert(pivots.at(i, j), np.dtype(np.int64))
            other = b.let(b.max(b.min(other, order.shape[1] - 1), 0))
            mine, theirs = (
                b.let(order.at(i, j)),
                b.let(order.at(i, other)),
            )
            b.store(order, (i, j), theirs)
            b.store(order, (i, other), mine)

        b.loop(pivots.shape[1], exchange, independent=False)

    b.loop(count, one, independent=False)


class LU(Factorisation):
    """A (..., n, m) -> LU (..., n, m), pivots (..., k), permutation (..., n)."""

    name = "lu"

    def abstract(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        pivots = ShapedArray((*batch, min(n, m)), _I32)
        return a, pivots, ShapedArray((*batch, n), _I32)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
    ) -> tuple:
        factors, pivots, order = self.bind(*primals)
        nothing = tuple(Zero(typeof(x).tangent()) for x in (pivots, order))
        if isinstance(tangents[0], Zero):
            tangent: Value | Zero = Zero(typeof(factors).tangent())
        else:
            tangent = _tangent(factors, order, tangents[0])
        return (factors, pivots, order), (tangent, *nothing)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        (a,) = args
        routines = Lapack(b, outs[0].dtype)
        factors, flat = routines.out(outs[0])
        pivots, steps = routines.out(outs[1], 1)
        order, places = routines.out(outs[2], 1)
        count, n, m = flat.shape
        if is_small(outs[0]):
            small_lu(b, small_operand(b, a), flat, steps, places)
            return factors, pivots, order
        source = routines.flat(a)
        scratch = routines.scratch(m, n)

        def factor(i: Any) -> None:
            """Factor one matrix."""
            routines.columns(scratch, source, i)
            raw = routines.integers(min(n, m))
            routines.call("getrf", n, m, scratch, max(1, n), raw)
            routines.rows(flat, i, scratch)
            b.loop(
                min(n, m),
                lambda j: b.store(steps, (i, j), b.sub(raw.at(j), 1)),
            )

        if outs[0].size:
            routines.each(count, factor)
        if outs[2].size:
            _permute(b, steps, places, count)
        return factors, pivots, order

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        factors, pivots, order = outs
        calls = Calls(b, factors.dtype, factors.shape[:-2])
        raw, steps, info = calls.call("getrf", args, [factors, pivots, calls.info], reused={0: 0})
        (steps,) = b.op("stablehlo.subtract", [steps, b.constant(1, pivots)], [pivots])
        return *calls.valid(info, [raw], "GE"), steps, permutation(b, steps, order)

    def reference(self, a: np.ndarray) -> tuple:
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        factors = a.copy()
        pivots = np.zeros((*batch, min(n, m)), np.int32)
        order = np.broadcast_to(np.arange(n, dtype=np.int32), (*batch, n)).copy()
        for index in np.ndindex(*batch):
            work, rows = factors[index], order[index]
            for j in range(min(n, m)):
                p = j + int(np.argmax(np.abs(work[j:, j])))
                pivots[(*index, j)] = p
                work[[j, p]], rows[[j, p]] = (
                    work[[p, j]],
                    rows[[p, j]],
                )
                if work[j, j] != 0:
                    work[j + 1 :, j] /= work[j, j]
                work[j + 1 :, j + 1 :] -= np.outer(work[j + 1 :, j], work[j, j + 1 :])
        return factors, pivots, order


def _padded(x: Value, before: int, after: tuple[int, int]) -> Value:
    """Add rows and columns of zeros: `before` in front of both, `after` = (rows, columns)."""
    rank = len(shape_of(x))
    config = [(0, 0, 0)] * (rank - 2) + [(before, extra, 0) for extra in after]
    return pad(x, const(x, 0), tuple(config))


def _tangent(factors: Value, order: Value, da: Value) -> Value:
    """Return the tangent of LU; the factors are completed to square matrices."""
    shape, dtype = shape_of(factors), dtype_of(factors)
    batch, (n, m) = shape[:-2], shape[-2:]
    k, rank = min(n, m), len(shape)
    left = tril(slice_in_dim(factors, 0, k, axis=rank - 1), -1)
    left = add(
        _padded(left, 0, (0, n - k)),
        eye((*batch, n, n), dtype),
    )
    right = triu(slice_in_dim(factors, 0, k, axis=rank - 2))
    rest = _padded(eye((*batch, m - k, m - k), dtype), k, (0, 0))
    right = add(_padded(right, 0, (m - k, 0)), rest)
    inner = triangular_solve(
        left,
        permuted_rows(da, order),
        left_side=True,
        lower=True,
        unit_diagonal=True,
    )
    inner = triangular_solve(right, inner, left_side=False, lower=False)
    return add(
        matmul(left, tril(inner, -1)),
        matmul(triu(inner), right),
    )


def solve_square(a: Value, y: Value) -> Value:
    """Return a^-1 y.  a: (..., n, n), y: (..., n, m) -> (..., n, m)"""
    factors, _, order = lu(a)
    inner = triangular_solve(
        factors,
        permuted_rows(y, order),
        left_side=True,
        lower=True,
        unit_diagonal=True,
    )
    return triangular_solve(factors, inner, left_side=True, lower=False)


def permuted_rows(x: Value, order: Value) -> Value:
    """Return the rows of matrices (..., n, m) in the order (..., n)."""
    shape = shape_of(x)
    rank = len(shape)
    if shape[-2] == 0:
        return x
    batch = tuple(range(rank - 2))
    numbers = GatherDimensionNumbers((rank - 1,), (rank - 2,), (rank - 2,), batch, batch)
    sizes = (*(1 for _ in batch), 1, shape[-1])
    places = expand_dims(order, (rank - 1,))
    return gather(x, places, numbers, sizes, mode="promise_in_bounds")


def permuted_columns(x: Value, order: Value) -> Value:
    """Return the columns of matrices (..., n, m) in the order (..., m)."""
    return transposed(permuted_rows(transposed(x), order))


class PivotsToPermutation(WithoutTangent, Factorisation):
    """pivots (..., k) -> permutation (..., permutation_size)."""

    name = "lu_pivots_to_permutation"

    def abstract(self, pivots: ShapedArray, *, permutation_size: int) -> tuple[ShapedArray, ...]:
        if pivots.ndim < 1 or pivots.dtype != _I32:
            raise ValueError(
                "Argument to lu_pivots_to_permutation must have rank >= 1 and dtype int32. "
                f"Got {pivots}"
            )
        if permutation_size < pivots.shape[-1]:
            raise ValueError(
                f"Output permutation size {permutation_size} has to exceed the trailing dimension "
                f"of the pivots. Got pivots size {pivots.shape[-1]}"
            )
        return (ShapedArray((*pivots.shape[:-1], permutation_size), _I32),)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        permutation_size: int,
    ) -> tuple:
        count = int(np.prod(outs[0].shape[:-1], dtype=int))
        target = b.buffer(outs[0])
        if outs[0].size:
            shape = ShapedArray((count, args[0].shape[-1]), _I32)
            pivots = b.reshape(b.stored(args[0]), shape)
            order = b.reshape(
                target,
                ShapedArray((count, permutation_size), _I32),
            )
            _permute(b, pivots, order, count)
        return (target,)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        return (permutation(b, args[0], outs[0]),)

    def reference(self, pivots: np.ndarray, *, permutation_size: int) -> tuple:
        out = np.empty((*pivots.shape[:-1], permutation_size), np.int32)
        out[...] = np.arange(permutation_size)
        for index in np.ndindex(*pivots.shape[:-1]):
            for j, p in enumerate(pivots[index]):
                out[index][[j, p]] = out[index][[p, j]]
        return (out,)


lu_p = LU()
lu_pivots_to_permutation_p = PivotsToPermutation()


def lu(x: Value) -> list[Value]:
    """Return the LU factors, the pivots and the permutation p, with x[p] = L U.

    x: (..., n, m) -> (..., n, m), int32 (..., k), int32 (..., n) with k = min(n, m).

    >>> lax.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))[0]
    Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32)
    """
    return list(lu_p.bind(x))


def lu_pivots_to_permutation(pivots: Value, permutation_size: int) -> Value:
    """Return the permutation that a sequence of row exchanges makes: (..., k) -> (..., n).

    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([1, 2, 2]), 3)
    Array([1, 2, 0], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=int(permutation_size))[0]
