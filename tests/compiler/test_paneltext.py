"""Panels as text: what they compute, for any steps, and that their sums stay in registers."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.engine import generate_object
from tapeless.compiler.linker import link, machine
from tapeless.compiler.paneltext import panel_text
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.panels import Panel, panel_of

TERMS = 9


def routine(panel: Panel) -> tuple:
    """Return the linked code of a panel, and its routine."""
    code = link(generate_object(panel_text(panel.symbol), host_target()), panel.symbol, (), {})
    kinds = [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 5]
    return code, ctypes.CFUNCTYPE(None, *kinds)(code.address(panel.symbol))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 3, 5])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("y_step", [8, 13])
def test_a_panel_adds_up_products(dtype, rows, by_columns, y_step):
    code, call = routine(Panel(np.dtype(dtype), rows, 4, 2))
    code_that_adds, add = routine(Panel(np.dtype(dtype), rows, 4, 2, adds=True))
    draw = np.random.default_rng(0)
    x = draw.normal(size=(rows, TERMS)).astype(dtype)
    lines = draw.normal(size=(TERMS, y_step)).astype(dtype)
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
    target = named_target("x86-64-v4")
    symbol = Panel(np.dtype(np.float32), 14, 16, 2).symbol
    module = llvm.parse_assembly(panel_text(symbol), llvm.create_context())
    module.triple = target.triple
    text = machine(target, 1).emit_assembly(module)
    assert text.count("vfmadd") == 28
    loop = text[: text.rindex("vfmadd")].rpartition("\n.LBB")[2]
    assert loop.count("vbroadcastss") == 14
    assert "rsp" not in loop


def test_symbols_say_sizes():
    panel = Panel(np.dtype(np.float64), 6, 8, 2)
    assert panel.symbol == "panels:float64:6:8:2:0"
    assert panel_of(panel.symbol) == panel
    assert panel.width == 16
