"""Which reductions are stored before they are transformed."""

from __future__ import annotations

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.build import KernelBuilder, KernelValue
from tapeless.kernel.ir import Reduce, Store

F32 = np.dtype(np.float32)


def stores(along_rows: bool, recipe: bool) -> list[Store]:
    """Store sums of a matrix, transformed; return the stores in order."""
    b = KernelBuilder()
    aval = ShapedArray((40, 50) if along_rows else (50, 40), F32)
    x = KernelValue(b, aval, buffer=b.new_buffer(aval, "input"))

    def pull(index: tuple) -> object:
        """Return one transformed sum."""
        (i,) = index
        place = (lambda r: (i, *r)) if along_rows else (lambda r: (*r, i))
        total = b.fold((50,), lambda r: x.at(*place(r)), "add", 0)
        return b.tanh(total) if recipe else b.neg(total)

    b.stored(b.virtual(ShapedArray((40,), F32), pull))
    return [store for loop in b.finish() for store in loop.body]


def test_sums_along_rows_are_stored_before_a_recipe() -> None:
    first, second = stores(along_rows=True, recipe=True)
    assert isinstance(first.value, Reduce)
    assert second.value.args[0].buffer is first.buffer


def test_cheap_work_stays_with_the_sum() -> None:
    assert len(stores(along_rows=True, recipe=False)) == 1


def test_sums_along_columns_leave_the_lanes_to_the_recipe() -> None:
    assert len(stores(along_rows=False, recipe=True)) == 1
