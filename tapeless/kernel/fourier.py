"""Fourier transforms of many lines at once, a line in each lane of vectors, named by what they do.

A *group* is as many lines as a vector has lanes. In its memory, the numbers at one place of all
lines are a vector of real and one of imaginary parts. A transform of length n is one pass for each
factor r of n, from one memory to another (Stockham's order: nothing has to be sorted afterwards):

    y[q + s (r p + i)] = w[p i] sum over j of exp(-2 pi i j i / r) x[q + s (p + j P)]

P: n / (r s), s: the product of the factors before, q < s, p < P, w[k] = exp(-2 pi i k / (r P)).

The first pass may read, and the last one write, lines that lie beside each other (*columns*); lines
that lie behind each other (*rows*) are brought in and out by transposing tiles. The inverse is the
same with real and imaginary parts exchanged on both ways.

    fourier:dtype:lanes:kind:sign(...)

    gather         (rows, group, numbers, step, count)     real numbers of a row, and between rows
    scatter        (group, rows, numbers, step, count, scale)
    a pass         (x, y, table, P, s, x_step, y_step, count, scale); see below
    twist          (group, scalars, vectors, size)         the middle of a transform in two steps
    split, whole   (group, out, table, half)               the spectrum of 2 half real numbers
    merge          (group, out, table, half)               and back
    a table        (out); kind: name and sizes, see `table_of`

The kind of a pass is its factor, where it reads and where it writes (s: a group, c: columns), and
`w` if there are roots to multiply by, as in all passes but the last.

count: the lines of the group that exist. The text is in `compiler/fouriertext.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tapeless.util.records import record

__all__ = [
    "FOURIER",
    "Fourier",
    "bytes_of",
    "factors_of",
    "fourier_of",
    "roots_of_one",
    "table_of",
    "work_of",
]

FOURIER = "fourier:"
_FACTORS = (13, 11, 7, 5, 3)
_EIGHT = 8
_BESIDE = ("twist", "split", "whole", "merge")  # whose size is the fourth argument
# A quarter of pi, with what a double has not.
_QUARTER = (np.longdouble(np.pi) + np.longdouble(1.2246467991473532e-16)) / 4


@record
class Fourier:
    """What a routine does: the dtype of parts, lanes, its kind, and 1, or -1 for the inverse."""

    dtype: np.dtype
    lanes: int
    kind: str
    sign: int = 1

    @property
    def factor(self) -> int:
        """Of a pass; 0 if it is none."""
        digits = self.kind.rstrip("scw")
        return int(digits) if digits.isdigit() else 0

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        return f"{FOURIER}{self.dtype.name}:{self.lanes}:{self.kind}:{self.sign}"


def fourier_of(symbol: str) -> Fourier:
    """Return the routine that a symbol names."""
    _, name, lanes, kind, sign = symbol.split(":")
    return Fourier(np.dtype(name), int(lanes), kind, int(sign))


def factors_of(n: int) -> list[int] | None:
    """Return the factors of the passes for a length; None if there is a prime above thirteen."""
    found = []
    for factor in _FACTORS:
        while n % factor == 0:
            found.append(factor)
            n //= factor
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    eights, rest = divmod(twos, 3)
    if rest == 1 and eights:
        return [*found, 4, 4, *[_EIGHT] * (eights - 1)]
    return [*found, *([1 << rest] if rest else []), *[_EIGHT] * eights]


def roots_of_one(n: int, powers: np.ndarray) -> np.ndarray:
    """Return exp(-2 pi i k / n) for the powers k, as pairs, rounded from more digits."""
    eighth = 8 * (powers % n)
    octant = eighth // n
    angle = (eighth - octant * n).astype(np.longdouble) / n
    turned = np.where(octant % 2 == 1, 1 - angle, angle) * _QUARTER
    cosine, sine = np.cos(turned), np.sin(turned)
    swaps = (octant % 4 == 1) | (octant % 4 == 2)
    real, imaginary = np.where(swaps, sine, cosine), np.where(swaps, cosine, sine)
    real = np.where((octant >= 2) & (octant < 6), -real, real)
    imaginary = np.where(octant >= 4, imaginary, -imaginary)
    return np.stack([real, imaginary], axis=-1)


def table_of(routine: Fourier) -> np.ndarray:
    """Return the numbers that a table has.

    line.n        of the passes: for each, (P, r - 1) powers
    twist.n.m     (groups, m) scalars, then (m, lanes) vectors of real, then of imaginary parts
    real.n        the powers up to n / 4
    """
    name, *rest = routine.kind.split(".")
    sizes = [int(size) for size in rest]
    if name == "line":
        (n,) = sizes
        parts = []
        for factor in factors_of(n) or ():
            p, i = np.arange(n // factor)[:, None], np.arange(1, factor)
            parts.append(roots_of_one(n, p * i).ravel())
            n //= factor
        numbers = np.concatenate(parts)
    elif name == "twist":
        n, m = sizes
        first = routine.lanes * np.arange(-(-n // routine.lanes))[:, None]
        scalars = roots_of_one(n * m, first * np.arange(m))
        vectors = roots_of_one(n * m, np.arange(m)[:, None] * np.arange(routine.lanes))
        numbers = np.concatenate([scalars.ravel(), vectors.swapaxes(1, 2).ravel()])
    else:
        (n,) = sizes
        numbers = roots_of_one(n, np.arange(n // 4 + 1)).ravel()
    return numbers.astype(routine.dtype)


def work_of(routine: Fourier, sizes: Sequence[float]) -> float:
    """Return about how many operations on numbers a call is.

    sizes: its arguments, 1 for those that are no known numbers.
    """
    factor = routine.factor
    if not factor:
        return 4 * routine.lanes * math.prod(sizes[3:4] if routine.kind in _BESIDE else sizes[2:3])
    turns = 6 if routine.kind.endswith("w") else 0
    return math.prod(sizes[3:5]) * factor * routine.lanes * (5 * math.log2(factor) + turns)


def bytes_of(routine: Fourier, sizes: Sequence[float]) -> float:
    """Return how many bytes a call reads and writes outside of the memory of groups."""
    size = routine.dtype.itemsize
    if routine.kind in ("gather", "scatter"):
        return sizes[2] * sizes[4] * size
    if not routine.factor:
        return 0
    columns = routine.kind.count("c")
    return 2 * columns * routine.factor * math.prod(sizes[3:5]) * sizes[7] * size
