"""Values that a loop carries: what an iteration leaves for the next one, in place.

A carry is memory that starts with the initial value. An iteration reads the old values, and at
its end all new values replace them at once, as in `a, b = b, a + b`. A new value is usually
virtual, so that storing it into one carry must not destroy what another still reads:

    small carries   all new elements are evaluated first, then stored: registers; those that lanes
                    make are copied
    large carries   stored in place, in an order in which nobody reads a carry that has
                    been overwritten; what reads its own carry at foreign indices, or a cycle,
                    goes through a temporary

Updates of one shape that follow each other in that order share a loop nest, unless one of them
overwrites what another reads at foreign indices: that is still to be read when the nest goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.graph import loads_in
from tapeless.kernel.ir import Buffer
from tapeless.kernel.keeping import watched_while_overwriting
from tapeless.kernel.parts import Element, parts_of
from tapeless.kernel.value import KernelValue, Nest
from tapeless.util.records import record

__all__ = ["Carries", "update"]


@record
class Carries:
    """The memory of the values that a loop carries."""

    avals: tuple[ShapedArray, ...]
    buffers: tuple[Buffer, ...]


@dataclass(slots=True)
class _Update:
    """One large carry that waits for its new value.

    foreign: the other carries that the value reads; shifted: those, or its own, which it reads
    elsewhere than at the element that it makes; of its own, also where a part of the element reads
    one before it, as those of complex products do.
    """

    buffer: Buffer
    value: KernelValue
    foreign: frozenset[Buffer]
    shifted: frozenset[Buffer]

    @property
    def shifts_own(self) -> bool:
        """Tell whether the value reads its own carry elsewhere."""
        return self.buffer in self.shifted


def update(b: Any, carries: Carries, new: Sequence[KernelValue]) -> None:
    """Replace all carries by their new values at once."""
    changed = [
        (buffer, value)
        for buffer, value in zip(carries.buffers, new, strict=True)
        if value.buffer is not buffer and value.aval.size
    ]
    small = [(buffer, value) for buffer, value in changed if buffer.space == "local"]
    copied = [(buffer, b.stored(value)) for buffer, value in small if b.is_for_lanes(value)]
    done = {buffer for buffer, _ in copied}
    evaluated = [
        (buffer, value.aval, position, b.let(value.at(*position)))
        for buffer, value in small
        if buffer not in done
        for position in np.ndindex(*value.shape)
    ]
    b.end_nest()
    _update_large(b, [pair for pair in changed if pair[0].space != "local"])
    for buffer, aval, position, element in evaluated:
        b.store(KernelValue(b, aval, buffer=buffer), position, element)
    for buffer, value in copied:
        b.assign(KernelValue(b, value.aval, buffer=buffer), value)


def _update_large(b: Any, changed: Sequence[tuple[Buffer, KernelValue]]) -> None:
    """Store large carries, in a good order."""
    carried = frozenset(buffer for buffer, _ in changed)
    waiting = [_survey(b, buffer, value, carried) for buffer, value in changed]
    nest: Nest | None = None
    shifted: frozenset[Buffer] = frozenset()
    while waiting:
        ready = next((item for item in waiting if _is_ready(item, waiting)), None)
        if ready is None:
            nest = _close(b, nest)
            # One that has its copy waits for the others, which still read its old value.
            item = next(item for item in waiting if item.shifts_own or item.foreign)
            copy = b.copied(item.value)
            waiting[waiting.index(item)] = _Update(item.buffer, copy, frozenset(), frozenset())
            continue
        waiting.remove(ready)
        if nest is not None and (nest.shape != ready.value.shape or ready.buffer in shifted):
            nest = _close(b, nest)
        if nest is None:
            nest, shifted = b.open_nest(ready.value.shape), frozenset()
            watched_while_overwriting(b, nest, carried)
        _add(b, nest, ready)
        shifted |= ready.shifted
    _close(b, nest)


def _survey(b: Any, buffer: Buffer, value: KernelValue, carried: frozenset[Buffer]) -> _Update:
    """Find out which carries a new value reads, and where."""
    nest = b.open_nest(value.shape)
    places = _positions(b, nest, value)
    foreign: set[Buffer] = set()
    shifted: set[Buffer] = set()
    for number, part in enumerate(parts_of(value.at(*nest.index))):
        for load in loads_in((part,)):
            if load.buffer not in carried:
                continue
            is_own = load.buffer is buffer
            foreign |= set() if is_own else {load.buffer}
            # The parts before this one are stored by then.
            if load.index not in (places[number:] if is_own else places):
                shifted.add(load.buffer)
    return _Update(buffer, value, frozenset(foreign), frozenset(shifted))


def _is_ready(item: _Update, waiting: Sequence[_Update]) -> bool:
    """Tell whether a carry may be overwritten now."""
    return not item.shifts_own and not any(
        item.buffer in other.foreign for other in waiting if other is not item
    )


def _positions(b: Any, nest: Nest, value: KernelValue) -> list[Any]:
    """Return the positions in memory of the element at the nest's index."""
    return b.positions(b.flat_index(nest.index, value.shape), value.aval)


def _add(b: Any, nest: Nest, item: _Update) -> None:
    """Store a new value by the nest."""
    element: Element = item.value.at(*nest.index)
    nest.add(item.buffer, element, _positions(b, nest, item.value))


def _close(b: Any, nest: Nest | None) -> None:
    """Write out the nest."""
    if nest is not None:
        b.close_nest(nest)
