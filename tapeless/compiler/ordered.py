"""Floats as integers of the same order, for the search of the largest or the least.

    bits                 sign and magnitude: a larger integer is a lesser negative number
    bits ^ (sign & max)  two's complement: one comparison of integers orders all numbers

The maximum that takes NaN for the largest number and -0.0 for less than 0.0 is five instructions,
each of which waits for the one before. Of these integers it is one, and what makes them waits for
nothing. NaN becomes the integer that no number has and that wins: the largest, or the least.
"""

from __future__ import annotations

import numpy as np

from tapeless.compiler.formats import Format, constant, format_of, typed
from tapeless.compiler.operations import identity
from tapeless.compiler.regions import Region

__all__ = ["from_ordered", "ordered_format", "to_ordered"]


def ordered_format(form: Format) -> Format:
    """Return the format of the integers that stand for the registers of a float."""
    return format_of(np.dtype(np.int64 if form.register == "double" else np.int32))


def to_ordered(
    region: Region,
    combine: str,
    text: str,
    form: Format,
    lanes: int,
) -> str:
    """Turn floats into integers that `combine`, min or max, chooses from."""
    inner = ordered_format(form)
    floats, kind = typed(form.register, lanes), typed(inner.register, lanes)
    bits = region.emit(f"bitcast {floats} {text} to {kind}")
    key = _turned(region, bits, inner, lanes)
    unordered = region.emit(f"fcmp uno {floats} {text}, {text}")
    opposite = "min" if combine == "max" else "max"
    winner = constant(
        identity(opposite, inner),
        inner.register,
        lanes,
    )
    flags = typed("i1", lanes)
    chosen = f"{kind} {winner}, {kind} {key}"
    return region.emit(f"select {flags} {unordered}, {chosen}")


def from_ordered(
    region: Region,
    key: str,
    form: Format,
    lanes: int,
) -> str:
    """Turn integers back into floats."""
    inner = ordered_format(form)
    bits = _turned(region, key, inner, lanes)
    floats, kind = typed(form.register, lanes), typed(inner.register, lanes)
    return region.emit(f"bitcast {kind} {bits} to {floats}")


def _turned(
    region: Region,
    bits: str,
    inner: Format,
    lanes: int,
) -> str:
    """Flip all bits but the sign where it is set."""
    kind = typed(inner.register, lanes)
    last = constant(inner.bits - 1, inner.register, lanes)
    most = constant(identity("min", inner), inner.register, lanes)
    sign = region.emit(f"ashr {kind} {bits}, {last}")
    flips = region.emit(f"and {kind} {sign}, {most}")
    return region.emit(f"xor {kind} {bits}, {flips}")
