"""`associative_scan`: all prefixes of an associative combination, by the odd-even recursion.

    combine neighbours -> scan the half as long list -> combine its results with the even elements

The recursion is written in slices, pads and the user's function on whole arrays. Of a short list
it is all there is, and what is scanned from the end is reversed before and after.

Of a long list (`SHORTEST`, `SHORTEST_OF_ROWS`) the program is made for the processor. Elements of
several numbers, such as matrices, are scanned one by one: a step fills lanes, and the recursion
would combine twice as often, and tear rows apart and join them again. So are elements of one number
whose combination takes less time than going through memory again (`latency.py`). Others are
combined side by side in the recursion, whose slices are taken from the end where that is the start.
After a few levels loops do what is left (`prefixes.py`), so that the program does not grow with the
length.  Where the list is the last axis of several, its rows are done one after the other, each in
the cache, if the function does not tell rows apart (`of_elements`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapeless import config
from tapeless.control.custom_jvp import custom_jvp_call_p
from tapeless.control.latency import is_quick, of_elements
from tapeless.control.loops import scan
from tapeless.control.prefixes import (
    SHORTEST,
    SHORTEST_OF_ROWS,
    Combine,
    prefixes_by_tiles,
    prefixes_in_order,
)
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import add
from tapeless.prims.bitwise import bitwise_or
from tapeless.prims.common import scalar_like
from tapeless.prims.join import concatenate
from tapeless.prims.slice import pad, slice_in_dim
from tapeless.prims.structural import reshape, rev
from tapeless.transforms.jvp import jvp_flat
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.util.frames import api_boundary
from tapeless.util.records import record

__all__ = ["associative_scan"]

_LEVELS = 4  # written before loops: they are fast, and leave a sixteenth of the list


@api_boundary
def associative_scan(
    fn: Callable,
    elems: Any,
    reverse: bool = False,
    axis: int = 0,
) -> Any:
    """Return all prefixes of `elems` combined by `fn(earlier, later)`, which must be associative.

    elems: (n, m), fn: (k, m), (k, m) -> (k, m) give (n, m)
    elems: a tree of arrays of one length along `axis`; `fn` gets slices of it along that axis.
    reverse: scan from the last element; `fn` still gets first what was scanned first.

    >>> import numpy as np
    >>> from tapeless.prims.binary import mul
    >>> associative_scan(mul, np.array([1.0, 2.0, 3.0, 4.0], "float32"))
    Array([ 1.,  2.,  6., 24.], dtype=float32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(elems)
    for leaf in leaves:
        ndim = typeof(leaf).ndim
        if not -ndim <= axis < ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    axis %= typeof(leaves[0]).ndim
    lengths = {typeof(leaf).shape[axis] for leaf in leaves}
    if len(lengths) > 1:
        shapes = [typeof(leaf).shape for leaf in leaves]
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {shapes})"
        )

    def combine(earlier: list[Value], later: list[Value]) -> list[Value]:
        """Combine two flat lists of slices."""
        result = fn(tree_unflatten(tree, earlier), tree_unflatten(tree, later))
        return tree_flatten(result)[0]

    return tree_unflatten(tree, _prefixes(combine, leaves, axis, reverse))


def _prefixes(combine: Combine, leaves: list[Value], axis: int, reverse: bool) -> list[Value]:
    """Return all prefixes of arrays of one length along an axis."""
    n = 0 if config.current.jax_disable_jit else typeof(leaves[0]).shape[axis]
    if n > SHORTEST_OF_ROWS and any(_is_wide(leaf, axis) for leaf in leaves):
        return prefixes_in_order(combine, leaves, axis, reverse)
    is_long = n > SHORTEST
    if is_long and is_quick(combine, leaves, axis):
        return prefixes_in_order(combine, leaves, axis, reverse)
    if is_long and math.prod(typeof(leaves[0]).shape[:axis]) > 1:
        of_row = of_elements(combine, leaves, axis)
        if of_row is not None:
            return _row_by_row(of_row, leaves, reverse)
    if reverse and not is_long:
        leaves = [rev(leaf, (axis,)) for leaf in leaves]
        combined = _Levels(combine, axis, False).prefixes(leaves)
        return [rev(leaf, (axis,)) for leaf in combined]
    return _Levels(combine, axis, reverse).prefixes(leaves)


