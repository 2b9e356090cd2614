"""Which small arrays are made by loops for lanes."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.core.aval import ShapedArray
from tapeless.kernel.build import KernelBuilder, KernelValue
from tapeless.kernel.ir import Loop, Store

F32 = np.dtype(np.float32)


def made(element, n=16):
    """Store n numbers, `element(b, x, i)` each, x being a matrix; return the statements."""
    b = KernelBuilder()
    aval = ShapedArray((40, n), F32)
    x = KernelValue(b, aval, buffer=b.new_buffer(aval, "input"))
    b.stored(b.virtual(ShapedArray((n,), F32), lambda index: element(b, x, index[0])))
    return b.finish()


def column(b, x, i):
    """Return the largest of a column."""
    return b.fold((40,), lambda r: x.at(*r, i), "max", -np.inf)


def short_column(b, x, i):
    """Return the largest of the first eight of a column, which is written out."""
    return b.fold((8,), lambda r: x.at(*r, i), "max", -np.inf)


@pytest.mark.parametrize("element", [column, short_column, lambda b, x, i: b.tanh(x.at(0, i))])
def test_much_work_is_a_loop(element):
    (loop,) = made(element)
    assert isinstance(loop, Loop)
    assert loop.extent == 16


@pytest.mark.parametrize(
    "element",
    [
        lambda b, x, i: b.add(x.at(0, i), x.at(1, i)),
        lambda b, x, i: b.add(x.at(0, i), b.tanh(x.at(0, 3))),
        lambda b, x, i: b.fold((4,), lambda r: x.at(*r, i), "add", 0),
    ],
    ids=["cheap", "recipe of one number", "short sum"],
)
def test_little_work_is_written_out(element):
    assert [type(statement) for statement in made(element)] == [Store] * 16


def test_elements_that_differ_are_written_out():
    """The first is a tangent, the others are copies."""

    def element(b, x, i):
        """Choose by the index."""
        first = b.eq(b.affine(i), b.const(0, np.dtype(np.int64)))
        return b.select(first, b.tanh(x.at(0, i)), x.at(1, i))

    assert all(isinstance(statement, Store) for statement in made(element))


def test_three_numbers_are_written_out():
    assert len(made(column, n=3)) == 3


def test_rows_of_three_are_written_out():
    """Lanes would be masked, and what a loop carries would live in memory."""
    b = KernelBuilder()
    aval = ShapedArray((3, 3), F32)
    x, y = (KernelValue(b, aval, buffer=b.new_buffer(aval, "input")) for _ in range(2))
    product = lambda i: b.fold((3,), lambda k: b.mul(x.at(i[0], *k), y.at(*k, i[1])), "add", 0)  # noqa: E731
    local = b.stored(b.virtual(aval, product))
    copy = KernelValue(b, aval, buffer=b.new_buffer(aval, "output"))
    b.assign(copy, local)
    assert [type(statement) for statement in b.finish()] == [Store] * 18
