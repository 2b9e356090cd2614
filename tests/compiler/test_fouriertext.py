"""Fourier routines as text: passes, tiles of rows, tables, and what stays in registers."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.fouriertext import fourier_text
from tapeless.compiler.generate import generate_object, machine
from tapeless.compiler.linker import link
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.fourier import Fourier, factors_of, table_of

WORD = ctypes.c_int64
LANES = 4
SCALARS = {"float32": ctypes.c_float, "float64": ctypes.c_double}


def run(routine: Fourier, *args: object) -> None:
    """Call a routine with arrays, integers and floats."""
    text = fourier_text(routine.symbol)
    code = link(generate_object(text, host_target()), routine.symbol, (), {})
    kinds = {np.ndarray: ctypes.c_void_p, int: WORD, float: SCALARS[routine.dtype.name]}
    call = ctypes.CFUNCTYPE(None, *(kinds[type(arg)] for arg in args))
    place = code.address(routine.symbol)
    call(place)(*(arg.ctypes.data if isinstance(arg, np.ndarray) else arg for arg in args))


def lines(n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a line for each lane, and the memory of a group."""
    draw = np.random.default_rng(n)
    x = draw.normal(size=(LANES, n)) + 1j * draw.normal(size=(LANES, n))
    return x, np.stack([x.real.T, x.imag.T], axis=1).astype(dtype, order="C")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 11, 13, 60, 64])
def test_passes_transform_a_group(n, dtype):
    x, group = lines(n, dtype)
    table = table_of(Fourier(np.dtype(dtype), LANES, f"line.{n}"))
    steps, start = 1, 0
    for factor in factors_of(n):
        parts, other = n // factor // steps, np.zeros_like(group)
        kind = f"{factor}ss{'w' if parts > 1 else ''}"
        routine = Fourier(np.dtype(dtype), LANES, kind)
        step = 2 * LANES
        run(routine, group, other, table[start:], parts, steps, step, step, LANES, 1.0)
        group, start, steps = other, start + 2 * parts * (factor - 1), steps * factor
    found = (group[:, 0] + 1j * group[:, 1]).T
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(found, np.fft.fft(x), rtol=tolerance, atol=tolerance * n)


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_columns_that_do_not_exist_are_not_touched(count, sign):
    draw = np.random.default_rng(0)
    x = (draw.normal(size=(8, 6)) + 1j * draw.normal(size=(8, 6))).astype(np.complex64)
    out = np.full((8, 6), 7, np.complex64)
    routine = Fourier(np.dtype(np.float32), LANES, "8cc", sign)
    run(routine, x, out, np.zeros(1, np.float32), 1, 1, 12, 12, count, 0.5)
    expected = np.fft.fft(x, axis=0) / 2 if sign > 0 else np.fft.ifft(x, axis=0) * 4
    np.testing.assert_allclose(out[:, :count], expected[:, :count], rtol=1e-5, atol=1e-5)
    assert (out[:, count:] == 7).all()


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("numbers", [4, 6, 16])
@pytest.mark.parametrize("sign", [1, -1])
def test_rows_go_to_a_group_and_back(count, numbers, sign):
    x = np.arange(1.0, 1 + 4 * 20, dtype=np.float32).reshape(4, 20)
    group = np.zeros((numbers // 2, 2, LANES), np.float32)
    place = np.dtype(np.float32)
    run(Fourier(place, LANES, "gather", sign), x, group, numbers, 20, count)
    real, imaginary = group[:, ::sign].swapaxes(0, 1)
    np.testing.assert_array_equal(real[:, :count], x[:count, :numbers:2].T)
    np.testing.assert_array_equal(imaginary[:, :count], x[:count, 1:numbers:2].T)
    out = np.full((4, 20), -1, np.float32)
    run(Fourier(place, LANES, "scatter", sign), group, out, numbers, 20, count, 2.0)
    np.testing.assert_array_equal(out[:count, :numbers], 2 * x[:count, :numbers])
    assert (out[count:] == -1).all()
    assert (out[:, numbers:] == -1).all()


def test_a_table_is_copied():
    routine = Fourier(np.dtype(np.float64), LANES, "line.24")
    expected = table_of(routine)
    found = np.zeros_like(expected)
    run(routine, found)
    np.testing.assert_array_equal(found, expected)


def test_a_butterfly_of_eight_stays_in_registers():
    target = named_target("x86-64-v4")
    symbol = Fourier(np.dtype(np.float32), 16, "8ss").symbol
    module = llvm.parse_assembly(fourier_text(symbol), llvm.create_context())
    module.triple = target.triple
    text = machine(target, 1).emit_assembly(module)
    spilled = [line for line in text.splitlines() if "zmm" in line and "rsp" in line]
    assert spilled == []
