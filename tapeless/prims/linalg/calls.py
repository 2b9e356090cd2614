"""LAPACK in `hlo` rules: the custom calls by which XLA reaches it, and what stands around them.

    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {api_version = 4 : i32,
        backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : ...], ...}

The targets are those that JAX names on CPUs: `lapack_`, a letter for the dtype, the routine.  The
options of a routine are attributes of `backend_config`; characters are written as their codes.

LAPACK stores matrices by columns, so each matrix has a layout with its last two axes exchanged, and
XLA copies where that is not how an operand lies.  Vectors and batch axes keep their order: an array
with two axes more than the batch is a matrix.  The last result is `info`, one int32 per matrix; the
other results are replaced by NaN where it says that the routine failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.prims.blas import BLAS_LETTER
from tapeless.prims.common import stretched_hlo
from tapeless.prims.rearrangement import array_text
from tapeless.prims.rules import is_complex

__all__ = ["Calls", "identity", "permutation", "upper_triangle"]

_I32 = np.dtype(np.int32)
_NOTHING: Mapping = MappingProxyType({})


class Calls:
    """The routines for one dtype, on batches of one shape."""

    def __init__(self, b: Any, dtype: Any, batch: Sequence[int]) -> None:
        """b: the writer of StableHLO; batch: the axes before those of a matrix."""
        self.b = b
        self.batch = tuple(batch)
        if np.dtype(dtype) not in BLAS_LETTER:
            raise NotImplementedError(f"Unsupported dtype {np.dtype(dtype)} in linear algebra")
        self.letter = BLAS_LETTER[np.dtype(dtype)]
        self.complex = is_complex(dtype)
        self.info = ShapedArray(self.batch, _I32)

    def call(
        self,
        routine: str,
        args: Sequence,
        outs: Sequence[ShapedArray],
        config: Mapping[str, str | bool | int] = _NOTHING,
        reused: Mapping[int, int] = _NOTHING,
    ) -> tuple:
        """Write the call of a routine; `routine` is the name without its letter.

        config: its options by name.  reused: which result takes the memory of which operand.
        Of empty matrices, which the routines refuse, all results are zeros.
        """
        if args[0].aval.size == 0:
            return tuple(self.b.constant(0, out) for out in outs)
        options = [f"{name} = {_option(value)}" for name, value in sorted(config.items())]
        aliases = [_alias(*pair, outs) for pair in sorted(reused.items())]
        attributes = {
            "api_version": "4 : i32",
            "backend_config": f"{{{', '.join(options)}}}",
            "operand_layouts": self._layouts(arg.aval for arg in args),
            "output_operand_aliases": f"[{', '.join(aliases)}]",
            "result_layouts": self._layouts(outs),
        }
        return self.b.custom_call(f"lapack_{self.letter}{routine}_ffi", args, outs, attributes)

    def _layouts(self, avals: Any) -> str:
        """Return the layouts of arrays, matrices by columns."""
        texts = []
        for aval in avals:
            order = list(range(aval.ndim))[::-1]
            if aval.ndim == len(self.batch) + 2:
                order[:2] = order[1::-1]
            inner = f"[{', '.join(map(str, order))}]" if order else ""
            texts.append(f"dense<{inner}> : tensor<{aval.ndim}xindex>")
        return f"[{', '.join(texts)}]"

    def valid(self, info: Any, values: Sequence, direction: str = "EQ") -> tuple:
        """Write the values with NaN where `info` does not compare with 0 as `direction` says."""
        b = self.b
        zero = b.constant(0, info.aval)
        good = b.compare(direction, info, zero)
        kept = []
        for value in values:
            aval = value.aval
            nothing = b.constant(_nan(aval.dtype), aval)
            kept.append(b.select_rows(good, value, nothing))
        return tuple(kept)


def _option(value: str | bool | int) -> str:
    """Return an option of a routine as an attribute."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{ord(value)} : ui8" if isinstance(value, str) else f"{value} : i32"


def _alias(result: int, operand: int, outs: Sequence) -> str:
    """Return the attribute that a result takes the memory of an operand."""
    indices = f"[{result}]" if len(outs) > 1 else "[]"
    fields = f"output_tuple_indices = {indices}, operand_index = {operand}"
    return f"#stablehlo.output_operand_alias<{fields}, operand_tuple_indices = []>"


def _nan(dtype: np.dtype) -> complex:
    """Return NaN of a dtype."""
    return complex(np.nan, np.nan) if is_complex(dtype) else np.nan


def identity(b: Any, aval: ShapedArray) -> Any:
    """Write identity matrices (..., n, n)."""
    same = b.compare("EQ", *_counts(b, aval))
    one, zero = b.constant(1, aval), b.constant(0, aval)
    return b.select_rows(same, one, zero)


def upper_triangle(b: Any, x: Any) -> Any:
    """Write x (..., n, m) with zeros below the diagonal."""
    aval = x.aval
    keep = b.compare("LE", *_counts(b, aval))
    zero = b.constant(0, aval)
    return b.select_rows(keep, x, zero)


def _counts(b: Any, aval: ShapedArray) -> tuple:
    """Write the row and the column of each element of matrices (..., n, m)."""
    numbers = aval.update(dtype=_I32)
    row = b.iota(numbers, aval.ndim - 2)
    column = b.iota(numbers, aval.ndim - 1)
    return row, column


def permutation(b: Any, pivots: Any, order: ShapedArray) -> Any:
    """Write the permutation (..., n), of type `order`, that the exchanges pivots (..., k) make."""
    last = order.ndim - 1
    k = pivots.aval.shape[last]
    number = order.update(shape=())
    zero = b.constant(0, number)
    places = b.iota(order, last)
    if k == 0:
        return places

    def more(i: Any, steps: Any, rows: Any) -> Any:
        """Tell whether exchanges are left."""
        return b.compare("LT", i, b.constant(k, number))

    def exchange(i: Any, steps: Any, rows: Any) -> list:
        """Exchange elements i and steps[i] of each row."""
        here = b.compare("EQ", places, stretched_hlo(b, i, order.shape))
        other = _column(b, steps, [*[zero] * last, i])
        there = b.compare("EQ", places, stretched_hlo(b, other, order.shape))
        first = _taken(b, rows, here)
        second = _taken(b, rows, there)
        rows = b.select_rows(there, first, rows)
        rows = b.select_rows(here, second, rows)
        one = b.constant(1, number)
        (after,) = b.op("stablehlo.add", [i, one], [number])
        return [after, steps, rows]

    init = [zero, pivots, places]
    return b.while_loop(init, more, exchange)[-1]


def _column(b: Any, x: Any, starts: Sequence) -> Any:
    """Write the column (..., 1) of x (..., k) that begins at `starts`."""
    shape = (*x.aval.shape[:-1], 1)
    aval = x.aval.update(shape=shape)
    sizes = {"slice_sizes": array_text(shape)}
    return b.op("stablehlo.dynamic_slice", [x, *starts], [aval], sizes)[0]


def _taken(b: Any, rows: Any, which: Any) -> Any:
    """Write the element of each row where `which` is true, for every element of the row."""
    aval = rows.aval
    *batch, _ = aval.shape
    chosen = b.select_rows(which, rows, b.constant(0, aval))
    flat = aval.update(shape=tuple(batch))
    total = b.reduce("stablehlo.add", chosen, 0, [len(batch)], flat)
    column = aval.update(shape=(*batch, 1))
    (total,) = b.op("stablehlo.reshape", [total], [column])
    return stretched_hlo(b, total, aval.shape)
