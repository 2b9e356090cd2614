"""Checks of arrays: who raises their flags.

A check of many bools has a flag, which the loop raises that makes or reads what is checked, and an
*alarm*, which looks at the flag after the loop and tells what is wrong. The check waits until it is
known which loop that is:

    a nest over the same axes            stores the flag, where a bool is false
    loops that an operation writes       store it, if they go over the same axes, as a scatter's do
    a reduction of what is checked       gets a companion, which reduces the bools as numbers
    an update of what a loop carries     stores it; what the message wants of the old values is
                                         kept where they are wrong
    none, when the nest is written out   the check has a loop of its own

Reductions of one kind and dtype over the same variable run as one (`graph.merge_reductions`):

    sum(r < n; x[i[r]])   and   sum(r < n; select(fine(r), 0, 1)), which is not 0 if one is false

For min, mul and and, what is fine is 1, and what is not, 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from tapeless.kernel.folds import FoldNodes
from tapeless.kernel.graph import children, substitute, walk
from tapeless.kernel.ir import Buffer, Index, Reduce, Scalar, Store
from tapeless.kernel.parts import Element, parts_of
from tapeless.kernel.value import IndexLike, KernelValue, Nest
from tapeless.util.records import record

__all__ = ["Alarm", "Watch", "WatchNodes", "has_axes_of", "index_of", "reads_from"]

_BOOL = np.dtype(np.bool_)
_INT32 = np.dtype(np.int32)
_MOST = 1 << 31
# What is fine and what is not, as numbers that a reduction combines to what is not.
_NUMBERS = {
    "add": (0, 1),
    "max": (0, 1),
    "or": (0, 1),
    "mul": (1, 0),
    "min": (1, 0),
    "and": (1, 0),
}


@record(eq=False)
class Alarm:
    """What looks at a flag.

    wrong: gives the bool; function: tells of it; args: of what; counts: the numbers of iterations.
    """

    wrong: Callable[[], Scalar]
    function: Callable
    args: Sequence[KernelValue]
    counts: Sequence[Scalar]


@record(eq=False)
class Watch:
    """A check that has no loop yet.

    fine: the bools; flag: a bool in memory; alarm: what looks at it.
    """

    fine: KernelValue
    flag: KernelValue
    alarm: Alarm


class WatchNodes(FoldNodes):
    """Node constructors that let loops raise flags."""

    def __init__(self) -> None:
        """Start without checks."""
        super().__init__()
        self.iterations: list[Scalar] = []
        self._watches: list[Watch] = []
        self._alarms: list[Alarm] = []

    @contextmanager
    def iteration(self, number: Scalar) -> Generator[None, None, None]:
        """Let checks know the number of the iteration that is being written."""
        self.iterations.append(self.convert(number, _INT32))
        try:
            yield
        finally:
            self.iterations.pop()

    def is_wanted_by_checks(self, buffer: Buffer) -> bool:
        """Tell whether a message of a check that has not been looked at reads a buffer."""
        return any(reads_from(alarm.args, buffer) for alarm in self._alarms)

    def flag_store(self, watch: Watch, wrong: Scalar) -> Store:
        """Return the store that raises a flag where `wrong` holds."""
        return Store(watch.flag.memory, self.affine(0), self.const(True, _BOOL), wrong)

    def watched_by(self, nest: Nest) -> None:
        """Let a nest raise the flags of the checks that have its axes."""
        for watch in tuple(self._watches):
            if not has_axes_of(nest, watch.fine):
                continue
            wrong = self.not_(self.bool_at(nest, watch.fine))
            if watch in self._watches:  # else the pull has written out everything
                self._watches.remove(watch)
                nest.stores.append(self.flag_store(watch, wrong))

    @contextmanager
    def loops_that_look(
        self, shape: Sequence[int], target: KernelValue
    ) -> Generator[Callable[[Sequence[IndexLike]], None], None, None]:
        """Let the loops over `shape` that the block writes raise the flags of checks.

        Gives what they call at each index, once.  target: what the block overwrites.  Here checks
        have loops of their own.
        """
        yield lambda index: None

    def watches_over(self, shape: Sequence[int]) -> list[Watch]:
        """Return the checks that wait, if all of them have these axes; else none."""
        same = all(_sizes(watch.fine.shape) == _sizes(shape) for watch in self._watches)
        return list(self._watches) if same else []

    def look_at(self, watch: Watch, index: Sequence[IndexLike], shape: Sequence[int]) -> Store:
        """Return the store that raises a flag if a bool is false at an index below `shape`."""
        places = [i for i, extent in zip(index, shape, strict=True) if extent != 1]
        return self.flag_store(watch, self.not_(watch.fine.at(*index_of(watch.fine, places))))

    @property
    def watches(self) -> tuple[Watch, ...]:
        """The checks that wait."""
        return tuple(self._watches)

    def hand_over(self, watch: Watch) -> bool:
        """Let the caller look at a check; tell whether it still waits."""
        waits = watch in self._watches
        if waits:
            self._watches.remove(watch)
            self._alarms.remove(watch.alarm)
        return waits

    def bool_at(self, nest: Nest, fine: KernelValue) -> Scalar:
        """Return the bool at the place that a nest is at."""
        return fine.at(*index_of(fine, nest.variables))

    def watched_by_reductions(
        self, element: Element, index: Sequence[IndexLike], shape: Sequence[int]
    ) -> list[Store]:
        """Return stores of the flags that reductions in an element can raise.

        index, shape: of the nest that the element is in.
        """
        nest = {
            var: extent for var, extent in zip(index, shape, strict=True) if isinstance(var, Index)
        }
        flags: list[Store] = []
        for watch in tuple(self._watches):
            found = self._reduction_of(watch.fine, parts_of(element), nest)
            if found is not None and watch in self._watches:
                self._watches.remove(watch)
                flags.append(self.flag_store(watch, self._any_wrong(*found)))
        return flags

    def _reduction_of(
        self, fine: KernelValue, roots: Sequence[Scalar], nest: Mapping[Index, int]
    ) -> tuple[Reduce, Scalar] | None:
        """Return a reduction that goes over all of some bools, and the bool at its variable."""
        for node in walk(roots, _outside):
            if not isinstance(node, Reduce) or not node.free.issuperset(nest):
                continue
            if _can_count(node):
                bool_there = self._bool_in(node, fine, nest)
                if bool_there is not None:
                    return node, bool_there
        return None

    def _bool_in(self, node: Reduce, fine: KernelValue, nest: Mapping[Index, int]) -> Scalar | None:
        """Return the bool at a step of a reduction in a nest; None if axes do not match."""
        sizes = _sizes(fine.shape)
        if not nest:
            if node.extent != math.prod(sizes):
                return None
            return self._collapsed_in(node, fine)
        axes = [*nest.items()]
        last = (node.var, node.extent)
        for order in ([*axes, last], [last, *axes]):
            if sizes == [extent for _, extent in order]:
                index = index_of(fine, [var for var, _ in order])
                return self._inside(lambda place: fine.at(*place), index)
        return None

    def _collapsed_in(self, node: Reduce, fine: KernelValue) -> Scalar | None:
        """Return the bool at a step of a reduction of everything, if one loop reads all bools."""
        variables, index = self._fold_index(fine.shape)
        element = self._inside(lambda place: fine.at(*place), index)
        sizes = _sizes(fine.shape)
        roots, left, _ = self.collapsed(
            variables,
            sizes,
            (element,),
            lambda n, size: node.var,
        )
        if len(left) != 1:
            return None
        renamed = {left[0]: self.affine(node.var)}
        return substitute(self, roots, renamed)[0]

    def _any_wrong(self, node: Reduce, fine: Scalar) -> Scalar:
        """Return whether a bool is false at a step of a reduction, by one that joins it."""
        numbers = _NUMBERS[str(node.combine)]
        good, bad = (self.const(x, node.dtype) for x in numbers)
        number = self.select(fine, good, bad)
        (found,) = self.reduce(
            node.var,
            node.extent,
            (number,),
            (good,),
            node.combine,
        )
        return self.not_(self.eq(found, good))


def reads_from(values: Sequence[KernelValue], buffer: Buffer) -> bool:
    """Tell whether some value, or a virtual value's operand, lives in a buffer."""
    stack = list(values)
    seen: set[int] = set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.buffer is buffer:
            return True
        if value.buffer is None:
            stack.extend(value.sources)
    return False


def has_axes_of(nest: Nest, value: KernelValue) -> bool:
    """Tell whether a nest goes over the axes of a value, but for axes of extent 1."""
    return _sizes(nest.shape) == _sizes(value.shape)


def index_of(value: KernelValue, variables: Sequence[IndexLike]) -> tuple[IndexLike, ...]:
    """Return the index of a value whose axes, but for those of extent 1, have variables."""
    rest = iter(variables)
    return tuple(0 if extent == 1 else next(rest) for extent in value.shape)


def _sizes(shape: Sequence[int]) -> list[int]:
    """Return the extents that are not 1."""
    return [extent for extent in shape if extent != 1]


def _outside(node: Scalar) -> tuple[Scalar, ...]:
    """Return the operands that are evaluated once per element."""
    return () if isinstance(node, Reduce) else children(node)


def _can_count(node: Reduce) -> bool:
    """Tell whether numbers of the reduction's dtype, so combined, tell of a single bool."""
    if node.combine not in _NUMBERS or node.extent >= _MOST:
        return False
    narrow = node.dtype.kind in "iu" and node.dtype.itemsize < 4
    return not (node.combine == "add" and narrow)
