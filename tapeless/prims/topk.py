"""The largest elements of every line, and their places.

    top_k[k=3]: (m, n) -> values (m, 3), indices (m, 3)               the largest, largest first

Of equal elements the first ones win.  The order is that of `prims/order.py`: -0.0 is below 0.0, and
a NaN is greater than all numbers, or less if its sign is set.  So the largest of negated elements
are the least ones, with their NaNs at the end.

A few of a long line are kept in order while it is walked once, and blocks without a better one are
passed over; else the line is sorted downwards, by a routine that leaves the others alone
(`prims/wordsort.py`) or, for more than `KEPT`, by counting digits.  Tangents follow their elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim, shape_of
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.order import rank, rank_numpy
from tapeless.prims.rules import canonical_axis, is_complex, require_order
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.sort import follow, sort_p
from tapeless.prims.structural import reshape, rev
from tapeless.util import lazy

__all__ = ["taken", "top_k", "top_k_p"]

sortloops = lazy.load("tapeless.prims.sortloops")
wordsort = lazy.load("tapeless.prims.wordsort")

CHANGE = 145  # elements that a sort orders while a candidate takes its place
KEPT = 64  # up to this k top_k keeps its candidates in order
SKIPPED = 64  # elements that are compared with the worst candidate at once
_I64 = np.dtype(np.int64)
_I32 = np.dtype(np.int32)


class TopK(Primitive):
    """x (m, n) -> the k largest of every line and their places, largest first."""

    name = "top_k"

    def abstract(
        self,
        x: ShapedArray,
        *,
        axis: int,
        is_stable: bool,
        k: int,
    ) -> tuple[ShapedArray, ...]:
        if is_complex(x.dtype):
            raise ValueError("top_k is not compatible with complex inputs.")
        require_order(x, "top_k")
        if k < 0:
            raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
        if k > x.shape[axis]:
            raise ValueError(
                "k argument to top_k must be no larger than size along axis; "
                f"got k={k} with shape={list(x.shape)} and axis={axis}"
            )
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, _I32)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        values, places = self.bind(*primals, **params)
        no_tangent = Zero(typeof(places).tangent())
        if isinstance(tangents[0], Zero):
            return (values, places), (
                Zero(typeof(values).tangent()),
                no_tangent,
            )
        return (values, places), (
            taken(tangents[0], places, params["axis"]),
            no_tangent,
        )

    def batch(
        self,
        batch_axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        axis: int,
        **params: Any,
    ) -> tuple:
        dim = batch_dim(dims)
        return self.bind(*args, axis=axis + (dim <= axis), **params), (dim, dim)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axis: int,
        is_stable: bool,
        k: int,
    ) -> tuple:
        (x,) = args
        size = x.shape[axis]
        whole = [out.update(shape=x.shape) for out in outs]
        kept = k <= KEPT and _changes_seldom(size, k)
        plan = None if kept else wordsort.word_sort_for(b.registers, whole, size, 1)
        if plan is not None:
            return tuple(wordsort.word_top(b, x, axis, k, plan))
        targets = [b.buffer(out) for out in outs]
        if outs[0].size == 0:
            return tuple(targets)
        if k > KEPT:
            _top_by_sorting(b, b.stored(x), targets, axis, k)
        else:
            _top_by_keeping(b, x, targets, axis, k)
        return tuple(targets)

    def decompose(self, *args: Value, axis: int, k: int, **params: Any) -> tuple:
        """Sort backwards, so that of equal elements the first comes last, and turn around."""
        (x,) = args
        shape = shape_of(x)
        lines = (rank(x), x, broadcasted_iota(_I32, shape, axis))
        operands = [rev(z, (axis,)) for z in lines]
        _, *outs = sort_p.bind(*operands, dimension=axis, is_stable=True, num_keys=1)
        return tuple(slice_in_dim(rev(z, (axis,)), 0, k, axis=axis) for z in outs)

    def reference(self, x: np.ndarray, *, axis: int, is_stable: bool, k: int) -> tuple:
        flipped = rank_numpy(np.flip(x, axis))
        order = np.flip(np.argsort(flipped, axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - np.take(order, range(k), axis)
        return np.take_along_axis(x, order, axis), order.astype(np.int32)


def taken(x: Value, places: Value, axis: int) -> Value:
    """Take the elements at places: x (m, n), places (m, k), axis 1 -> (m, k)."""
    shape = shape_of(places)
    others = tuple(other for other in range(len(shape)) if other != axis)
    return follow(x, reshape(places, (*shape, 1)), axis, others)


def _changes_seldom(size: int, k: int) -> bool:
    """Tell whether keeping candidates in order costs less than a sort by comparing vectors.

    In random order, the element i is one of the k greatest so far with a probability of k / i.
    """
    return k < 2 or size > CHANGE * k * (1 + math.log(max(size / k, 1)))


def _top_by_keeping(b: Any, x: Any, targets: Sequence, axis: int, k: int) -> None:
    """Walk every line once, and keep the best k of it in the results, in order.

    Few elements are better than the best k before them, so that most blocks are passed over.
    """
    shape = x.shape
    values = targets[0]

    def run(line: Sequence[Any]) -> None:
        """Walk one line."""

        def place(j: Any) -> tuple[Any, ...]:
            """Return the index of position j."""
            return sortloops.line_index(line, axis, j)

        def step(i: Any) -> None:
            """Insert element i if it is better than the worst kept."""
            element = b.let(x.at(*place(i)))
            mine = b.let(sortloops.ranked(b, element))

            def before(j: Any) -> Any:
                """Tell whether the element is better than the one kept at j."""
                return b.gt(mine, sortloops.ranked(b, values.at(*place(j))))

            position = b.convert(i, _I64)
            last = b.min(position, k - 1)

            def insert() -> None:
                """Insert it."""
                pair = (element, b.convert(position, _I32))
                sortloops.insert_element(b, targets, place, last, pair, before)

            b.when(b.or_(b.lt(position, k), before(k - 1)), insert)

        def block(number: Any) -> None:
            """Insert elements of a block, unless none is better than the worst kept."""
            first = b.imul(number, SKIPPED)
            worst = b.let(sortloops.ranked(b, values.at(*place(k - 1))))

            def better(inner: Sequence[Any]) -> Any:
                """Tell whether an element is better."""
                return b.gt(sortloops.ranked(b, x.at(*place(b.iadd(first, inner[0])))), worst)

            some = b.fold((SKIPPED,), better, "or", False)
            some = b.or_(b.lt(b.convert(first, _I64), k), some)
            walk = lambda j: step(b.iadd(first, j))  # noqa: E731
            b.when(some, lambda: b.loop(SKIPPED, walk, independent=False))

        n_blocks = shape[axis] // SKIPPED
        b.loop(n_blocks, block, independent=False)
        done = n_blocks * SKIPPED
        rest = lambda j: step(b.iadd(j, done))  # noqa: E731
        b.loop(shape[axis] - done, rest, independent=False)

    b.nest((*shape[:axis], *shape[axis + 1 :]), run)


def _top_by_sorting(b: Any, x: Any, targets: Sequence, axis: int, k: int) -> None:
    """Sort every line downwards and keep the first k."""
    shape = x.shape
    sorter = sortloops.Counting(b, shape[axis], True)

    def downwards(element: Any) -> Any:
        """Return the integer that orders elements downwards."""
        return b.not_(sortloops.ranked(b, element))

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""
        best = sorter.sort(lambda i: x.at(*sortloops.line_index(line, axis, i)), downwards, True)

        def finish(i: Any) -> None:
            """Store one of the k."""
            at = sortloops.line_index(line, axis, i)
            b.store(targets[0], at, best.at(i))
            b.store(targets[1], at, sorter.positions[0].at(i))

        b.loop(k, finish)

    sortloops.in_turn(b, (*shape[:axis], *shape[axis + 1 :]), run)


top_k_p = TopK()


def top_k(operand: Value, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Value]:
    """Return the k largest elements along `axis`, largest first, and their positions.

    operand: (m, n) -> (m, k), int32 (m, k).  Of equal elements the first ones win.

    >>> lax.top_k(jnp.array([3, 9, 5]), 2)
    [Array([9, 5], dtype=int32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    return list(top_k_p.bind(operand, axis=axis, is_stable=is_stable, k=int(k)))
