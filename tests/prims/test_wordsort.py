"""Sorts by the routines of wide vectors: equal elements stay in order, bit by bit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tapeless import enable_x64
from tapeless.core.aval import ShapedArray
from tapeless.kernel.strips import Registers
from tapeless.numpy import sorting
from tapeless.prims import sort, topk
from tapeless.prims.wordsort import word_sort_for

WIDE, MIDDLE, ARM = Registers(32, 64), Registers(16, 32), Registers(32, 16)
DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def bits(x: np.ndarray) -> np.ndarray:
    """Return the bits of numbers."""
    return np.ascontiguousarray(x).view(f"uint{8 * x.dtype.itemsize}")


def stable_order(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the places in order: zeros are equal, and so are NaNs."""
    return np.argsort(np.where(x == 0, np.zeros((), x.dtype), x), axis=axis, kind="stable")


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Return numbers with ties, and of floats with zeros of both signs and different NaNs."""
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return draw.integers(0, 2, shape) == 1
    kind = np.dtype(dtype)
    if kind.kind != "f":
        limits = np.iinfo(kind)
        x = draw.integers(limits.min, limits.max, shape, kind, endpoint=True)
        return np.where(draw.random(shape) < 0.3, x % kind.type(5), x).astype(kind)
    x = (100 * draw.normal(size=shape)).astype(kind)
    for special in (0.0, -0.0, np.nan, np.inf, -np.inf):
        x[draw.random(shape) < 0.06] = special
    words = bits(x)
    words[np.isnan(x)] ^= draw.integers(0, 200, np.isnan(x).sum()).astype(words.dtype)
    flipped = np.isnan(x) & (draw.random(shape) < 0.5)
    words[flipped] ^= words.dtype.type(1 << (8 * kind.itemsize - 1))
    return x


def check(x: np.ndarray, axis: int = -1) -> None:
    """Sort numbers, and their places by them."""
    order = stable_order(x, axis)
    with enable_x64(True):
        found, places = np.asarray(sort.sort(x, axis)), np.asarray(sorting.argsort(x, axis))
    np.testing.assert_array_equal(bits(np.take_along_axis(x, order, axis)), bits(found))
    np.testing.assert_array_equal(order, places)


@pytest.mark.parametrize("size", [4, 15, 16, 17, 49, 100, 129, 257, 1000, 5000, 70_001])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_elements_keep_their_order_and_their_bits(dtype, size):
    check(numbers((size,), dtype, size))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(3, 4, 50), (5, 17, 6), (300, 2, 7), (40, 8, 5)])
def test_lines_along_any_axis(dtype, axis, shape):
    check(numbers(shape, dtype), axis)


@pytest.mark.parametrize("special", [(), (0.0,), (-0.0,), (0.0, -0.0), (np.nan,), (np.inf, np.nan)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_and_nans_alone(dtype, special):
    x = np.random.default_rng(1).normal(size=1000).astype(dtype)
    for number, value in enumerate(special):
        x[number::3] = value
    check(x)
    check(np.full(1000, special[-1] if special else 2.5, dtype))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int16"])
def test_descending_order(dtype):
    x = numbers((1000,), dtype)
    with enable_x64(True):
        found = np.asarray(sorting.sort(x, descending=True))
        places = np.asarray(sorting.argsort(x, descending=True))
    np.testing.assert_array_equal(bits(x[stable_order(x)][::-1]), bits(found))
    np.testing.assert_array_equal(len(x) - 1 - stable_order(x[::-1])[::-1], places)


@pytest.mark.parametrize("dtypes", [("int16", "float16"), ("int32", "float32"), ("bool", "int8")])
@pytest.mark.parametrize("size", [60, 3000])
def test_several_keys_and_what_follows_them(dtypes, size):
    keys = [numbers((size,), dtype, number) for number, dtype in enumerate(dtypes)]
    value = numbers((size,), "float32", 7)
    order = np.lexsort([np.where(key == 0, np.zeros((), key.dtype), key) for key in keys[::-1]])
    found = sort.sort((*keys, value), num_keys=len(keys))
    for x, y in zip((*keys, value), found, strict=True):
        np.testing.assert_array_equal(bits(x[order]), bits(np.asarray(y)))


@pytest.mark.parametrize("size", [60, 3000])
def test_complex_numbers(size):
    drawn = np.random.default_rng(size).integers(-9, 9, (2, size)).astype(np.float32)
    x = drawn[0] + 1j * drawn[1]
    order = np.lexsort((x.imag, x.real))
    np.testing.assert_array_equal(x[order], np.asarray(sort.sort(x)))


def test_which_integers_are_sorted():
    def plan(*dtypes: str, size: int = 1000, registers: Registers | None = WIDE, num_keys: int = 1):
        """Return the routine for a line, and the bits of places."""
        outs = [ShapedArray((size,), np.dtype(dtype)) for dtype in dtypes]
        found = word_sort_for(registers, outs, size, num_keys)
        return found and (found.sorter.symbol.removeprefix("sorters:"), found.place_bits)

    assert plan("float32") == ("float32:1:64", 0)
    assert plan("int64") == ("int64:1:64", 0)
    assert plan("int16") == ("uint32:1:64", 10)
    assert plan("float32", "int32") == ("uint64:1:64", 10)
    assert plan("float64", "int32") == ("uint64:2:64", 64)
    assert plan("complex64") == ("uint64:2:64", 64)
    assert plan("complex128") == ("uint64:3:64", 64)
    assert plan("int64", "int32", num_keys=2) == ("uint64:3:64", 64)
    assert plan("complex128", "int32", num_keys=2) is None
    assert plan("int16", size=10_000) is None
    assert plan("float32", size=3) is None
    assert plan("float32", registers=MIDDLE) == ("float32:1:32", 0)
    assert plan("float32", registers=ARM) is None
    assert plan("float32", registers=None) is None


PROGRAM = """
import hashlib
import numpy as np
import tapeless.numpy as jnp
draw = np.random.default_rng(0)
digest = hashlib.sha256()
for shape in ((400_000,), (3000, 200), (2, 150_000)):
    x = draw.choice(np.array([np.nan, -0.0, 0.0, 1, 2, 3], np.float32), shape)
    for found in (jnp.sort(x), jnp.argsort(x)):
        digest.update(np.asarray(found).tobytes())
