"""Strips as text: what they compute, level by level, and that their sums stay in registers."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.generate import generate_object, machine
from tapeless.compiler.linker import link
from tapeless.compiler.striptext import strip_text
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.strips import Registers, Strip, strip_of

LEVELS = {
    "one": ((9, 1, 8),),
    "two": ((3, 50, 40), (5, 1, 8)),
    "three": ((2, 60, 120), (3, 20, 40), (5, 2, 8)),
}


def expected(strip: Strip, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Add the products up, term by term."""
    out = np.zeros((strip.rows, strip.width))
    steps = list(zip(*strip.levels, strict=True))[1:]
    for *term, tap in np.ndindex(*(extent for extent, _, _ in strip.levels), len(strip.taps)):
        x_at, y_at = (sum(np.multiply(term, step)) for step in steps)
        rows = x[x_at + tap * strip.rows + strip.row_step * np.arange(strip.rows)]
        y_at += strip.taps[tap]
        out += np.outer(rows, y[y_at : y_at + strip.width])
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(("taps", "overlap"), [((0,), 0), ((0, 20, 1), 0), ((3, 0), 1)])
def test_a_strip_adds_up_products(levels, dtype, taps, overlap):
    sizes = (3, 4, 2, 7, 11, LEVELS[levels])
    strip = Strip(np.dtype(dtype), *sizes, taps=taps, overlap=overlap)
    draw = np.random.default_rng(0)
    x, y = (draw.normal(size=400).astype(dtype) for _ in range(2))
    out = np.zeros(11 * 3, dtype)
    target = host_target()
    code = link(generate_object(strip_text(strip.symbol), target), strip.symbol, (), {})
    routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address(strip.symbol))
    routine(x.ctypes.data, y.ctypes.data, out.ctypes.data)
    rows = out.reshape(3, 11)
    width = strip.width
    np.testing.assert_allclose(rows[:, :width], expected(strip, x, y), rtol=1e-5, atol=1e-5)
    assert not rows[:, width:].any()


def test_a_strip_may_add_to_what_is_there():
    strip = Strip(np.dtype(np.float32), 2, 4, 1, 3, 6, ((5, 1, 4),), adds=True)
    assert strip_of(strip.symbol) == strip
    x, y = (np.random.default_rng(0).normal(size=n).astype(np.float32) for n in (8, 20))
    out = np.ones(12, np.float32)
    code = link(generate_object(strip_text(strip.symbol), host_target()), strip.symbol, (), {})
    routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address(strip.symbol))
    routine(x.ctypes.data, y.ctypes.data, out.ctypes.data)
    rows = out.reshape(2, 6)
    np.testing.assert_allclose(rows[:, :4], 1 + expected(strip, x, y), rtol=1e-5, atol=1e-5)
    assert (rows[:, 4:] == 1).all()


def test_sums_stay_in_registers():
    strip = Strip(np.dtype(np.float32), 14, 16, 2, 32, 64, ((3, 1856, 3072), (96, 1, 32)))
    target = named_target("x86-64-v4")
    module = llvm.parse_assembly(strip_text(strip.symbol), llvm.create_context())
    module.triple = target.triple
    text = machine(target, 1).emit_assembly(module)
    assert text.count("vfmadd") == 28
    assert "rsp" not in text


def test_targets_without_multiply_and_add_have_no_strips():
    assert named_target("x86-64-v2").registers is None
    assert named_target("x86-64-v3").registers == Registers(16, 32, shorts=True)
    assert named_target("aarch64").registers == Registers(32, 16)
