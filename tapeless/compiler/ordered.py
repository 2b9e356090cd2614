"""Floats as integers of the same order, for the search of the largest or the least.

    bits                 sign and magnitude: a larger integer is a lesser negative number
    bits ^ (sign & max)  two's complement: one comparison of integers orders all numbers
    ... - first          unsigned, counted from -inf: NaN of either sign is above all numbers

The maximum that takes NaN for the largest number and -0.0 for less than 0.0 is five instructions,
each of which waits for the one before. Of these integers it is one, and what makes them waits for
nothing. For the least, one counts from behind inf, so that NaN is below all numbers.
"""

from __future__ import annotations

import numpy as np

from tapeless.compiler.formats import Format, constant, format_of, typed
from tapeless.compiler.regions import Region

__all__ = ["from_ordered", "ordered_format", "to_ordered"]


def ordered_format(form: Format) -> Format:
    """Return the format of the integers that stand for the registers of a float."""
    return format_of(np.dtype(np.uint64 if form.register == "double" else np.uint32))


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
    return region.emit(f"sub {kind} {key}, {_first(combine, inner, lanes)}")


def from_ordered(
    region: Region,
    combine: str,
    key: str,
    form: Format,
    lanes: int,
) -> str:
    """Turn integers back into floats."""
    inner = ordered_format(form)
    floats, kind = typed(form.register, lanes), typed(inner.register, lanes)
    key = region.emit(f"add {kind} {key}, {_first(combine, inner, lanes)}")
    bits = _turned(region, key, inner, lanes)
    return region.emit(f"bitcast {kind} {bits} to {floats}")


def _first(combine: str, inner: Format, lanes: int) -> str:
    """Return the turned bits that shall be 0: of -inf for a maximum, behind inf for a minimum."""
    fraction = 52 if inner.bits == 64 else 23
    most = (1 << (inner.bits - 1)) - 1
    infinity = most >> fraction << fraction
    value = infinity + 1
    if combine == "max":
        value = infinity ^ ((1 << inner.bits) - 1)
    return constant(value, inner.register, lanes)


def _turned(
    region: Region,
    bits: str,
    inner: Format,
    lanes: int,
) -> str:
    """Flip all bits but the sign where it is set."""
    kind = typed(inner.register, lanes)
    last = constant(inner.bits - 1, inner.register, lanes)
    most = constant((1 << (inner.bits - 1)) - 1, inner.register, lanes)
    sign = region.emit(f"ashr {kind} {bits}, {last}")
    flips = region.emit(f"and {kind} {sign}, {most}")
    return region.emit(f"xor {kind} {bits}, {flips}")