print(digest.hexdigest())
"""


def test_results_do_not_depend_on_threads_or_the_width_of_vectors():
    found = set()
    for changes in (
        {"TAPELESS_NUM_THREADS": "1"},
        {"TAPELESS_NUM_THREADS": "2"},
        {"TAPELESS_CPU": "x86-64-v3"},
    ):
        environment = {**os.environ, **changes}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == 64


@pytest.mark.parametrize("size", [16, 17, 18, 33, 100, 129, 513, 2700])
@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64"])
def test_lines_in_order_and_those_but_for_one_pair_are_sorted(dtype, size):
    with enable_x64(True):
        line = np.repeat(np.arange(size // 2 + 1), 2)[:size].astype(dtype)
        lines = np.stack([line] * 6)
        lines[4], lines[5] = line[::-1], np.arange(size)[::-1]
        for row, first in enumerate((0, size // 2, size - 2)):
            lines[row, first : first + 2] = [3, 2] if first == 0 else [size, -1]
        expected = np.argsort(lines, -1, kind="stable")
        np.testing.assert_array_equal(sorting.argsort(lines), expected)
        if dtype != "complex64":
            down = np.argsort(-lines, -1, kind="stable")[:, : size - 1]
            values, places = topk.top_k(lines, size - 1)
            np.testing.assert_array_equal(places, down)
            np.testing.assert_array_equal(values, np.take_along_axis(lines, down, -1))
