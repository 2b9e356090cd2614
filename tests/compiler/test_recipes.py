"""Recipes as functions: values, the slow ways as modules of their own, and what is shared."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.compiler.target import host_target
from tapeless.kernel.ir import Loop
from tests.compiler.native import F32, F64, Work

named = pytest.mark.parametrize
HALF = np.dtype(np.float16)


def applied(name: str, source: np.ndarray, independent: bool = True) -> Work:
    """A program that applies an operation to an array."""
    work = Work()
    x, i = work.input(source), work.index("i", source.size)
    value = work.op(name, work.get(x, i))
    y = work.output(source.shape, source.dtype)
    store = work.put(y, (i,), value)
    work.body.append(Loop(i, source.size, (store,), independent=independent))
    return work


@named("name", ["exp", "log", "sin", "cos", "tanh", "erf_inv", "cbrt"])
@named("dtype", [F32, F64], ids=str)
def test_lanes_and_single_values_agree(name: str, dtype: np.dtype) -> None:
    source = np.linspace(-0.99, 0.99, 37).astype(dtype)
    lanes, single = applied(name, source).run()[0], applied(name, source, False).run()[0]
    np.testing.assert_array_equal(lanes, single)


@named("dtype", [F32, F64], ids=str)
def test_the_slow_way_is_taken_and_is_not_in_the_module(dtype: np.dtype) -> None:
    source = np.array([0.5, 1e6, 1e15, 1e30, -3e37, np.inf], dtype)
    work = applied("sin", source)
    emitted = work.emit(host_target())
    assert [symbol.rsplit(".", 2)[0] for symbol in emitted.needs] == ["slow:sin", "tapeless_door"]
    assert not emitted.extras
    with np.errstate(invalid="ignore"):
        expected = np.sin(source)
    np.testing.assert_allclose(work.run()[0], expected, rtol=4 * np.finfo(dtype).eps)


@named("effort", [0, 1])
@named("dtype", [F32, F64], ids=str)
def test_slow_ways_of_lanes_give_each_lane_its_own_result(dtype: np.dtype, effort: int) -> None:
    source = (np.random.default_rng(0).normal(size=37) * 1e30).astype(dtype)
    source[::3] = 0.5  # lanes that do not need it
    lanes = applied("tan", source).run(effort)[0]
    np.testing.assert_array_equal(lanes, applied("tan", source, False).run()[0])


def test_narrow_floats_use_the_function_of_float32() -> None:
    source = np.linspace(-4, 4, 33).astype(HALF)
    work = applied("exp", source)
    assert '"exp.float32.' in work.emit(host_target()).text
    np.testing.assert_array_equal(work.run()[0], np.exp(source.astype(F32)).astype(HALF))


def test_a_function_is_written_once_however_often_it_is_called() -> None:
    work = Work()
    x, i = work.input(np.linspace(0, 1, 50, dtype=F32)), work.index("i", 50)
    value = work.get(x, i)
    for _ in range(6):
        value = work.op("tanh", value)
    y = work.output((50,), F32)
    work.body.append(Loop(i, 50, (work.put(y, (i,), value),)))
    text = work.emit(host_target()).text
    assert text.count('define internal <16 x float> @"tanh') <= 1
    assert text.count('@"tanh.float32') == 7


def test_an_unknown_operation_is_an_error() -> None:
    with pytest.raises(TypeError, match="no recipe"):
        applied("exq", np.ones(4, F32)).run()
