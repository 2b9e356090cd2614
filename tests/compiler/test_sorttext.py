"""Sorters as text: they sort any elements, in any number, and touch nothing else."""

from __future__ import annotations

import ctypes
import functools

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.engine import generate_object
from tapeless.compiler.linker import link, machine
from tapeless.compiler.sorttext import sorter_text
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.sorters import Sorter, depth_of

SORTERS = [Sorter(32), Sorter(64), Sorter(64, 2)]
AROUND = 80  # elements on both sides, which stay as they are
MARK = 77

needs_wide_vectors = pytest.mark.skipif(
    host_target().vector_bytes < 64, reason="the routines are for vectors of 64 bytes"
)


@functools.cache
def routine(sorter: Sorter) -> tuple:
    """Return the linked code of a sorter, and its routine."""
    code = link(generate_object(sorter_text(sorter.symbol), host_target()), sorter.symbol, (), {})
    kinds = [*[ctypes.c_void_p] * sorter.words, *[ctypes.c_int64] * 2]
    return code, ctypes.CFUNCTYPE(None, *kinds)(code.address(sorter.symbol))


def patterns(size: int, dtype: np.dtype) -> dict[str, np.ndarray]:
    """Return lines that are hard in different ways."""
    draw = np.random.default_rng(size)
    most = np.iinfo(dtype).max
    up = np.arange(size).astype(dtype)
    return {
        "random": draw.integers(0, most, size, dtype, endpoint=True),
        "sorted": up,
        "reversed": up[::-1].copy(),
        "pipes": np.concatenate([up[: size // 2], up[: size - size // 2][::-1]]),
        "least": np.zeros(size, dtype),
        "greatest": np.full(size, most, dtype),
        "two": np.where(draw.integers(0, 2, size) == 1, dtype.type(most), dtype.type(0)),
        "few": draw.integers(0, 10, size).astype(dtype),
        "saw": (np.arange(size) % 7).astype(dtype),
    }


def check(sorter: Sorter, size: int, depth: int) -> None:
    """Sort lines of all patterns."""
    for line in patterns(size, np.dtype(f"uint{sorter.bits}")).values():
        check_line(sorter, line, depth)


def check_line(sorter: Sorter, line: np.ndarray, depth: int) -> None:
    """Sort a line in the middle of another."""
    size = len(line)
    _, call = routine(sorter)
    lines = [np.full(size + 2 * AROUND, MARK, line.dtype) for _ in range(sorter.words)]
    parts = [whole[AROUND : AROUND + size] for whole in lines]
    for part, value in zip(parts, (line, np.arange(size)), strict=False):
        part[:] = value
    call(*[part.ctypes.data for part in parts], size, depth)
    order = np.argsort(line, kind="stable")
    for part, value in zip(parts, (line[order], order), strict=False):
        assert (value == part).all()
    for whole in lines:
        assert (whole[:AROUND] == MARK).all()
        assert (whole[AROUND + size :] == MARK).all()


@needs_wide_vectors
@pytest.mark.parametrize("sorter", SORTERS, ids=lambda sorter: sorter.symbol)
def test_every_length_is_sorted(sorter):
    draw = np.random.default_rng(0)
    dtype = np.dtype(f"uint{sorter.bits}")
    for size in range(2001):
        most = 20 if size % 2 else np.iinfo(dtype).max
        check_line(sorter, draw.integers(0, most, size, dtype, endpoint=True), depth_of(size))


@needs_wide_vectors
@pytest.mark.parametrize("sorter", SORTERS, ids=lambda sorter: sorter.symbol)
@pytest.mark.parametrize("size", [1, 15, 129, 257, 300, 511, 1000, 4099, 100_003])
def test_every_pattern_is_sorted(sorter, size):
    check(sorter, size, depth_of(size))


@needs_wide_vectors
@pytest.mark.parametrize("sorter", SORTERS, ids=lambda sorter: sorter.symbol)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_lines_that_may_not_be_divided_are_sorted(sorter, depth):
    for size in (300, 301, 1000, 5003):
        check(sorter, size, depth)


@needs_wide_vectors
def test_nothing_to_sort_is_no_error():
    check(Sorter(32), 0, 0)


@pytest.mark.parametrize("sorter", SORTERS, ids=lambda sorter: sorter.symbol)
def test_dividing_packs_vectors(sorter):
    target = named_target("x86-64-v4")
    module = llvm.parse_assembly(sorter_text(sorter.symbol), llvm.create_context())
    module.triple = target.triple
    text = machine(target, 1).emit_assembly(module)
    letter = "d" if sorter.bits == 32 else "q"
    body = text.partition("\ndivide:")[2].partition("Lfunc_end")[0]
    assert body.count(f"vpcompress{letter}") > 16
    network = text.partition("\nsmall:")[2].partition("Lfunc_end")[0]
    assert "jmp" not in network.partition("vpcmp")[2].partition("ret")[0]
