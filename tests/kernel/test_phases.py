"""Stores whose elements alternate: one of each kind in an iteration, and a tail."""

from __future__ import annotations

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.build import KernelBuilder, KernelValue
from tapeless.kernel.ir import Block, Loop, Store
from tapeless.kernel.pprint import listing
from tests.kernel.test_nodes import F32


def alternating(n: int, period: int, *rest: int) -> tuple[Block, str]:
    """Store 1 at every multiple of a number along the first axis, and 0 elsewhere."""
    b = KernelBuilder()
    aval = ShapedArray((n, *rest), F32)

    def pull(index: tuple) -> object:
        """Choose one element."""
        multiple = b.eq(b.index_mod(index[0], period), 0)
        return b.select(multiple, b.const(1.0, F32), b.const(0.0, F32))

    b.stored(b.virtual(aval, pull))
    body = b.finish()
    return body, listing(body)


def test_an_iteration_stores_one_element_of_each_kind() -> None:
    (loop,), text = alternating(40, 2)
    assert isinstance(loop, Loop)
    assert (loop.extent, len(loop.body)) == (20, 2)
    assert "select" not in text


def test_the_stores_to_one_of_several_targets_follow_each_other() -> None:
    """So an iteration writes whole vectors of each of them."""
    b = KernelBuilder()
    first, second = (b.new_buffer(ShapedArray((40,), F32), "temp") for _ in range(2))
    nest = b.open_nest((40,))
    for target, number in ((first, 1.0), (second, 2.0)):
        multiple = b.eq(b.index_mod(nest.index[0], 2), 0)
        value = b.select(multiple, b.const(number, F32), b.const(0.0, F32))
        nest.add(target, value, (b.affine(nest.index[0]),))
    b.close_nest(nest)
    (loop,) = b.finish()
    assert isinstance(loop, Loop)
    stored = [store.buffer for store in loop.body if isinstance(store, Store)]
    assert stored == [first, first, second, second]


def test_what_is_left_is_stored_behind_the_loop() -> None:
    (loop, *tail), text = alternating(44, 3)
    assert (loop.extent, len(loop.body)) == (14, 3)
    assert [type(store) for store in tail] == [Store, Store]
    assert "select" not in text


def test_long_periods_are_chosen_element_by_element() -> None:
    (loop,), text = alternating(50, 5)
    assert loop.extent == 50
    assert "select" in text


def test_lines_alternate_along_an_axis_that_is_not_the_last() -> None:
    (loop, *tail), text = alternating(41, 2, 9)
    assert isinstance(loop, Loop)
    assert (loop.extent, [type(line) for line in loop.body]) == (20, [Loop, Loop])
    assert [line.extent for line in (*loop.body, *tail)] == [9, 9, 9]
    assert "select" not in text


def test_what_the_iteration_chooses_cuts_the_loop() -> None:
    """Every second element is of one array in the first iterations, and of another one later."""
    b = KernelBuilder()
    aval = ShapedArray((40,), F32)
    x, y = (KernelValue(b, aval, buffer=b.new_buffer(aval, "input")) for _ in range(2))

    def pull(index: tuple) -> object:
        """Choose one element."""
        half = b.index_div(index[0], 2)
        later = b.ge(half, b.const(3, np.int64))
        joined = b.select(later, x.at(half), y.at(half))
        return b.select(b.eq(b.index_mod(index[0], 2), 0), joined, b.const(0.0, F32))

    b.stored(b.virtual(aval, pull))
    body = b.finish()
    assert [(loop.extent, len(loop.body)) for loop in body] == [(3, 2), (17, 2)]
    assert "select" not in listing(body)
