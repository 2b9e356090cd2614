"""Collectives: operations between the rows of a mapped axis that has a name.

    vmap(lambda x: x / psum(x, "i"), axis_name="i")      every row, divided by the sum of all rows

A collective names axes (`axis_names`).  The trace that maps such an axis replaces the collective by
an operation on the whole array, its rule `batch_collective`; every other trace treats it as an
operation of one row, its rule `batch`.  An axis that nothing maps is an error when the operation is
called.

The reductions may name axes by position too: that is what a name becomes when its axis is mapped,
so that psum over two names is resolved one by one.  Over positions only it is an ordinary one.

    psum, pmax, pmin         (n) -> (n)            fold the rows
    ppermute                 (n) -> (n)            row number dst gets that of src; zeros elsewhere
    all_gather               (n) -> (size, n)      all rows, side by side
    all_to_all               (size, n) -> (size, n)    row i gets element i of every row
    psum_scatter             (size, n) -> (n)      the sum over rows of element i, for row i
    axis_index               () -> ()              the number of the row
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
from tapeless.prims.common import batch_dim_to, move_dim, shape_of
from tapeless.prims.convert import convert
from tapeless.prims.create import iota
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers
from tapeless.prims.reduce import reduce_max, reduce_min, reduce_sum
from tapeless.prims.rules import LinearUnary, batched_axes
from tapeless.prims.structural import broadcast_in_dim, reshape
from tapeless.tree.flatten import tree_flatten, tree_unflatten

__all__ = [
    "Collective",
    "all_gather",
    "all_gather_p",
    "all_to_all",
    "all_to_all_p",
    "axis_index",
    "axis_index_p",
    "axis_size",
    "pbroadcast",
    "pbroadcast_p",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "ppermute",
    "ppermute_p",
    "pshuffle",
    "psum",
    "psum_p",
    "psum_scatter",
    "pswapaxes",
    "reduce_scatter_p",
]

Groups = Sequence[Sequence[int]] | None
NO_GROUPS = "axis_index_groups not supported in vmap collectives. Please open a feature request!"


def _names(axis_name: Any) -> tuple[Any, ...]:
    """Return the axes that an argument names, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _times(x: Value, size: int) -> Value:
    """Return x times the number of rows."""
    return mul(typeof(x).dtype.type(size), x)


class Collective(Primitive):
    """An operation over named axes; subclasses say which parameter names them."""

    axis_param = "axis_name"

    def axis_names(self, **params: Any) -> tuple[object, ...]:
        """Return the names; positions are not names."""
        return tuple(name for name in _names(params[self.axis_param]) if not isinstance(name, int))

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any
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

    def same(self, x: Value, size: int) -> Value:
        """Fold `size` equal rows."""
        raise NotImplementedError

    def abstract(self, x: ShapedArray, *, axes: Any, axis_index_groups: Any) -> tuple:
        gone = [axis for axis in axes if isinstance(axis, (int, np.integer))]
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in gone)
        return (ShapedArray(shape, x.dtype, x.weak_type),)

    def batch(
        self, axis: Axis, args: Values, dims: Sequence[int | None], *, axes: Any, **params: Any
    ) -> tuple:
        (x,), (dim,) = args, dims
        shifted = tuple(a + (a >= dim) if isinstance(a, int) else a for a in axes)
        before = sum(isinstance(a, int) and a < dim for a in axes)
        return self.bind(x, axes=shifted, **params), (dim - before,)

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], *, axes: Any, **params: Any
    ) -> tuple:
        (x,), (dim,) = args, dims
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        if dim is None:
            x = self.same(x, axis.size)
            rest = tuple(name for name in axes if name != axis.name)
            return (self.bind(x, axes=rest, **params) if rest else (x,)), (None,)
        moved = tuple(a + (a >= dim) if isinstance(a, int) else a for a in axes)
        moved = tuple(dim if name == axis.name else name for name in moved)
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
        return _times(x, size)

    def transpose(
        self, cotangents: Sequence[Value | Zero], args: Sequence, *, axes: Any, **params: Any
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


def _take_rows(x: Value, rows: Sequence[int]) -> Value:
    """Return rows of x: (k, n) -> (len(rows), n)."""
    shape = shape_of(x)
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    indices = np.asarray(rows, np.int32).reshape(-1, 1)
    return gather(x, indices, numbers, (1, *shape[1:]), mode="promise_in_bounds")


class PPermute(LinearUnary, Collective):
    """Row dst gets row src, for every pair (src, dst) of `perm`; the inverse transposes it."""

    name = "ppermute"

    def abstract(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return (x,)

    def transpose(
        self, cotangents: Sequence[Value | Zero], args: Sequence, *, perm: Any, **params: Any
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        back = tuple((dst, src) for src, dst in perm)
        return self.bind(ct, perm=back, **params)

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        return self.bind(*args, **params), tuple(dims)

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], *, perm: Any, **params: Any
    ) -> tuple:
        sources = {dst: src for src, dst in perm}
        valid = all(0 <= i < axis.size for pair in perm for i in pair)
        if len(perm) != axis.size or len(sources) != axis.size or not valid:
            raise AssertionError("Permutation doesn't match the axis size!")
        x = batch_dim_to(args[0], dims[0], 0, axis.size)
        return (_take_rows(x, [sources[dst] for dst in range(axis.size)]),), (0,)


class PBroadcast(LinearUnary, Collective):
    """Every row gets row `source`."""

    name = "pbroadcast"

    def abstract(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return (x,)

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        return self.bind(*args, **params), tuple(dims)

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], *, source: int, **params: Any
    ) -> tuple:
        if not 0 <= source < axis.size:
            raise ValueError("collective broadcast doesn't fit in the axis size!")
        if dims[0] is None:
            return tuple(args), (None,)
        rows = move_dim(args[0], dims[0], 0)
        return (_take_rows(rows, [source] * axis.size),), (0,)


