"""`associative_scan`: all prefixes of an associative combination, by the odd-even recursion.

    combine neighbours -> scan the half as long list -> combine its results with the even elements

The recursion is written in slices, pads and the user's function on whole arrays. What a few levels
leave of a long list is done by loops (`prefixes.py`), so that the size of the program does not grow
with the length: at most 13 levels are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapeless import config
from tapeless.control.prefixes import SHORTEST, prefixes_by_tiles
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import add
from tapeless.prims.bitwise import bitwise_or
from tapeless.prims.common import scalar_like
from tapeless.prims.join import concatenate
from tapeless.prims.slice import pad, slice_in_dim
from tapeless.prims.structural import rev
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.util.frames import api_boundary

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

    if reverse:
        leaves = [rev(leaf, (axis,)) for leaf in leaves]
        combined = _scan(combine, leaves, axis)
        return tree_unflatten(tree, [rev(leaf, (axis,)) for leaf in combined])
    return tree_unflatten(tree, _scan(combine, leaves, axis))


def _scan(
    combine: Callable,
    elems: list[Value],
    axis: int,
    level: int = 0,
) -> list[Value]:
    """Return the prefixes of flat arrays along an axis."""
    n = typeof(elems[0]).shape[axis]
    if n < 2:
        return elems
    if level == _LEVELS and n > SHORTEST and not config.current.jax_disable_jit:
        return prefixes_by_tiles(combine, elems, axis)
    pairs = combine(
        [slice_in_dim(x, 0, n - 1, 2, axis) for x in elems],
        [slice_in_dim(x, 1, None, 2, axis) for x in elems],
    )
    same = [typeof(x).dtype for x in pairs] == [typeof(x).dtype for x in elems]
    odd = _scan(combine, pairs, axis, level + 1 if same else _LEVELS + 1)
    last = n // 2 - 1
    even = combine(
        odd if n % 2 else [slice_in_dim(x, 0, last, 1, axis) for x in odd],
        [slice_in_dim(x, 2, None, 2, axis) for x in elems],
    )
    first = [slice_in_dim(x, 0, 1, 1, axis) for x in elems]
    even = [concatenate([x, y], axis) for x, y in zip(first, even, strict=True)]
    return [_interleave(x, y, axis) for x, y in zip(even, odd, strict=True)]


def _interleave(
    even: Value,
    odd: Value,
    axis: int,
) -> Value:
    """Return the array whose elements are by turns of `even` and of `odd`."""
    aval = typeof(even)
    n_even, n_odd = aval.shape[axis], typeof(odd).shape[axis]
    zero = scalar_like(aval.strong(), 0)
    plain = [(0, 0, 0)] * aval.ndim
    spread_even, spread_odd = list(plain), list(plain)
    spread_even[axis] = (0, 1 if n_even == n_odd else 0, 1)
    spread_odd[axis] = (1, 0 if n_even == n_odd else 1, 1)
    join = bitwise_or if aval.dtype == bool else add
    return join(pad(even, zero, spread_even), pad(odd, zero, spread_odd))
