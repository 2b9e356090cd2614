"""Panels as text: what they compute, for any steps, and that their sums stay in registers."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.generate import generate_object, machine
from tapeless.compiler.linker import link
from tapeless.compiler.paneltext import panel_text
from tapeless.compiler.target import Target, host_target, named_target
from tapeless.kernel.panels import PAIRS, SHORTS, Panel, panel_of
from tapeless.util.records import replace

TERMS = 9


def routine(panel: Panel) -> tuple:
    """Return the linked code of a panel, and its routine."""
    code = link(generate_object(panel_text(panel.symbol), host_target()), panel.symbol, (), {})
    kinds = [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 5]
    return code, ctypes.CFUNCTYPE(None, *kinds)(code.address(panel.symbol))


def assembly(panel: Panel, target: Target) -> str:
    """Return the assembly of a routine."""
    module = llvm.parse_assembly(panel_text(panel.symbol), llvm.create_context())
    module.triple = target.triple
    return machine(target, 1).emit_assembly(module)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("rows", [1, 3, 5])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("y_step", [8, 13])
def test_a_panel_adds_up_products(dtype, rows, by_columns, y_step):
    code, call = routine(Panel(np.dtype(dtype), rows, 4, 2))
    code_that_adds, add = routine(Panel(np.dtype(dtype), rows, 4, 2, adds=True))
    draw = np.random.default_rng(0)
    scale = 1 if np.dtype(dtype).kind == "f" else 9
    x = (scale * draw.normal(size=(rows, TERMS))).astype(dtype)
    lines = (scale * draw.normal(size=(TERMS, y_step))).astype(dtype)
    y = lines[:, :8]
    out = np.full((rows, 11), 7, dtype)
    stored = np.ascontiguousarray(x.T if by_columns else x)
    steps = (1, rows) if by_columns else (TERMS, 1)
    addresses = (stored.ctypes.data, lines.ctypes.data, out.ctypes.data)
    call(*addresses, TERMS, *steps, y_step, 11)
    np.testing.assert_allclose(out[:, :8], x @ y, rtol=1e-5, atol=1e-5)
    add(*addresses, TERMS, *steps, y_step, 11)
    np.testing.assert_allclose(out[:, :8], 2 * (x @ y), rtol=1e-5, atol=1e-5)
    assert (out[:, 8:] == 7).all()
    assert code.size and code_that_adds.size


def test_sums_and_addresses_stay_in_registers():
    text = assembly(Panel(np.dtype(np.float32), 14, 16, 2), named_target("x86-64-v4"))
    assert text.count("vfmadd") == 28
    loop = text[: text.rindex("vfmadd")].rpartition("\n.LBB")[2]
    assert loop.count("vbroadcastss") == 14
    assert "rsp" not in loop


def test_symbols_say_sizes():
    panel = Panel(np.dtype(np.float64), 6, 8, 2)
    assert panel.symbol == "panels:float64:6:8:2:0"
    assert panel_of(panel.symbol) == panel
    assert panel.width == 16
    assert all(panel_of(Panel(words, 6, 8, 2).symbol).dtype == words for words in (PAIRS, SHORTS))


def test_pairs_of_brain_floats_are_one_operand():
    wide = named_target("x86-64-v4")
    target = replace(wide, features=wide.features + ",+avx512bf16")
    assert target.registers.brains
    text = assembly(Panel(PAIRS, 14, 16, 2), target)
    assert text.count("vdpbf16ps") == 28
    loop = text[: text.rindex("vdpbf16ps")].rpartition("\n.LBB")[2]
    assert "rsp" not in loop
    assert not wide.registers.brains


@pytest.mark.parametrize(
    ("name", "lanes", "rows"), [("x86-64-v4", 16, 14), ("x86-64-v3", 8, 6), ("x86-64-v3", 4, 6)]
)
def test_pairs_of_shorts_are_one_operand(name, lanes, rows):
    target = named_target(name)
    assert target.registers.shorts
    text = assembly(Panel(SHORTS, rows, lanes, 2), target)
    assert text.count("vpmaddwd") == 2 * rows
    loop = text[: text.rindex("vpmaddwd")].rpartition("\n.LBB")[2]
    assert "rsp" not in loop
    assert not named_target("aarch64").registers.shorts
