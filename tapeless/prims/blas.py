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

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray

__all__ = ["BLAS_LETTER", "Multiply", "Product", "character", "gemm", "integer", "number"]

LARGE = 1 << 24  # multiplications; what takes as long as so many is computed in blocks
NARROW = 20  # columns more, whose time a product takes: its rows are read for few of them
LARGE_MATRIX = 1 << 18  # elements of a matrix that a vector is multiplied by, for the same
BLOCKS = 8  # at most
BLOCK_WORK = 1 << 26  # multiplications of a block, since each of them packs the whole other factor
FEW_RESULTS = 1 << 13  # whose sums are added up in the first cache
THIN = 4  # times as long as another takes a multiplication for few results
LONGEST = 1 << 31  # multiplications of a block, less than a tenth of a second, between two polls
FEWEST_ROWS = 192  # of such a block, since each of them reads the whole other factor
MOST_TERMS = 1 << 13  # of a block of some rows and columns
FEWEST_TERMS = 96  # of a run of terms that is summed apart
BLAS_LETTER = {
    np.dtype(np.float32): "s",
    np.dtype(np.float64): "d",
    np.dtype(np.complex64): "c",
    np.dtype(np.complex128): "z",
}


# How many times as long as of float32 a multiplication takes.
_TIMES = {"s": 1, "d": 2, "c": 4, "z": 8}


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

    The rows of one large product are computed in blocks, which may run in parallel.
    """
    count, n, m, k = sizes
    product = Product(b, x, y, out, sizes, flips)
    if count == 1 and _goes_by_terms(product):
        _by_terms(b, product)
    elif min(n, m) == 1:
        _with_vectors(b, product, count, max(n, m))
    elif min(n, FEWEST_ROWS) * m * k > product.longest:
        _each(b, count, lambda i: _by_tiles(b, product, i))
    elif count == 1 and n * (m + NARROW) * k >= LARGE and n >= BLOCKS:
        blocks = min(max(2, n * m * k // BLOCK_WORK), BLOCKS)
        rows = min(-(-n // blocks), product.longest // (m * k))
        b.loop(n // rows, lambda i: product.of_rows((0, 0, 0), b.imul(i, rows), rows))
        if n % rows:
            product.of_rows((0, 0, 0), n - n % rows, n % rows)
    else:
        _each(b, count, lambda i: product.of_rows((i, i, i), 0, n))


def _by_tiles(b: Any, product: Product, which: Any) -> None:
    """Compute a product too long for one look at signals in tiles of rows, columns and terms."""
    n, m, k = product.n, product.m, product.k
    terms = min(k, MOST_TERMS)
    side = math.isqrt(product.longest // terms)
    rows = min(n, max(side, product.longest // (terms * m)))
    columns = min(m, product.longest // (terms * rows))

    def tile(start: Place, sizes: Sizes) -> None:
        """Sum up one tile of the result."""

        def add(first: Any, length: int) -> None:
            """Add the products of some terms."""
            term = b.iadd(first, terms)
            product.of_tile(
                which,
                (*start, term),
                (*sizes, length),
                add=True,
            )

        product.of_tile(
            which,
            (*start, 0),
            (*sizes, terms),
        )
        _runs(b, k - terms, terms, add)

    def band(row: Any, height: int) -> None:
        """Compute some rows."""
        _runs(
            b,
            m,
            columns,
            lambda column, width: tile(
                (row, column),
                (height, width),
            ),
        )

    _runs(b, n, rows, band)


def _runs(
    b: Any,
    extent: int,
    length: int,
    body: Callable[[Any, int], None],
) -> None:
    """Call `body` with the start and the length of each run of an extent."""
    if extent // length:
        b.loop(extent // length, lambda i: body(b.imul(i, length), length))
    if extent % length:
        body(extent - extent % length, extent % length)


def _goes_by_terms(product: Product) -> bool:
    """Tell whether runs of terms had better be summed apart: there are many, for few results."""
    n, m, k = product.n, product.m, product.k
    if min(n, m) == 1:
        matrix_by_terms = product.flip_x if m == 1 else not product.flip_y
        return matrix_by_terms and n * m * k >= LARGE_MATRIX and k >= BLOCKS * FEWEST_TERMS
    return n * m <= FEW_RESULTS and n * (m + NARROW) * k >= LARGE // 4


def _by_terms(b: Any, product: Product) -> None:
    """Compute one product as the sum of those of runs of terms, which may run in parallel."""
    n, m, k = product.n, product.m, product.k
    length = k // BLOCKS
    parts = b.buffer(ShapedArray((BLOCKS, n, m), product.out.dtype))
    step = min(length, max(1, product.longest // (THIN * n * m)))

    def part(i: Any) -> None:
        """Compute one of the sums, run by run."""
        first = b.imul(i, length)
        product.of_terms(parts, i, first, step)
        rest = b.iadd(first, step)
        _runs(b, length - step, step, lambda j, t: more(i, b.iadd(rest, j), t))

    def more(i: Any, first: Any, terms: int) -> None:
        """Add some terms to a sum."""
        product.of_terms(parts, i, first, terms, add=True)

    b.loop(BLOCKS, part)
    if k % BLOCKS:
        product.of_terms(parts, BLOCKS - 1, BLOCKS * length, k % BLOCKS, add=True)

    def store(index: Sequence[Any]) -> None:
        """Store the sum of one element."""
        total = parts.at(0, *index)
        for part in range(1, BLOCKS):
            total = b.add(total, parts.at(part, *index))
        b.store(product.out, (0, *index), total)

    b.nest((n, m), store)


def _with_vectors(b: Any, product: Product, count: int, extent: int) -> None:
    """Multiply matrices by vectors; the elements of one large product in blocks."""
    if count > 1 or extent * product.k < LARGE_MATRIX or extent < BLOCKS:
        _each(b, count, lambda i: product.with_vector(i, 0, extent))
        return
    size = extent // BLOCKS
    b.loop(BLOCKS, lambda i: product.with_vector(0, b.imul(i, size), size))
    if extent % BLOCKS:
        product.with_vector(0, extent - extent % BLOCKS, extent % BLOCKS)


def _each(b: Any, count: int, body: Callable[[Any], None]) -> None:
    """Run `body` for every product of a batch, in any order."""
    if count == 1:
        body(0)
    else:
        b.loop(count, body)


Matrix = tuple[Any, Any, int, bool]
Place = tuple[Any, ...]
Sizes = tuple[int, ...]


class Multiply:
    """Calls of BLAS's `gemm` for matrices of one dtype.

    A matrix is (value, place of its first element, elements from row to row, whether it is stored
    transposed).
    """

    def __init__(self, b: Any, dtype: np.dtype) -> None:
        """Make the factors that all calls share."""
        self.b, self.letter = b, BLAS_LETTER[dtype]
        self.one, self.zero = number(b, 1, dtype), number(b, 0, dtype)

    def call(self, routine: str, args: Sequence[Any], reads: Sequence[Any], out: Any) -> None:
        """Call a routine, which reads some values and writes `out`."""
        reads = (*reads, self.one, self.zero)
        self.b.call(f"blas:{self.letter}{routine}", args, reads=reads, writes=(out,))

    def matrices(
        self, sizes: Sequence[int], x: Matrix, y: Matrix, out: Matrix, add: bool = False
    ) -> None:
        """Store x y in `out`, or add it there.  sizes: (n, m, k); x: (n, k), y: (k, m)."""
        b = self.b
        n, m, k = sizes
        left, at_left, x_step, flip_x = x
        right, at_right, y_step, flip_y = y
        result, at_result, step, _ = out
        args = (
            character(b, "T" if flip_y else "N"),
            character(b, "T" if flip_x else "N"),
            *(integer(b, size) for size in (m, n, k)),
            self.one,
            (right, at_right),
            integer(b, max(1, y_step)),
            (left, at_left),
            integer(b, max(1, x_step)),
            self.one if add else self.zero,
            (result, at_result),
            integer(b, max(1, step)),
        )
        self.call("gemm", args, (left, right, result) if add else (left, right), result)

    def vector(
        self,
        kind: str,
        shape: Sequence[int],
        matrix: tuple[Any, Any],
        step: int,
        vector: tuple[Any, Any],
        out: tuple[Any, Any],
        add: bool = False,
    ) -> None:
        """Store the product of a matrix, as BLAS sees it, and a vector in `out`, or add it there.

        kind: "T" for that of the transposed matrix.
        """
        b = self.b
        args = (
            character(b, kind),
            integer(b, shape[0]),
            integer(b, shape[1]),
            self.one,
            matrix,
            integer(b, max(1, step)),
            vector,
            integer(b, 1),
            self.one if add else self.zero,
            out,
            integer(b, 1),
        )
        reads = [matrix[0], vector[0]]
        if add:
            reads.append(out[0])
        self.call("gemv", args, reads, out[0])


class Product:
    """The calls of one batch of products; see `gemm`."""

    def __init__(
        self,
        b: Any,
        x: Any,
        y: Any,
        out: Any,
        sizes: Sequence[int],
        flips: Sequence[bool],
    ) -> None:
        """Make the arguments that all calls share."""
        self.b, self.x, self.y, self.out = b, x, y, out
        _, self.n, self.m, self.k = sizes
        self.flip_x, self.flip_y = flips
        self.multiply = Multiply(b, out.dtype)
        self.longest = LONGEST // _TIMES[self.multiply.letter]
        self.x_step = self.n if self.flip_x else self.k
        self.y_step = self.k if self.flip_y else self.m

    def of_rows(self, which: tuple[Any, Any, Any], first: Any, rows: int) -> None:
        """Compute `rows` rows of one product, from row `first`.

        which: the numbers of the matrices in x, y and out.
        """
        b, n, m, k = self.b, self.n, self.m, self.k
        in_x, in_y, in_out = which
        start = b.imul(first, 1 if self.flip_x else k)
        left = (self.x, b.iadd(b.imul(in_x, n * k), start), self.x_step, self.flip_x)
        right = (self.y, b.imul(in_y, k * m), self.y_step, self.flip_y)
        result = (
            self.out,
            b.iadd(
                b.imul(in_out, n * m),
                b.imul(first, m),
            ),
            m,
            False,
        )
        self.multiply.matrices((rows, m, k), left, right, result)

    def of_tile(
        self,
        which: Any,
        start: Place,
        sizes: Sizes,
        add: bool = False,
    ) -> None:
        """Compute some rows and columns of a product from some of its terms, or add that.

        which: the number of the product; start, sizes: of the rows, the columns and the terms.
        """
        n, m, k = self.n, self.m, self.k
        row, column, term = start
        in_x, x_steps = (row, term), (k, 1)
        in_y, y_steps = (term, column), (m, 1)
        if self.flip_x:
            x_steps = (1, n)
        if self.flip_y:
            y_steps = (1, k)
        left = self._place(which, n * k, in_x, x_steps)
        right = self._place(which, k * m, in_y, y_steps)
        out = self._place(which, n * m, (row, column), (m, 1))
        self.multiply.matrices(
            sizes,
            (self.x, left, self.x_step, self.flip_x),
            (self.y, right, self.y_step, self.flip_y),
            (self.out, out, m, False),
            add,
        )

    def _place(
        self,
        which: Any,
        extent: int,
        index: Place,
        steps: Sizes,
    ) -> Any:
        """Return the place of an element of a matrix of a batch; extent: of one matrix."""
        b = self.b
        first, second = index
        down, across = steps
        inside = b.iadd(
            b.imul(first, down),
            b.imul(second, across),
        )
        return b.iadd(
            b.imul(which, extent),
            inside,
        )

    def of_terms(self, parts: Any, number: Any, first: Any, length: int, add: bool = False) -> None:
        """Compute the part of one product that `length` terms from `first` make, or add it."""
        b, n, m = self.b, self.n, self.m
        in_x = b.imul(first, n if self.flip_x else 1)
        in_y = b.imul(first, 1 if self.flip_y else m)
        at = b.imul(number, n * m)
        if min(n, m) > 1:
            left = (self.x, in_x, self.x_step, self.flip_x)
            right = (self.y, in_y, self.y_step, self.flip_y)
            result = (parts, at, m, False)
            self.multiply.matrices((n, m, length), left, right, result, add)
            return
        matrix, vector = (self.x, in_x), (self.y, in_y)
        if m > 1:
            matrix, vector = vector, matrix
        shape = (max(n, m), length)
        self.multiply.vector("N", shape, matrix, max(n, m), vector, (parts, at), add)

    def with_vector(self, batch: Any, first: Any, size: int) -> None:
        """Compute `size` elements, from `first`, of one product of which a factor is a vector."""
        b, k = self.b, self.k
        if self.m == 1:
            matrix, vector = self.x, self.y
            extent, flipped, step = self.n, self.flip_x, self.x_step
        else:
            matrix, vector = self.y, self.x
            extent, flipped, step = self.m, not self.flip_y, self.y_step
        start = b.imul(first, 1 if flipped else step)
        shape = (size, k) if flipped else (k, size)
        in_matrix = b.iadd(b.imul(batch, extent * k), start)
        in_out = b.iadd(b.imul(batch, extent), first)
        self.multiply.vector(
            "N" if flipped else "T",
            shape,
            (matrix, in_matrix),
            step,
            (vector, b.imul(batch, k)),
            (self.out, in_out),
        )
