"""Products of narrow numbers as a processor's own instructions make them, in the loop language.

A matrix register holds 16 rows of 64 bytes.  One instruction multiplies 16 rows of 32 numbers by 16
columns of 32, and adds to 16 x 16 sums in float32.  So factors are cut into such *tiles*, each of
which is contiguous in memory:

    x (n, k): bfloat16 (n / 16, k / 32, 16, 32)
        [i, p, r, c] is x[16 i + r, 32 p + c]
    y (k, m): uint32 (m / 16, k / 2, 16)
        [j, p, c] is y[2 p, 16 j + c] in the low half, y[2 p + 1, 16 j + c] in the high one

What is missing at the edges is zero.  `tiles:product` (`compiler/matrixtiles.py`) multiplies
squares of 2 x 2 tiles.  The instruction takes subnormal numbers for zero, and returns none.

Where there are no matrix registers, an instruction may multiply the pairs of numbers in two
vectors, with the same reserve.  Whole numbers of up to 16 bits have such an instruction, too, whose
sums wrap as those of int32 do.  Factors are words then, of two terms each: panels (`panels.py`) of

    x (n, k): as it lies in memory             y (k, m): uint32 (k / 2, m), pairs as above
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.kernel.panels import PAIRS, SHORTS, Words
from tapeless.kernel.strips import Registers
from tapeless.prims import panels

__all__ = ["multiply_brains", "multiply_pairs", "pays_in_pairs", "pays_in_tiles", "words_of"]

SQUARE = 32  # rows and columns of what is multiplied at once, and the terms of one step
MOST_PADDED = 2  # times the work
SHARED_WORK = 1 << 26  # multiplications; the rows of a product of that size go in blocks
BLOCKS = 8
_ROWS = 16  # of a tile
_FLOAT32 = np.dtype(np.float32)
_INT16 = np.dtype(np.int16)
_UINT16 = np.dtype(np.uint16)
_UINT32 = np.dtype(np.uint32)


def _padded(size: int) -> int:
    """Return the next multiple of a square's side."""
    return -(-size // SQUARE) * SQUARE


def pays_in_tiles(
    n: int,
    m: int,
    k: int,
) -> bool:
    """Tell whether a product of (n, k) and (k, m) fills tiles well enough."""
    whole = _padded(n) * _padded(m) * _padded(k)
    return min(n, m, k) > 1 and whole <= MOST_PADDED * n * m * k


def multiply_brains(
    b: Any,
    x: Any,
    y: Any,
    sizes: Sequence[int],
) -> Any:
    """Return the products of the matrices x and y, batch by batch, stored, in float32.

    sizes: (count, n, m, k); x: (count, n, k), y: (count, k, m) -> (count, n', m'), where n' and m'
    are multiples of a square's side.  The rows of one large product are computed in blocks, which
    may run in parallel.
    """
    count, n, m, k = sizes
    rows, columns, terms = map(_padded, (n, m, k))
    left = _left_tiles(b, x, sizes)
    right = _right_tiles(b, y, sizes)
    out = b.buffer(ShapedArray((count, rows, columns), _FLOAT32))

    def product(
        batch: Any,
        first: Any,
        height: int,
    ) -> None:
        """Compute `height` rows, from row `first`, of one product."""
        row = b.iadd(b.imul(batch, rows), first)
        args = (
            (left, b.imul(row, terms)),
            (right, b.imul(batch, terms * columns // 2)),
            (out, b.imul(row, columns)),
            height // SQUARE,
            columns // SQUARE,
            terms // SQUARE,
        )
        b.call(
            "tiles:product",
            args,
            reads=(left, right),
            writes=(out,),
        )

    if count > 1:
        b.loop(count, lambda i: product(i, 0, rows))
        return out
    height = rows if n * m * k < SHARED_WORK else _padded(-(-rows // BLOCKS))
    if rows // height > 1:
        b.loop(rows // height, lambda i: product(0, b.imul(i, height), height))
    else:
        product(0, 0, height)
    if rows % height:
        product(0, rows - rows % height, rows % height)
    return out


def _pieces(extent: int, size: int) -> list[tuple[int, int, int]]:
    """Cut an axis: where blocks of one length begin, how many there are, and their length."""
    whole, rest = divmod(extent, size)
    found = []
    if whole:
        found.append((0, whole, size))
    if rest:
        found.append((whole, 1, rest))
    return found


def _empty(
    b: Any,
    shape: Sequence[int],
    dtype: np.dtype,
    is_full: bool,
) -> Any:
    """Make memory for tiles, zeros unless all of it will be written."""
    aval = ShapedArray(tuple(shape), dtype)
    out = b.buffer(aval)
    if not is_full:
        b.assign(out, b.constant(0, aval))
    return out


def _left_tiles(
    b: Any,
    x: Any,
    sizes: Sequence[int],
) -> Any:
    """Store the tiles of the left factor."""
    count, n, _, k = sizes
    shape = (
        count,
        _padded(n) // _ROWS,
        _padded(k) // SQUARE,
        _ROWS,
        SQUARE,
    )
    out = _empty(b, shape, x.dtype, n % SQUARE == k % SQUARE == 0)
    for i0, n_blocks, n_rows in _pieces(n, _ROWS):
        for p0, k_blocks, n_columns in _pieces(k, SQUARE):

            def copy(
                index: tuple,
                i0: int = i0,
                p0: int = p0,
            ) -> None:
                """Copy one element."""
                batch, i, r, p, c = index
                i = b.iadd(i, i0)
                p = b.iadd(p, p0)
                row = b.iadd(b.imul(i, _ROWS), r)
                column = b.iadd(b.imul(p, SQUARE), c)
                b.store(out, (batch, i, p, r, c), x.at(batch, row, column))

            b.nest(
                (
                    count,
                    n_blocks,
                    n_rows,
                    k_blocks,
                    n_columns,
                ),
                copy,
            )
    return out


def _right_tiles(
    b: Any,
    y: Any,
    sizes: Sequence[int],
) -> Any:
    """Store the tiles of the right factor."""
    count, _, m, k = sizes
    shape = (
        count,
        _padded(m) // _ROWS,
        _padded(k) // 2,
        _ROWS,
    )
    out = _empty(b, shape, _UINT32, m % SQUARE == k % SQUARE == 0)
    for p0, n_pairs, n_terms in _pieces(k, 2):
        for j0, m_blocks, n_columns in _pieces(m, _ROWS):

            def pair(
                index: tuple,
                p0: int = p0,
                j0: int = j0,
                both: bool = n_terms == 2,
            ) -> None:
                """Store one pair of numbers."""
                batch, p, j, c = index
                p = b.iadd(p, p0)
                j = b.iadd(j, j0)
                column = b.iadd(b.imul(j, _ROWS), c)
                b.store(out, (batch, j, p, c), _pair(b, y, (batch, p, column), both))

            b.nest(
                (
                    count,
                    n_pairs,
                    m_blocks,
                    n_columns,
                ),
                pair,
            )
    return out


def words_of(x: Any, y: Any, sums: Any) -> Words | None:
    """Return the words of two numbers of dtypes x and y that are summed in a dtype, if any."""
    if dtypes.bfloat16 == x == y and sums == _FLOAT32:
        return PAIRS
    is_narrow = {x, y} <= {np.dtype(dtype) for dtype in ("int8", "uint8", "int16")}
    return SHORTS if is_narrow and sums.itemsize <= SHORTS.itemsize else None


def pays_in_pairs(
    registers: Registers | None, sizes: Sequence[int], words: Words | None = PAIRS
) -> bool:
    """Tell whether products are faster by pairs of terms.  sizes: (count, n, m, k)."""
    *others, k = sizes
    if registers is None or words is None or k % 2:
        return False
    has_instruction = registers.brains if words == PAIRS else registers.shorts
    return has_instruction and panels.pays_in_panels(registers, (*others, k // 2), words)


def multiply_pairs(b: Any, x: Any, y: Any, sizes: Sequence[int], words: Words = PAIRS) -> Any:
    """Return the products of the matrices x and y, batch by batch, stored, in the words' sums.

    sizes: (count, n, m, k); x: (count, n, k), stored, y: (count, k, m) -> (count, n, m)
    """
    count, n, m, k = sizes
    half = (count, n, m, k // 2)

    def pull(index: Sequence[Any]) -> Any:
        """Return the word of two terms."""
        return _pair(b, y, index, True)

    if panels.pays_apart(b.registers, half, words):
        return panels.multiply_apart(b, x, pull, half, (words, False, False))
    packed = panels.packed_panels(b, pull, (count, k // 2, m), (words, False))
    return panels.multiply_panels(b, x, packed, half, (words, False))


def _pair(b: Any, y: Any, index: Sequence[Any], both: bool) -> Any:
    """Return the word of two terms of a column, or of one, at (batch, pair, column)."""
    batch, pair, column = index
    row = b.imul(pair, 2)
    bits = _bits(b, y.at(batch, row, column))
    if not both:
        return bits
    high = _bits(b, y.at(batch, b.iadd(row, 1), column))
    return b.or_(bits, b.shift_left(high, 16))


def _bits(b: Any, x: Any) -> Any:
    """Return the bits of a narrow number as the low half of a word."""
    narrow = x if dtypes.bfloat16 == x.dtype else b.convert(x, _INT16)
    return b.convert(b.bitcast(narrow, _UINT16), _UINT32)