class AllGather(LinearUnary, Collective):
    """(n) -> (size, n), or (size n) when tiled, at `all_gather_dimension`: all rows together."""

    name = "all_gather"

    def abstract(
        self, x: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **_: Any
    ) -> tuple[ShapedArray, ...]:
        shape = list(x.shape)
        if tiled:
            shape[all_gather_dimension] *= axis_size
        else:
            shape.insert(all_gather_dimension, axis_size)
        return (x.update(shape=tuple(shape)),)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        dimension = params.pop("all_gather_dimension")
        return reduce_scatter_p.bind(ct, scatter_dimension=dimension, **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        all_gather_dimension: int,
        **params: Any,
    ) -> tuple:
        (dim,) = dims
        at = all_gather_dimension + (dim <= all_gather_dimension)
        outs = self.bind(*args, all_gather_dimension=at, **params)
        return outs, (dim + (not params["tiled"] and at <= dim),)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        all_gather_dimension: int,
        **params: Any,
    ) -> tuple:
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        names = _names(params["axis_name"])
        if len(names) > 1:
            raise NotImplementedError("vmap of all_gather over several axes is not implemented")
        x = batch_dim_to(args[0], dims[0], all_gather_dimension, axis.size)
        if params["tiled"]:
            x = _merge(x, all_gather_dimension)
        return (x,), (None,)


def _merge(x: Value, axis: int) -> Value:
    """Merge an axis with the next one: (n, m) -> (n m)."""
    shape = shape_of(x)
    merged = shape[axis] * shape[axis + 1]
    return reshape(x, (*shape[:axis], merged, *shape[axis + 2 :]))


def _split(x: Value, axis: int, size: int) -> Value:
    """Split an axis: (size m) -> (size, m)."""
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))


class AllToAll(LinearUnary, Collective):
    """Row i gets piece i of every row along `split_axis`, joined along `concat_axis`."""

    name = "all_to_all"

    def abstract(
        self, x: ShapedArray, *, split_axis: int, concat_axis: int, tiled: bool, **params: Any
    ) -> tuple[ShapedArray, ...]:
        shape = list(x.shape)
        size = axis_size(params["axis_name"])
        if tiled:
            shape[split_axis] //= size
            shape[concat_axis] *= size
        else:
            shape.insert(concat_axis, shape.pop(split_axis))
        return (x.update(shape=tuple(shape)),)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        split_axis: int,
        concat_axis: int,
        **params: Any,
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        return self.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        split_axis: int,
        concat_axis: int,
        **params: Any,
    ) -> tuple:
        x = move_dim(args[0], dims[0], 0)
        outs = self.bind(x, split_axis=split_axis + 1, concat_axis=concat_axis + 1, **params)
        return outs, (0,)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        split_axis: int,
        concat_axis: int,
        tiled: bool,
        **params: Any,
    ) -> tuple:
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        x = batch_dim_to(args[0], dims[0], 0, axis.size)
        if tiled:
            x = _split(x, split_axis + 1, axis.size)
        x = move_dim(x, split_axis + 1, 0)
        x = move_dim(x, 1, concat_axis + 1)
        if tiled:
            x = _merge(x, concat_axis + 1)
        return (x,), (0,)


