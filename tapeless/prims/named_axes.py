"""Named axes: reductions over them, and where a row is along them.

    vmap(lambda x: x / psum(x, "i"), axis_name="i")      every row, divided by the sum of all rows

A collective names axes (`axis_names`).  The trace that maps such an axis replaces the collective by
an operation on the whole array, its rule `batch_collective`; every other trace treats it as an
operation of one row, its rule `batch`.  An axis that nothing maps is an error when the operation is
called.

The reductions may name axes by position too: that is what a name becomes when its axis is mapped,
so that psum over two names is resolved one by one.  Over positions only it is an ordinary one.

    psum, pmax, pmin    (n) -> (n)      fold the rows
    axis_index          () -> ()        the number of the row
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value, find_axis
from tapeless.prims.binary import add, div, mul
from tapeless.prims.common import batch_dim, const
from tapeless.prims.convert import convert
from tapeless.prims.create import iota
from tapeless.prims.reduce import reduce_max, reduce_min, reduce_sum
from tapeless.prims.rules import LinearUnary
from tapeless.prims.structural import broadcast_in_dim
from tapeless.tree.flatten import tree_flatten, tree_unflatten

__all__ = [
    "NO_GROUPS",
    "Collective",
    "axis_index",
    "axis_index_p",
    "axis_size",
    "map_leaves",
    "names_of",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "psum",
    "psum_p",
    "times",
]

Groups = Sequence[Sequence[int]] | None
NO_GROUPS = "axis_index_groups not supported in vmap collectives. Please open a feature request!"


def names_of(axis_name: Any) -> tuple[Any, ...]:
    """Return the axes that an argument names, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def times(x: Value, size: int) -> Value:
    """Return x times the number of rows."""
    return mul(const(x, size), x)


