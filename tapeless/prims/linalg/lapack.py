"""Calls of LAPACK from `lower` rules.

LAPACK stores matrices by columns, the loop language by rows: `Lapack.columns` copies a matrix into
scratch memory the other way round, unless a routine can be told to work on the transpose.  Batches
are loops, one matrix after the other, over the same scratch memory.

A routine that fails says so in `info`; the results are then filled with NaN, as nothing can be
raised from a compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.prims.blas import BLAS_LETTER, character, integer
from tapeless.prims.rules import is_complex

__all__ = ["Lapack", "count_of", "real_part"]

_I32 = np.dtype(np.int32)
Arg = Any  # a character, an int, a kernel value, a pair (value, flat index)


def real_part(dtype: Any) -> np.dtype:
    """Return the dtype of the real numbers that belong to a BLAS dtype."""
    single = np.dtype(dtype) in (
        np.dtype(np.float32),
        np.dtype(np.complex64),
    )
    return np.dtype(np.float32 if single else np.float64)


def count_of(shape: Sequence[int]) -> int:
    """Return the number of matrices in an array of this shape."""
    return int(np.prod(shape[:-2], dtype=int))


class Lapack:
    """The routines for one dtype, scratch memory, and loops over batches."""

    def __init__(self, b: Any, dtype: Any) -> None:
        """b: the kernel builder; dtype: float32, float64, complex64 or complex128."""
        self.b = b
        self.dtype = np.dtype(dtype)
        if self.dtype not in BLAS_LETTER:
            raise NotImplementedError(f"Unsupported dtype {self.dtype} in linear algebra")
        self.letter = BLAS_LETTER[self.dtype]
        self.complex = is_complex(dtype)
        self.real = real_part(dtype)
        self.info = b.buffer(ShapedArray((), _I32))

    def scratch(self, *shape: int, dtype: Any = None) -> Any:
        """Return scratch memory, at least one element of it."""
        extents = tuple(max(1, extent) for extent in shape)
        return self.b.buffer(ShapedArray(extents, np.dtype(dtype or self.dtype)))

    def integers(self, size: int) -> Any:
        """Return scratch memory for int32."""
        return self.scratch(size, dtype=_I32)

    def call(
        self,
        routine: str,
        *args: Arg,
        info: bool = True,
        library: str = "lapack",
    ) -> None:
        """Call a routine; `routine` is the name without its letter.

        Strings are characters, ints are integers by reference, the rest is memory; all memory
        counts as read and written.
        """
        b = self.b
        operands, memory = [], []
        for arg in (*args, self.info) if info else args:
            if isinstance(arg, str):
                operands.append(character(b, arg))
            elif isinstance(arg, int):
                operands.append(integer(b, arg))
            else:
                operands.append(arg)
                memory.append(arg[0] if isinstance(arg, tuple) else arg)
        name = f"{library}:{self.letter}{routine}"
        b.call(name, operands, reads=tuple(memory), writes=tuple(memory))

    def each(self, count: int, body: Callable[[Any], None]) -> None:
        """Run `body(i)` for every matrix, one after the other."""
        if count == 1:
            body(0)
        else:
            self.b.loop(count, body, independent=False)

    def flat(self, x: Any, rank: int = 2) -> Any:
        """View the value (..., n, m) as (count, n, m), stored."""
        shape = x.shape[len(x.shape) - rank :]
        count = int(np.prod(x.shape[: len(x.shape) - rank], dtype=int))
        return self.b.reshape(self.b.stored(x), ShapedArray((count, *shape), x.dtype))

    def out(self, aval: ShapedArray, rank: int = 2) -> tuple[Any, Any]:
        """Return memory for a result, and its view as (count, n, m)."""
        value = self.b.buffer(aval)
        return value, self.flat(value, rank)

    def columns(self, target: Any, x: Any, i: Any, conjugate: bool = False) -> None:
        """Store matrix i of x (count, n, m) by columns: target (m, n)."""
        b = self.b

        def store(index: Sequence[Any]) -> None:
            """Store one element."""
            element = x.at(i, index[1], index[0])
            b.store(
                target,
                index,
                b.conj(element) if conjugate else element,
            )

        b.nest((x.shape[2], x.shape[1]), store)

    def rows(
        self,
        target: Any,
        i: Any,
        source: Any,
        keep: Callable | None = None,
    ) -> None:
        """Store a matrix by columns, source (m', n'), as matrix i of target (count, n, m).

        keep: tells for (row, column) whether the element is kept; 0 is stored where it is not.
        """
        b = self.b
        zero = b.const(0, target.dtype)

        def store(index: Sequence[Any]) -> None:
            """Store one element."""
            element = source.at(index[1], index[0])
            if keep is not None:
                element = b.select(keep(*index), element, zero)
            b.store(target, (i, *index), element)

        b.nest(target.shape[1:], store)

    def spoil(self, i: Any, *targets: Any) -> None:
        """Fill element i of floating-point results with NaN if the last routine failed."""
        b = self.b
        failed = b.ne(b.let(self.info.at()), 0)

        def fill() -> None:
            """Fill them."""
            for target in targets:
                value = complex(np.nan, np.nan) if is_complex(target.dtype) else np.nan
                nan = b.const(value, target.dtype)
                shape = target.shape[1:]
                b.nest(
                    shape,
                    lambda index, t=target, nan=nan: b.store(t, (i, *index), nan),
                )

        b.when(failed, fill)