class ReduceScatter(LinearUnary, Collective):
    """(size, n) -> (n), or (size n) -> (n) when tiled: row i gets piece i of the sum of rows."""

    name = "reduce_scatter"

    def abstract(
        self, x: ShapedArray, *, scatter_dimension: int, axis_size: int, tiled: bool, **_: Any
    ) -> tuple[ShapedArray, ...]:
        shape = list(x.shape)
        extent = shape[scatter_dimension]
        if tiled and extent % axis_size:
            raise ValueError(
                f"tiled reduce_scatter operand scatter dimension size {extent} must be divisible "
                f"by shard_count {axis_size}"
            )
        if not tiled and extent != axis_size:
            raise ValueError(
                f"reduce_scatter operand scatter dimension size {extent} must match shard count "
                f"{axis_size}"
            )
        if tiled:
            shape[scatter_dimension] //= axis_size
        else:
            del shape[scatter_dimension]
        return (x.update(shape=tuple(shape)),)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        dimension = params.pop("scatter_dimension")
        return all_gather_p.bind(ct, all_gather_dimension=dimension, **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        scatter_dimension: int,
        **params: Any,
    ) -> tuple:
        x = move_dim(args[0], dims[0], 0)
        return self.bind(x, scatter_dimension=scatter_dimension + 1, **params), (0,)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        scatter_dimension: int,
        tiled: bool,
        **params: Any,
    ) -> tuple:
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        if dims[0] is None:
            x = _times(args[0], axis.size)
        else:
            x = reduce_sum(args[0], (dims[0],))
        if tiled:
            x = _split(x, scatter_dimension, axis.size)
        return (x,), (scatter_dimension,)


class AxisIndex(Collective):
    """() -> int32: the number of the row."""

    name = "axis_index"

    def abstract(self, *, axis_name: Any) -> tuple[ShapedArray, ...]:
        return (ShapedArray((), np.dtype(np.int32)),)

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any
    ) -> tuple:
        return (iota(np.int32, axis.size),), (0,)


psum_p = PSum()
pmax_p = PMax()
pmin_p = PMin()
ppermute_p = PPermute()
pbroadcast_p = PBroadcast()
all_gather_p = AllGather()
all_to_all_p = AllToAll()
reduce_scatter_p = ReduceScatter()
axis_index_p = AxisIndex()


def _map_leaves(function: Callable[[Value], Value], tree: Any) -> Any:
    """Apply a function to every leaf."""
    leaves, treedef = tree_flatten(tree)
    return tree_unflatten(treedef, [function(leaf) for leaf in leaves])


