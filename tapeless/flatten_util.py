"""`flatten_util`: a tree of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray
from tapeless.numpy.creation import zeros
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.records import record

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Value, Callable[[Any], Any]]:
    """Return the leaves of a tree joined to a vector, and the function that undoes it.

    The vector has the dtype to which the leaves promote; the inverse gives each leaf its own back.

    >>> vector, unravel = ravel_pytree({"a": np.float32(1), "b": np.zeros(2, np.float32)})
    >>> vector
    Array([1., 0., 0.], dtype=float32)
    >>> unravel(vector + 1)["b"]
    Array([1., 1.], dtype=float32)
    """
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        return zeros(0), _Unravel(tree, (), None)
    leaves = [asarray(leaf) for leaf in leaves]
    kinds = tuple((typeof(leaf).shape, typeof(leaf).dtype) for leaf in leaves)
    joined = None
    if len({dtype for _, dtype in kinds}) > 1:
        joined = dtypes.result_type(*(dtype for _, dtype in kinds))
        leaves = [lax.convert_element_type(leaf, joined) for leaf in leaves]
    flat = [lax.reshape(leaf, (math.prod(typeof(leaf).shape),)) for leaf in leaves]
    vector = flat[0] if len(flat) == 1 else lax.concatenate(flat, 0)
    return vector, _Unravel(tree, kinds, joined)


@record
class _Unravel:
    """The way back from a vector to a tree; equal for trees alike, so that it can be static.

    kinds: shape and dtype of each leaf; joined: the dtype of the vector, None if all leaves have
    one dtype, which the vector then need not have.
    """

    tree: PyTreeDef
    kinds: tuple[tuple[tuple[int, ...], np.dtype], ...]
    joined: dtypes.Dtype | None

    def __call__(self, vector: Any) -> Any:
        """Cut the vector into the leaves of the tree."""
        if not self.kinds:
            return tree_unflatten(self.tree, [])
        vector = asarray(vector)
        self._check(typeof(vector))
        leaves, start = [], 0
        for shape, dtype in self.kinds:
            stop = start + math.prod(shape)
            leaf = lax.reshape(lax.slice_in_dim(vector, start, stop), shape)
            if self.joined is not None:
                leaf = lax.convert_element_type(leaf, dtype)
            leaves.append(leaf)
            start = stop
        return tree_unflatten(self.tree, leaves)

    def _check(self, aval: ShapedArray) -> None:
        """Refuse a vector of another size or dtype."""
        size = sum(math.prod(shape) for shape, _ in self.kinds)
        if aval.shape != (size,):
            raise ValueError(
                f"unravel function given array of shape {aval.shape}, but expected shape {(size,)}"
            )
        if self.joined is not None and aval.dtype != self.joined:
            given, wanted = map(dtypes.dtype_name, (aval.dtype, self.joined))
            raise TypeError(
                f"unravel function given array of dtype {given}, but expected dtype {wanted}"
            )