def _row_by_row(combine: Combine, leaves: list[Value], reverse: bool) -> list[Value]:
    """Return the prefixes along the last axis, of one row after the other: (..., n) -> (..., n).

    combine: of arrays of any shape.  Derivatives are those of the recursion on whole arrays: what
    they keep of each row would have to be stacked.
    """
    shape = typeof(leaves[0]).shape
    whole, single = [_Levels(combine, axis, reverse) for axis in (len(shape) - 1, 0)]

    def by_rows(*arrays: Value) -> list[Value]:
        """Return the prefixes of all rows."""
        rows = [reshape(x, (math.prod(shape[:-1]), shape[-1])) for x in arrays]
        _, out = scan(lambda _, row: ((), single.prefixes(row)), (), rows)
        return [reshape(x, shape) for x in out]

    def derivative(primals: Sequence[Value], tangents: Sequence) -> tuple:
        """Return the prefixes and their tangents."""
        return jvp_flat(lambda *arrays: whole.prefixes([*arrays]), primals, tangents)

    found = custom_jvp_call_p.bind(
        *leaves,
        name="associative_scan",
        call_jaxpr=by_rows,
        jvp=derivative,
        num_consts=0,
        symbolic_zeros=True,
    )
    return [*found]


def _is_wide(leaf: Value, axis: int) -> bool:
    """Tell whether an element has several numbers that lie side by side."""
    aval = typeof(leaf)
    return aval.dtype.kind == "c" or math.prod(aval.shape[axis + 1 :]) > 1


@record
class _Levels:
    """The recursion, along an axis, from its start or, `backward`, from its end."""

    combine: Combine
    axis: int
    backward: bool

    def prefixes(
        self,
        elems: list[Value],
        level: int = 0,
    ) -> list[Value]:
        """Return the prefixes of flat arrays."""
        n = typeof(elems[0]).shape[self.axis]
        if n < 2:
            return elems
        if level == _LEVELS and n > SHORTEST and not config.current.jax_disable_jit:
            return self._by_tiles(elems)
        earlier = self._cut(elems, 0, n - 1, 2)
        later = self._cut(elems, 1, n, 2)
        pairs = self.combine(earlier, later)
        types = [typeof(x).dtype for x in elems]
        if [typeof(x).dtype for x in pairs] != types:
            level = _LEVELS  # no loop may carry them
        odd = self.prefixes(pairs, level + 1)
        before = odd if n % 2 else self._cut(odd, 0, n // 2 - 1, 1)
        even = self.combine(before, self._cut(elems, 2, n, 2))
        first = self._cut(elems, 0, 1, 1)
        even = [self._joined(x, y) for x, y in zip(first, even, strict=True)]
        return [self._interleaved(x, y) for x, y in zip(even, odd, strict=True)]

    def _by_tiles(self, elems: list[Value]) -> list[Value]:
        """Return the prefixes of what the levels have left."""
        if not self.backward:
            return prefixes_by_tiles(self.combine, elems, self.axis)
        turned = [rev(x, (self.axis,)) for x in elems]
        turned = prefixes_by_tiles(self.combine, turned, self.axis)
        return [rev(x, (self.axis,)) for x in turned]

    def _cut(
        self,
        arrays: list[Value],
        start: int,
        stop: int,
        step: int,
    ) -> list[Value]:
        """Slice all arrays, by places that are counted from where the list starts."""
        n = typeof(arrays[0]).shape[self.axis]
        if self.backward:
            last = start + (stop - start - 1) // step * step
            start, stop = min(n - 1 - last, n - start), n - start
        return [slice_in_dim(x, start, stop, step, self.axis) for x in arrays]

    def _joined(self, first: Value, then: Value) -> Value:
        """Concatenate two arrays in the order of the list."""
        parts = [then, first] if self.backward else [first, then]
        return concatenate(parts, self.axis)

    def _interleaved(self, even: Value, odd: Value) -> Value:
        """Return the array whose elements are by turns of `even` and of `odd`."""
        aval = typeof(even)
        behind = int(aval.shape[self.axis] == typeof(odd).shape[self.axis])
        around_even, around_odd = (0, behind), (1, 1 - behind)
        if self.backward:
            around_even, around_odd = around_even[::-1], around_odd[::-1]
        join = bitwise_or if aval.dtype == bool else add
        return join(
            self._spread(even, around_even),
            self._spread(odd, around_odd),
        )

    def _spread(self, x: Value, around: tuple[int, int]) -> Value:
        """Put a zero between neighbours, and some around them."""
        aval = typeof(x)
        widths = [(0, 0, 0)] * aval.ndim
        widths[self.axis] = (*around, 1)
        return pad(x, scalar_like(aval.strong(), 0), widths)