def _fold(prim: Fold, x: Any, axis_name: Any, groups: Groups, constant: Callable) -> Any:
    """Fold every leaf; `constant(leaf, size)` folds a Python or NumPy scalar."""
    axes = _names(axis_name)
    positions = [axis for axis in axes if isinstance(axis, int)]
    size = axis_size(tuple(axis for axis in axes if not isinstance(axis, int)))
    groups = None if groups is None else tuple(map(tuple, groups))
    if positions and groups is not None:
        raise ValueError("axis_index_groups only supported for sums over just named axes.")
    if groups is not None:
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
            ndim = typeof(leaf).ndim
            canonical = tuple(a % ndim if isinstance(a, int) else a for a in axes)
        else:
            canonical = axes
        return prim.bind(leaf, axes=canonical, axis_index_groups=groups)[0]

    return _map_leaves(fold, x)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the sum of x over the rows of the named axes; x: a tree of arrays (n) -> (n).

    The sum of a Python number is that number times the size of the axes: psum(1, "i") is the size.
    """
    return _fold(psum_p, x, axis_name, axis_index_groups, lambda leaf, size: leaf * size)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the largest of x over the rows of the named axes; x: a tree of arrays (n) -> (n)."""
    return _fold(pmax_p, x, axis_name, axis_index_groups, lambda leaf, size: leaf)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the least of x over the rows of the named axes; x: a tree of arrays (n) -> (n)."""
    return _fold(pmin_p, x, axis_name, axis_index_groups, lambda leaf, size: leaf)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """Return the mean of x over the rows of the named axes; x: a tree of arrays (n) -> (n)."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def divide(leaf: Value) -> Value:
        """Divide one leaf by the number of rows."""
        if isinstance(leaf, (int, float, complex)):
            return leaf / size
        if not dtypes.issubdtype(typeof(leaf).dtype, np.inexact):
            leaf = convert(leaf, dtypes.default_float_dtype())
        return div(leaf, typeof(leaf).dtype.type(size))

    return _map_leaves(divide, total)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send rows of x along the named axis: for (src, dst) in `perm`, row dst gets row src."""
    axis_size(axis_name)
    params = {"axis_name": _names(axis_name), "perm": tuple(map(tuple, perm))}
    return _map_leaves(lambda leaf: ppermute_p.bind(leaf, **params)[0], x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permute the rows of x along the named axis: row i gets row perm[i]."""
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(src, dst) for dst, src in enumerate(perm)])


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Give every row of the named axis row number `source` of x."""
    axis_size(axis_name)
    return _map_leaves(
        lambda leaf: pbroadcast_p.bind(leaf, axis_name=axis_name, source=source)[0], x
    )


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Return all rows of x together: (n) -> (size, n), or (size n) when tiled, at `axis`."""
    size = axis_size(axis_name)

    def gather_leaf(leaf: Value) -> Value:
        """Gather one leaf."""
        rank = len(shape_of(leaf)) + (not tiled)
        return all_gather_p.bind(
            leaf,
            all_gather_dimension=axis % rank,
            axis_index_groups=axis_index_groups,
            axis_name=_names(axis_name),
            axis_size=size,
            tiled=tiled,
        )[0]

    return _map_leaves(gather_leaf, x)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Give row i the i-th piece along `split_axis` of every row, joined along `concat_axis`.

    Not tiled, `split_axis` has the size of the named axis, and disappears; a new axis of that size
    appears at `concat_axis`.
    """
    size = axis_size(axis_name)

    def exchange(leaf: Value) -> Value:
        """Exchange one leaf."""
        shape = shape_of(leaf)
        for axis in (split_axis, concat_axis):
            if not -len(shape) <= axis < len(shape):
                text = f"axis {axis} is out of bounds for array of dimension {len(shape)}"
                raise ValueError(text)
        split, concat = split_axis % len(shape), concat_axis % len(shape)
        if tiled and shape[split] % size:
            raise ValueError(
                f"The size of all_to_all split_axis ({shape[split]}) has to be divisible by the "
                f"size of the named axis {axis_name} ({size})"
            )
        if not tiled and shape[split] != size:
            raise ValueError(
                "all_to_all requires the size of the mapped axis axis_name to equal "
                f"x.shape[split_axis], but they are {size} and {shape[split]} respectively."
            )
        return all_to_all_p.bind(
            leaf,
            axis_index_groups=axis_index_groups,
            axis_name=axis_name,
            concat_axis=concat,
            split_axis=split,
            tiled=tiled,
        )[0]

    return _map_leaves(exchange, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Groups = None) -> Any:
    """Swap the named axis with `axis`, which has the same size."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Return, for row i, piece i along `scatter_dimension` of the sum: (size, n) -> (n)."""
    size = axis_size(axis_name)
    params = {
        "axis_index_groups": axis_index_groups,
        "axis_name": _names(axis_name),
        "axis_size": size,
        "scatter_dimension": scatter_dimension,
        "tiled": tiled,
    }
    return _map_leaves(lambda leaf: reduce_scatter_p.bind(leaf, **params)[0], x)


def axis_index(axis_name: Any) -> Value:
    """Return the number of the row along the named axis, an int32; several names count together."""
    if not isinstance(axis_name, (tuple, list)):
        find_axis(axis_name)
        return axis_index_p.bind(axis_name=axis_name)[0]
    number, inner = np.int32(0), 1
    for name in reversed(axis_name):
        number = add(number, mul(axis_index(name), np.int32(inner)))
        inner *= axis_size(name)
    return number


def axis_size(axis_name: Any) -> int:
    """Return the number of rows of the named axis; of several names, of all together."""
    size = 1
    for name in _names(axis_name):
        size *= find_axis(name).size
    return size