class Collective(Primitive):
    """An operation over named axes; subclasses say which parameter names them."""

    axis_param = "axis_name"

    def axis_names(self, **params: Any) -> tuple[object, ...]:
        """Return the names; positions are not names."""
        return tuple(
            name
            for name in names_of(params[self.axis_param])
            if not isinstance(name, (int, np.integer))
        )

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        """Apply the operation to whole arrays, of which `axis` is one of the named axes.

        args: as for `batch`, but any of `dims` may be None.  Returns results and their dims.
        """
        raise NotImplementedError(f"Collective batching rule for '{self}' not implemented")

    def decompose(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Refuse: a name is left that nothing maps."""
        names = ", ".join(map(str, self.axis_names(**params)))
        raise NameError(f"unbound axis name: {names}")


class Fold(Collective):
    """Fold the rows of named axes, and the elements along positional ones: (n) -> (n)."""

    axis_param = "axes"
    reduce: Callable
    ufunc: np.ufunc

    def same(self, x: Value, size: int) -> Value:
        """Fold `size` equal rows."""
        raise NotImplementedError

    def abstract(self, x: ShapedArray, *, axes: Any, axis_index_groups: Any) -> tuple:
        gone = [axis for axis in axes if isinstance(axis, (int, np.integer))]
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in gone)
        return (ShapedArray(shape, x.dtype, x.weak_type),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        axes: Any,
        **params: Any,
    ) -> tuple:
        (x,), dim = args, int(batch_dim(dims))
        shifted = tuple(a + (a >= dim) if isinstance(a, int) else a for a in axes)
        before = sum(isinstance(a, int) and a < dim for a in axes)
        return self.bind(x, axes=shifted, **params), (dim - before,)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        axes: Any,
        **params: Any,
    ) -> tuple:
        """Work on all rows at once."""
        (x,), (dim,) = args, dims
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        if dim is None:
            x = self.same(x, axis.size)
            rest = tuple(name for name in axes if name != axis.name)
            return (self.bind(x, axes=rest, **params) if rest else (x,)), (None,)
        moved = tuple(a + (a >= dim) if isinstance(a, int) else a for a in axes)
        moved = tuple(int(dim) if name == axis.name else name for name in moved)
        return self.bind(x, axes=moved, **params), (None,)

    def decompose(self, x: Value, *, axes: Any, **params: Any) -> tuple[Value, ...]:
        """Reduce over positions."""
        if self.axis_names(axes=axes):
            return super().decompose(x, axes=axes, **params)
        return (type(self).reduce(x, axes),)

    def reference(self, x: np.ndarray, *, axes: Any, **params: Any) -> tuple:
        return (self.ufunc.reduce(x, axis=tuple(axes), dtype=x.dtype),)


class PSum(LinearUnary, Fold):
    """The sum of the rows; linear, its transpose sums the cotangents."""

    name = "psum"
    reduce = staticmethod(reduce_sum)
    ufunc = np.add

    def same(self, x: Value, size: int) -> Value:
        """Return size times x."""
        return times(x, size)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        axes: Any,
        **params: Any,
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        kept = tuple(np.int64(axis) for axis in range(x.aval.ndim) if axis not in axes)
        if len(kept) < x.aval.ndim:
            ct = broadcast_in_dim(ct, x.aval.shape, kept)
        named = self.axis_names(axes=axes)
        return self.bind(ct, axes=named, **params) if named else (ct,)


class PMax(Fold):
    """The largest of the rows, element by element."""

    name = "pmax"
    reduce = staticmethod(reduce_max)
    ufunc = np.maximum

    def same(self, x: Value, size: int) -> Value:
        """Return x."""
        return x


class PMin(Fold):
    """The least of the rows, element by element."""

    name = "pmin"
    reduce = staticmethod(reduce_min)
    ufunc = np.minimum

    def same(self, x: Value, size: int) -> Value:
        """Return x."""
        return x


class AxisIndex(Collective):
    """() -> int32: the number of the row."""

    name = "axis_index"

    def abstract(self, *, axis_name: Any) -> tuple[ShapedArray, ...]:
        return (ShapedArray((), np.dtype(np.int32)),)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        """Work on all rows at once."""
        return (iota(np.int32, axis.size),), (0,)


psum_p = PSum()
pmax_p = PMax()
pmin_p = PMin()
axis_index_p = AxisIndex()


def map_leaves(function: Callable[[Value], Value], tree: Any) -> Any:
    """Apply a function to every leaf."""
    leaves, treedef = tree_flatten(tree)
    return tree_unflatten(treedef, [function(leaf) for leaf in leaves])


def _fold(
    prim: Fold,
    x: Any,
    axis_name: Any,
    groups: Groups,
    constant: Callable,
) -> Any:
    """Fold every leaf; `constant(leaf, size)` folds a Python or NumPy scalar."""
    axes = names_of(axis_name)
    positions = [axis for axis in axes if isinstance(axis, int)]
    size = axis_size(tuple(axis for axis in axes if not isinstance(axis, int)))
    groups = None if groups is None else tuple(map(tuple, groups))
    if positions and groups is not None:
        raise ValueError("axis_index_groups only supported for sums over just named axes.")
    if groups is not None:
        members = sorted(member for group in groups for member in group)
        if members != list(range(len(members))):
            raise ValueError("axis_index_groups must cover all indices exactly once")
        size = len(groups[0])

    def fold(leaf: Value) -> Value:
        """Fold one leaf."""
        if not axes:
            return leaf
        if isinstance(leaf, (bool, int, float, complex, np.generic)) and not positions:
            return constant(leaf, size)
        if typeof(leaf).dtype == np.bool_ and prim is psum_p:
            leaf = convert(leaf, dtypes.default_int_dtype())
        if positions:
            shape = typeof(leaf).shape
            if any(not -len(shape) <= axis < len(shape) for axis in positions):
                raise ValueError(
                    f"{prim.name}: reduction axes {positions} contains out-of-bounds indices for "
                    f"an operand of shape {shape}. Name a mapped axis, or an axis that it has."
                )
            canonical = tuple(a % len(shape) if isinstance(a, int) else a for a in axes)
        else:
            canonical = axes
        return prim.bind(leaf, axes=canonical, axis_index_groups=groups)[0]

    return map_leaves(fold, x)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the sum of x over the rows of the named axes; x: a tree of arrays (n) -> (n).

    The sum of a Python number is that number times the size of the axes: psum(1, "i") is the size.

    >>> jax.vmap(lambda x: x - lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 6.0]))
    Array([-8., -7., -3.], dtype=float32)
    """
    return _fold(
        psum_p,
        x,
        axis_name,
        axis_index_groups,
        lambda leaf, size: leaf * size,
    )


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the largest of x over the rows of the named axes; x: a tree of arrays (n) -> (n).

    >>> jax.vmap(lambda x: x - lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 6.0]))
    Array([-5., -4.,  0.], dtype=float32)
    """
    return _fold(
        pmax_p,
        x,
        axis_name,
        axis_index_groups,
        lambda leaf, size: leaf,
    )


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the least of x over the rows of the named axes; x: a tree of arrays (n) -> (n).

    >>> jax.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 6.0]))
    Array([0., 1., 5.], dtype=float32)
    """
    return _fold(
        pmin_p,
        x,
        axis_name,
        axis_index_groups,
        lambda leaf, size: leaf,
    )


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the mean of x over the rows of the named axes; x: a tree of arrays (n) -> (n).

    >>> jax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 6.0]))
    Array([-2., -1.,  3.], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def divide(leaf: Value) -> Value:
        """Divide one leaf by the number of rows."""
        if isinstance(leaf, (int, float, complex)):
            return leaf / size
        if not dtypes.issubdtype(typeof(leaf).dtype, np.inexact):
            leaf = convert(leaf, dtypes.default_float_dtype())
        return div(leaf, const(leaf, size))

    return map_leaves(divide, total)


def axis_index(axis_name: Any) -> Value:
    """Return the number of the row along the named axis, an int32; several names count together.

    -> (), int32.

    >>> jax.vmap(lambda x: x + lax.axis_index("i"), axis_name="i")(jnp.zeros(3, int))
    Array([0, 1, 2], dtype=int32)
    """
    if not isinstance(axis_name, (tuple, list)):
        find_axis(axis_name)
        return axis_index_p.bind(axis_name=axis_name)[0]
    number, inner = np.int32(0), 1
    for name in reversed(axis_name):
        number = add(number, mul(axis_index(name), np.int32(inner)))
        inner *= axis_size(name)
    return number


def axis_size(axis_name: Any) -> int:
    """Return the number of rows of the named axis; of several names, of all together.

    >>> jax.vmap(lambda x: x * lax.axis_size("i"), axis_name="i")(jnp.array([1, 2, 3]))
    Array([3, 6, 9], dtype=int32)
    """
    size = 1
    for name in names_of(axis_name):
        size *= find_axis(name).size
    return size
