"""Sorters as text: they sort any elements, in any number, and touch nothing else."""

from __future__ import annotations

import ctypes
import functools

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.generate import generate_object, machine
from tapeless.compiler.linker import link
from tapeless.compiler.sorttext import sorter_text
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.sorters import Sorter, depth_of

WIDE = host_target().vector_bytes
KINDS = ("uint32", "uint64", "int32", "int64", "float32", "float64")
SORTERS = [
    *[Sorter(np.dtype(kind), 1, width) for width in (32, 64) for kind in KINDS],
    *[Sorter(np.dtype(np.uint64), words, width) for words in (2, 3) for width in (32, 64)],
    *[Sorter(np.dtype(kind), 1, 64) for kind in ("uint16", "int16")],
]
AROUND = 80  # elements on both sides, which stay as they are
MARK = 77


def runs_here(sorter: Sorter) -> bool:
    """Tell whether this processor has the vectors."""
    return sorter.bytes <= WIDE


each_that_runs = pytest.mark.parametrize(
    "sorter", [*filter(runs_here, SORTERS)], ids=lambda sorter: sorter.symbol
)


@functools.cache
def routine(sorter: Sorter) -> tuple:
    """Return the linked code of a sorter, and its routine."""
    code = link(generate_object(sorter_text(sorter.symbol), host_target()), sorter.symbol, (), {})
    kinds = [*[ctypes.c_void_p] * sorter.words, *[ctypes.c_int64] * 3]
    return code, ctypes.CFUNCTYPE(None, *kinds)(code.address(sorter.symbol))


def limits(dtype: np.dtype) -> tuple:
    """Return the least and the greatest number."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def drawn(size: int, dtype: np.dtype) -> np.ndarray:
    """Return numbers of all magnitudes."""
    draw = np.random.default_rng(size)
    if dtype.kind == "f":
        return (draw.normal(size=size) * 10.0 ** draw.integers(-20, 20, size)).astype(dtype)
    return draw.integers(*limits(dtype), size, dtype, endpoint=True)


def patterns(size: int, dtype: np.dtype) -> dict[str, np.ndarray]:
    """Return lines that are hard in different ways."""
    draw = np.random.default_rng(size)
    least, most = limits(dtype)
    up = np.arange(size).astype(dtype)
    return {
        "random": drawn(size, dtype),
        "sorted": up,
        "reversed": up[::-1].copy(),
        "pipes": np.concatenate([up[: size // 2], up[: size - size // 2][::-1]]),
        "zeros": np.zeros(size, dtype),
        "least": np.full(size, least, dtype),
        "greatest": np.full(size, most, dtype),
        "two": np.where(draw.integers(0, 2, size) == 1, dtype.type(most), dtype.type(least)),
        "few": draw.integers(0, 10, size).astype(dtype),
        "saw": (np.arange(size) % 7).astype(dtype),
    }


def words_of(sorter: Sorter, line: np.ndarray) -> list[np.ndarray]:
    """Return the words of elements in the order of a line; the last of several are the places."""
    if sorter.words == 1:
        return [line.copy()]
    return [line >> line.dtype.type(3), line.copy(), np.arange(len(line))][-sorter.words :]


def check(sorter: Sorter, size: int, depth: int) -> None:
    """Sort lines of all patterns."""
    for line in patterns(size, sorter.dtype).values():
        check_line(sorter, line, depth)


def check_line(sorter: Sorter, line: np.ndarray, depth: int) -> None:
    """Sort a line in the middle of another."""
    size = len(line)
    _, call = routine(sorter)
    lines = [np.full(size + 2 * AROUND, MARK, line.dtype) for _ in range(sorter.words)]
    parts = [whole[AROUND : AROUND + size] for whole in lines]
    given = words_of(sorter, line)
    for part, value in zip(parts, given, strict=True):
        part[:] = value
    call(*[part.ctypes.data for part in parts], size, depth, size)
    order = np.argsort(line, kind="stable")
    for part, value in zip(parts, given, strict=True):
        assert (value[order] == part).all()
    for whole in lines:
        assert (whole[:AROUND] == MARK).all()
        assert (whole[AROUND + size :] == MARK).all()


@each_that_runs
def test_every_length_is_sorted(sorter):
    draw = np.random.default_rng(0)
    for size in range(1501):
        few = draw.integers(0, 20, size).astype(sorter.dtype)
        check_line(sorter, few if size % 2 else drawn(size, sorter.dtype), depth_of(size))


@each_that_runs
@pytest.mark.parametrize("size", [1, 15, 129, 257, 300, 511, 1000, 4099, 100_003])
def test_every_pattern_is_sorted(sorter, size):
    check(sorter, size, depth_of(size))


@each_that_runs
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_lines_that_may_not_be_divided_are_sorted(sorter, depth):
    for size in (300, 301, 1000, 5003):
        check(sorter, size, depth)


@each_that_runs
@pytest.mark.parametrize("wanted", [0, 1, 100, 2000, 4999])
def test_only_the_elements_that_are_wanted_are_sorted(sorter, wanted):
    _, call = routine(sorter)
    for depth in (1, depth_of(5000)):
        for line in patterns(5000, sorter.dtype).values():
            words = words_of(sorter, line)
            found = words[max(sorter.words - 2, 0)]
            call(*[word.ctypes.data for word in words], len(line), depth, wanted)
            whole = np.sort(line)
            np.testing.assert_array_equal(whole[:wanted], found[:wanted])
            np.testing.assert_array_equal(whole, np.sort(found))


@each_that_runs
def test_nothing_to_sort_is_no_error(sorter):
    check(sorter, 0, 0)


@pytest.mark.parametrize(
    "sorter",
    [sorter for sorter in SORTERS if sorter.kind == "f" and runs_here(sorter)],
    ids=lambda sorter: sorter.symbol,
)
def test_zeros_of_both_signs_are_equal_and_all_stay(sorter):
    draw = np.random.default_rng(0)
    for size in (7, 100, 1000, 5000):
        line = draw.choice(np.array([0.0, -0.0, -1.0, 1e-310, 2.0], sorter.dtype), size)
        check_line(sorter, line, depth_of(size))


@pytest.mark.parametrize("sorter", SORTERS, ids=lambda sorter: sorter.symbol)
def test_dividing_permutes_vectors(sorter):
    target = named_target("x86-64-v4" if sorter.bytes == 64 else "x86-64-v3")
    module = llvm.parse_assembly(sorter_text(sorter.symbol), llvm.create_context())
    module.triple = target.triple
    text = machine(target, 1).emit_assembly(module)
    body = text.partition("\ndivide:")[2].partition("Lfunc_end")[0]
    assert body.count("vperm") > 16
    network = text.partition("\nsmall:")[2].partition("Lfunc_end")[0]
    assert "jmp" not in network.partition("vpcmp")[2].partition("ret")[0]
