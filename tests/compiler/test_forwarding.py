"""Stores of one flat loop take from each other's expressions what they read of each other."""

from __future__ import annotations

import numpy as np

from tapeless.compiler.forwarding import forwarded
from tapeless.kernel.build import KernelBuilder
from tapeless.kernel.graph import loads_in
from tapeless.kernel.ir import Affine, Block, Buffer, Scalar, Store

F32 = np.dtype(np.float32)


class Loop:
    """The body of a flat loop over rows of two elements of three arrays."""

    def __init__(self) -> None:
        """Start empty."""
        self.b = KernelBuilder()
        self.row = self.b.index("i", 40)
        self.x, self.t, self.y = (Buffer((80,), F32, "temp", name) for name in "xty")
        self.body: list[Store] = []

    def at(self, column: int) -> Affine:
        """Return the place of an element of a row."""
        return self.b.index_add(self.b.index_mul(self.row, 2), column)

    def get(self, buffer: Buffer, column: int) -> Scalar:
        """Load an element, after all stores so far."""
        return self.b.load(buffer, self.at(column), after=len(self.body))

    def put(
        self,
        buffer: Buffer,
        column: int,
        value: Scalar,
        guard: Scalar | None = None,
        accumulate: str | None = None,
    ) -> None:
        """Store an element."""
        self.body.append(Store(buffer, self.at(column), value, guard, accumulate))

    def read_by_the_last(self) -> set[Buffer]:
        """Return what the last statement reads in the end."""
        body: Block = forwarded(self.b, tuple(self.body))
        assert [store.index for store in body] == [store.index for store in self.body]
        value = body[-1].value
        return {load.buffer for load in loads_in((value,))}


def test_what_was_stored_is_taken_from_its_expression() -> None:
    loop = Loop()
    loop.put(loop.t, 0, loop.b.add(loop.get(loop.x, 1), 1.0))
    loop.put(loop.t, 1, loop.get(loop.x, 0))
    loop.put(loop.y, 0, loop.b.mul(loop.get(loop.t, 0), loop.get(loop.t, 1)))
    assert loop.read_by_the_last() == {loop.x}


def test_an_expression_of_overwritten_elements_is_not_taken() -> None:
    loop = Loop()
    loop.put(loop.t, 0, loop.b.add(loop.get(loop.x, 1), 1.0))
    loop.put(loop.x, 0, loop.b.const(0.0, F32))
    loop.put(loop.y, 0, loop.get(loop.t, 0))
    assert loop.read_by_the_last() == {loop.t}


def test_an_element_that_is_overwritten_is_the_new_one() -> None:
    loop = Loop()
    loop.put(loop.t, 0, loop.get(loop.x, 0))
    loop.put(loop.t, 0, loop.get(loop.y, 0))
    loop.put(loop.x, 1, loop.get(loop.t, 0))
    assert loop.read_by_the_last() == {loop.y}


def test_what_is_stored_on_a_condition_or_added_stays_in_memory() -> None:
    for guarded in (True, False):
        loop = Loop()
        guard = loop.b.lt(loop.row, 5) if guarded else None
        loop.put(loop.t, 0, loop.get(loop.x, 0))
        loop.put(loop.t, 0, loop.get(loop.x, 1), guard, None if guarded else "add")
        loop.put(loop.y, 0, loop.get(loop.t, 0))
        assert loop.read_by_the_last() == {loop.t}
