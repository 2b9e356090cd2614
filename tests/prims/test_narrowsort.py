"""Sorts of narrow numbers: each way gives the same, bit by bit, in any number of lines."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.kernel.strips import Registers
from tapeless.prims import sort
from tapeless.prims.narrowsort import narrow_sort_for

WIDE, MIDDLE = Registers(32, 64), Registers(16, 32)
DTYPES = "bool int8 uint8 int16 uint16 float16 bfloat16".split()
WAYS = ("vectors", "digits", "tally")


def drawn(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return any bits at all: of floats zeros of both signs, and many NaNs."""
    draw = np.random.default_rng(len(shape) + dtype.itemsize)
    word = np.dtype(f"uint{8 * dtype.itemsize}")
    x = draw.integers(0, np.iinfo(word).max, shape, word, endpoint=True)
    x = np.where(draw.random(shape) < 0.2, 1 << (8 * dtype.itemsize - 1), x).astype(word)
    x[draw.random(shape) < 0.1] = 0
    return x % 2 == 1 if dtype == np.bool_ else x.view(dtype)


def stable(x: np.ndarray) -> np.ndarray:
    """Return the bits of a sorted array."""
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        keys = x.astype(np.float64) + 0.0
    word = f"uint{8 * x.dtype.itemsize}"
    return np.take_along_axis(x.view(word), np.argsort(keys, axis=-1, kind="stable"), -1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 49), (300, 17), (7, 1003), (3, 70_001)])
def test_every_way_gives_the_same(monkeypatch, shape, dtype, way):
    asked = []
    monkeypatch.setattr(sort.narrowsort, "narrow_sort_for", lambda *args: asked.append(args) or way)
    more = WAYS.index(way)  # rows, so that the program is another one
    x = drawn((shape[0] + more, shape[1]), np.dtype(getattr(dtypes, dtype, dtype)))
    found = np.asarray(sort.sort(x))
    assert asked
    np.testing.assert_array_equal(stable(x), found.view(f"uint{8 * x.dtype.itemsize}"))


def test_which_way_is_taken():
    def way(dtype: str, size: int, registers: Registers | None = WIDE) -> str | None:
        """Return how a line is sorted."""
        return narrow_sort_for(registers, [ShapedArray((size,), np.dtype(dtype))], size)

    assert way("int16", 1000) == "vectors"
    assert way("int8", 1000) == "vectors"
    assert way("int16", 10_000) == "digits"
    assert way("int8", 10_000) == "tally"
    assert way("float16", 100_000) == "tally"
    assert way("float16", 1000, MIDDLE) is None
    assert way("float16", 10_000, None) == "digits"
    assert way("int32", 1000) is None
    assert way("int16", 40) is None
    pair = [ShapedArray((1000,), np.dtype(np.int16))] * 2
    assert narrow_sort_for(WIDE, pair, 1000) is None
