"""Exchanges between the rows of a mapped axis that has a name (see `named_axes`).

    ppermute        (n) -> (n)                  row number dst gets that of src
    pbroadcast      (n) -> (n)                  every row gets row number `source`
    all_gather      (n) -> (size, n)            all rows, side by side
    all_to_all      (size, n) -> (size, n)      row i gets element i of every row
    psum_scatter    (size, n) -> (n)            the sum over rows of element i, for row i

All are linear.  The inverse permutation transposes ppermute, all_gather and psum_scatter transpose
each other, and all_to_all transposes to itself with its two axes exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim, batch_dim_to, instantiate, move_dim, shape_of
from tapeless.prims.compare import eq
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers
from tapeless.prims.named_axes import (
    NO_GROUPS,
    Collective,
    axis_index,
    axis_size,
    map_leaves,
    names_of,
    psum,
    times,
)
from tapeless.prims.reduce import reduce_sum
from tapeless.prims.rules import LinearUnary
from tapeless.prims.select import select_n
from tapeless.prims.structural import reshape

__all__ = [
    "all_gather",
    "all_gather_p",
    "all_to_all",
    "all_to_all_p",
    "pbroadcast",
    "pbroadcast_p",
    "pcast",
    "ppermute",
    "ppermute_p",
    "pshuffle",
    "psum_scatter",
    "pswapaxes",
    "reduce_scatter_p",
]

Groups = Sequence[Sequence[int]] | None


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
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        perm: Any,
        **params: Any,
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        back = tuple((dst, src) for src, dst in perm)
        return self.bind(ct, perm=back, **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        return self.bind(*args, **params), tuple(dims)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        perm: Any,
        **params: Any,
    ) -> tuple:
        """Work on all rows at once."""
        sources = {dst: src for src, dst in perm}
        valid = all(0 <= i < axis.size for pair in perm for i in pair)
        if len(perm) != axis.size or not valid:
            raise AssertionError("Permutation doesn't match the axis size!")
        if len(sources) != axis.size:
            twice = sorted(dst for dst, n in Counter(dst for _, dst in perm).items() if n > 1)
            raise ValueError(
                f"ppermute sources and destinations must be unique, got {tuple(perm)}: "
                f"more than one row is sent to {twice}. Name each destination once."
            )
        x = batch_dim_to(args[0], dims[0], 0, axis.size)
        return (_take_rows(x, [sources[dst] for dst in range(axis.size)]),), (0,)


class PBroadcast(LinearUnary, Collective):
    """Every row gets row `source`."""

    name = "pbroadcast"

    def abstract(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return (x,)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        axis_name: Any,
        source: int,
        **params: Any,
    ) -> tuple:
        """The source collects the cotangents of all rows."""
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        collected = psum(ct, axis_name)
        gives = eq(axis_index(axis_name), np.int32(source))
        return (select_n(gives, instantiate(Zero(x.aval)), collected),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        return self.bind(*args, **params), tuple(dims)

    def batch_collective(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        source: int,
        **params: Any,
    ) -> tuple:
        """Work on all rows at once."""
        if not 0 <= source < axis.size:
            raise ValueError("collective broadcast doesn't fit in the axis size!")
        if dims[0] is None:
            return tuple(args), (None,)
        rows = move_dim(args[0], batch_dim(dims), 0)
        return (_take_rows(rows, [source] * axis.size),), (0,)


class AllGather(LinearUnary, Collective):
    """(n) -> (size, n), or (size n) when tiled, at `all_gather_dimension`: all rows together."""

    name = "all_gather"

    def abstract(
        self,
        x: ShapedArray,
        *,
        all_gather_dimension: int,
        axis_size: int,
        tiled: bool,
        **_: Any,
    ) -> tuple[ShapedArray, ...]:
        shape = list(x.shape)
        if tiled:
            shape[all_gather_dimension] *= axis_size
        else:
            shape.insert(all_gather_dimension, axis_size)
        return (x.update(shape=tuple(shape)),)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        **params: Any,
    ) -> tuple:
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
        dim = batch_dim(dims)
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
        """Work on all rows at once."""
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        names = names_of(params["axis_name"])
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
    return reshape(
        x,
        (
            *shape[:axis],
            size,
            shape[axis] // size,
            *shape[axis + 1 :],
        ),
    )


class AllToAll(LinearUnary, Collective):
    """Row i gets piece i of every row along `split_axis`, joined along `concat_axis`."""

    name = "all_to_all"

    def abstract(
        self,
        x: ShapedArray,
        *,
        split_axis: int,
        concat_axis: int,
        tiled: bool,
        **params: Any,
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
        return self.bind(
            ct,
            split_axis=concat_axis,
            concat_axis=split_axis,
            **params,
        )

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
        x = move_dim(args[0], batch_dim(dims), 0)
        outs = self.bind(
            x,
            split_axis=split_axis + 1,
            concat_axis=concat_axis + 1,
            **params,
        )
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
        """Work on all rows at once."""
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
        self,
        x: ShapedArray,
        *,
        scatter_dimension: int,
        axis_size: int,
        tiled: bool,
        **_: Any,
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

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        **params: Any,
    ) -> tuple:
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
        x = move_dim(args[0], batch_dim(dims), 0)
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
        """Work on all rows at once."""
        if params["axis_index_groups"] is not None:
            raise NotImplementedError(NO_GROUPS)
        if dims[0] is None:
            x = times(args[0], axis.size)
        else:
            x = reduce_sum(args[0], (dims[0],))
        if tiled:
            x = _split(x, scatter_dimension, axis.size)
        return (x,), (scatter_dimension,)


ppermute_p = PPermute()
pbroadcast_p = PBroadcast()
all_gather_p = AllGather()
all_to_all_p = AllToAll()
reduce_scatter_p = ReduceScatter()


def _size_of_groups(axis_name: Any, groups: Groups) -> int:
    """Return how many rows work together: those of a group, or all of the named axis."""
    return axis_size(axis_name) if groups is None else len(groups[0])


def _pair(pair: Any) -> tuple[int, int]:
    """Return a pair of a source and a destination, both integers."""
    try:
        src, dst = pair
        return src.__index__(), dst.__index__()
    except (TypeError, ValueError, AttributeError):
        raise AssertionError(
            "Permutation doesn't match the axis size! lax.ppermute takes pairs of integers "
            f"(source, destination), and got {pair!r}."
        ) from None


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send rows of x along the named axis: for (src, dst) in `perm`, row dst gets row src.

    x: (n,) in each row of an axis -> (n,)

    >>> jax.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
    ...     axis_name="i")(jnp.array([5, 6, 7]))
    Array([7, 5, 6], dtype=int32)
    """
    axis_size(axis_name)
    if not isinstance(perm, (list, tuple)):
        raise TypeError(
            "`perm` passed to `jax.lax.ppermute` must be a list or a tuple. Got perm of type "
            f"{type(perm)}"
        )
    params = {
        "axis_name": names_of(axis_name),
        "perm": tuple(map(_pair, perm)),
    }
    return map_leaves(lambda leaf: ppermute_p.bind(leaf, **params)[0], x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permute the rows of x along the named axis: row i gets row perm[i].

    x: (n,) in each row of an axis -> (n,)

    >>> jax.vmap(lambda x: lax.pshuffle(x, "i", [1, 2, 0]), axis_name="i")(jnp.array([5, 6, 7]))
    Array([6, 7, 5], dtype=int32)
    """
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(src, dst) for dst, src in enumerate(perm)])


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Give every row of the named axis row number `source` of x.

    x: (n,) in each row of an axis -> (n,)

    >>> jax.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([5, 6, 7]))
    Array([6, 6, 6], dtype=int32)
    """
    axis_size(axis_name)
    return map_leaves(
        lambda leaf: pbroadcast_p.bind(leaf, axis_name=axis_name, source=source)[0],
        x,
    )


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Return the tree x, in a function of shard_map that names these axes.

    x: (n,) -> (n,)
    to: "varying", "reduced" or "unreduced", which makes no difference: types do not say over which
    axes a value varies.

    >>> jax.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(2))
    Array([0, 1], dtype=int32)
    """
    allowed = ("varying", "reduced", "unreduced")
    if to not in allowed:
        raise ValueError(f"Got unexpected `to` value {to!r}. Allowed `to` values are: {allowed}")
    try:
        axis_size(axis_name)
    except NameError:
        raise ValueError(
            f"pvary should be called under jax.shard_map, which names the axes {axis_name!r}."
        ) from None
    return x


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Return all rows of x together: (n) -> (size, n), or (size n) when tiled, at `axis`.

    >>> jax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    size = axis_size(axis_name)

    def gather_leaf(leaf: Value) -> Value:
        """Gather one leaf."""
        place = _axis_within(axis, len(shape_of(leaf)) + (not tiled))
        return all_gather_p.bind(
            leaf,
            all_gather_dimension=place,
            axis_index_groups=axis_index_groups,
            axis_name=names_of(axis_name),
            axis_size=size,
            tiled=tiled,
        )[0]

    return map_leaves(gather_leaf, x)


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

    x: (a, n) in each row of an axis of extent a, which is split and joined -> (a, n)
    Not tiled, `split_axis` has the size of the named axis, and disappears; a new axis of that size
    appears at `concat_axis`.

    >>> jax.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(jnp.array([[1, 2], [3,
    ...     4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    size = _size_of_groups(axis_name, axis_index_groups)

    def exchange(leaf: Value) -> Value:
        """Exchange one leaf."""
        shape = shape_of(leaf)
        split, concat = (_axis_within(axis, len(shape)) for axis in (split_axis, concat_axis))
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

    return map_leaves(exchange, x)


def pswapaxes(
    x: Any,
    axis_name: Any,
    axis: int,
    *,
    axis_index_groups: Groups = None,
) -> Any:
    """Swap the named axis with `axis`, which has the same size.

    x: (a, n) in each row of an axis of extent a -> (a, n)

    >>> jax.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Return, for row i, piece i along `scatter_dimension` of the sum: (size, n) -> (n).

    >>> jax.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    size = _size_of_groups(axis_name, axis_index_groups)

    def scatter_leaf(leaf: Value) -> Value:
        """Add and scatter one leaf."""
        shape = shape_of(leaf)
        place = _axis_within(scatter_dimension, len(shape))
        fits = shape[place] % size == 0 if tiled else shape[place] == size
        if not fits:
            wanted = "a multiple of" if tiled else "equal to"
            raise ValueError(
                f"psum_scatter: the extent of the operand along scatter_dimension={place} must be "
                f"{wanted} the size of the named axis, {size}, but the operand has shape {shape}. "
                "Pad it, or choose another scatter_dimension."
            )
        return reduce_scatter_p.bind(
            leaf,
            axis_index_groups=axis_index_groups,
            axis_name=names_of(axis_name),
            axis_size=size,
            scatter_dimension=place,
            tiled=tiled,
        )[0]

    return map_leaves(scatter_leaf, x)


def _axis_within(axis: int, rank: int) -> int:
    """Return an axis as 0 <= axis < rank, or raise ValueError."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank
