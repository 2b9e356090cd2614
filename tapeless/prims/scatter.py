"""Scatter: write, or combine, windows into an array at computed places.

    x (n, m), indices (k, 1), updates (k, m), update_window_dims=(1,), inserted_window_dims=(0,),
    scatter_dims_to_operand_dims=(0,) -> (n, m)        x[indices[i, 0], j] += updates[i, j]

The places are those of a gather (see `indexing`).  A window that sticks out is moved inside (CLIP)
or dropped.  Where windows overlap, a plain scatter keeps the last update; others are combined in
the order of the indices, those of many in a few shares, whose results are combined (`updates`).
`update_jaxpr` is the program (old, update) -> new of the combination, None for a plain scatter;
programs print it, and it is run for combinations without a name.

A scatter lowers to statements that write the operand's own memory when this is its last use: an
update of one element costs one element.  Derivatives keep that property:

    scatter-add  is linear in operand and updates; transposed, the cotangent passes unchanged to
                 the operand, and is gathered for the updates
    scatter      with unique indices is linear too; transposed, the cotangent's windows are zeroed
                 in place.  With repeated indices, the updates that were overwritten are found by
                 scattering and gathering their numbers, and masked.
    scatter-mul  needs unique indices for the updates' tangents
    scatter-min, scatter-max    share the tangent among the operands that attain the extreme
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import add, div, mul
from tapeless.prims.common import (
    add_tangents,
    batch_dim_to,
    const,
    full_like,
    instantiate,
    move_dim,
    shape_of,
    zeros,
    zeros_like,
)
from tapeless.prims.compare import eq
from tapeless.prims.create import full, iota
from tapeless.prims.gather import gather
from tapeless.prims.indexing import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    check_batching,
    check_distinct_axes,
    check_index_map,
    gather_numbers,
    shift,
    window_place,
    window_sizes,
    window_start,
)
from tapeless.prims.rules import is_complex, scalar_program
from tapeless.prims.runs import Keys, Runs, in_long_runs
from tapeless.prims.select import clamp, select
from tapeless.prims.structural import broadcast_in_dim, reshape
from tapeless.prims.unary import neg
from tapeless.prims.updates import Updates, within

__all__ = [
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
]

Mode = str | GatherScatterMode | None
Params = dict[str, Any]
MANY = 512  # updates; from here on, extremes of floats are keys
_INT32 = np.dtype(np.int32)


def _check(x: ShapedArray, indices: ShapedArray, updates: ShapedArray, n: Any) -> None:
    """Raise the errors for operands and dimension numbers that do not fit together."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError("indices must have an integer type")
    if x.dtype != updates.dtype:
        names = f"{dtypes.dtype_name(x.dtype)}, {dtypes.dtype_name(updates.dtype)}"
        text = f"lax.scatter requires arguments to have the same dtypes, got {names}."
        raise TypeError(text)
    if not isinstance(n, ScatterDimensionNumbers):
        raise TypeError(f"dimension_numbers must be ScatterDimensionNumbers, got {n!r}")
    rank = indices.ndim - 1 + len(n.update_window_dims)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}.")
    check_distinct_axes("scatter", "update_window_dims", n.update_window_dims, updates.ndim)
    check_distinct_axes("scatter", "inserted_window_dims", n.inserted_window_dims, x.ndim)
    size = sum(map(len, (n.update_window_dims, n.inserted_window_dims, n.operand_batching_dims)))
    if size != x.ndim:
        text = f"Scatter op has window of size {size}; doesn't match operand of rank {x.ndim}."
        raise TypeError(text)
    index_map, end = n.scatter_dims_to_operand_dims, str(indices.ndim - 1)
    check_index_map(
        "scatter", "scatter_dims_to_operand_dims", index_map, indices.shape[-1], x.ndim, end
    )
    check_batching(
        "scatter",
        ("inserted_window_dims", "scatter_dims_to_operand_dims", "scatter_indices_batching_dims"),
        (n.inserted_window_dims, index_map, *n[3:]),
        (x.shape, indices.shape),
    )
    _check_bounds(x, indices, updates, n)


def _check_bounds(x: ShapedArray, indices: ShapedArray, updates: ShapedArray, n: Any) -> None:
    """Raise TypeError for updates whose extents do not fit."""
    gone = (*n.inserted_window_dims, *n.operand_batching_dims)
    room = [extent for axis, extent in enumerate(x.shape) if axis not in gone]
    for axis, extent in zip(n.update_window_dims, room, strict=True):
        if updates.shape[axis] > extent:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {axis}, updates bound is "
                f"{updates.shape[axis]}, operand bound is {extent}."
            )
    batch = [axis for axis in range(updates.ndim) if axis not in n.update_window_dims]
    for axis, extent in zip(batch, indices.shape[:-1], strict=True):
        if updates.shape[axis] != extent:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                f"corresponding dimensions of scatter indices. For scatter dimension {axis}, "
                f"updates bound is {updates.shape[axis]}, indices bound is {extent}."
            )


class ScatterOp(Primitive):
    """x, indices, updates -> x with windows combined; see the module's docstring.

    combines: the binary operation that combines, by the name of its primitive; "" to overwrite.
    accumulate: the same by its name in the loop language; "" if it has none.
    """

    combines = accumulate = ""
    ufunc: Callable

    def abstract(
        self,
        x: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        _check(x, indices, updates, dimension_numbers)
        return (ShapedArray(x.shape, x.dtype, x.weak_type),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple:
        x, updates = (batch_dim_to(args[i], dims[i], 0, axis.size) for i in (0, 2))
        n = dimension_numbers
        if dims[1] is None:
            indices = args[1]
            numbers = ScatterDimensionNumbers(
                (0, *shift(n.update_window_dims)),
                shift(n.inserted_window_dims),
                shift(n.scatter_dims_to_operand_dims),
                shift(n.operand_batching_dims),
                n.scatter_indices_batching_dims,
            )
        else:
            indices = move_dim(args[1], dims[1], 0)
            numbers = ScatterDimensionNumbers(
                shift(n.update_window_dims),
                shift(n.inserted_window_dims),
                shift(n.scatter_dims_to_operand_dims),
                (0, *shift(n.operand_batching_dims)),
                (0, *shift(n.scatter_indices_batching_dims)),
            )
        return self.bind(x, indices, updates, dimension_numbers=numbers, **params), (0,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension_numbers: Any,
        mode: GatherScatterMode,
        **params: Any,
    ) -> tuple:
        x, indices, updates = args
        n = gather_numbers(dimension_numbers)
        sizes = window_sizes(x.shape, updates.shape, dimension_numbers)
        room = [extent - size for extent, size in zip(x.shape, sizes, strict=True)]
        clip = mode is GatherScatterMode.CLIP

        def find(index: Sequence[Any]) -> tuple[Sequence[Any], Any, Any]:
            """Return the place of an element of the updates, the element, and its guard."""
            batch, place = window_place(n, index, len(x.shape))
            vector = [indices.at(*batch, c) for c in range(len(n.start_index_map))]
            starts, inside = window_start(b, vector, n.start_index_map, room, clip)
            for axis, start in starts.items():
                place[axis] = b.iadd(place[axis], start)
            return place, updates.at(*index), inside

        with b.loops_that_look(updates.shape, x) as look:
            axes = _axes_of_updates(updates.shape, n)
            walk = Updates(b, updates.shape, axes, find, look)
            single = math.prod(sizes) == 1
            return (self._combined(b, args, walk, single, **params),)

    def _combined(
        self,
        b: Any,
        args: Sequence,
        walk: Updates,
        single: bool,
        *,
        unique_indices: bool,
        update_jaxpr: Any,
        **params: Any,
    ) -> Any:
        """Combine all updates into a copy of the array; return it.

        single: whether windows are single elements.
        """
        target, indices = b.writable(args[0]), args[1]
        if not target.aval.size:
            return target  # every update is outside
        combiner = functools.partial(self._combiner, b, update_jaxpr=update_jaxpr)
        wide = target.dtype.kind in "iuf" and target.dtype.itemsize >= 4
        in_turn = not unique_indices and not walk.batches
        if not (in_turn and wide and self.accumulate):
            walk.each(combiner(target), unique_indices)
        elif len(indices.shape) == 2 and single and indices.shape[0] >= MANY:
            self._combine_numbers(b, target, indices, walk, combiner)
        else:
            walk.in_shares(target, self.accumulate, combiner)
        return target

    def _combine_numbers(
        self, b: Any, target: Any, indices: Any, walk: Updates, combiner: Callable[[Any], Callable]
    ) -> None:
        """Combine many updates of single elements: as keys, unless most elements are not touched.

        combiner: gives what combines into an array.
        """
        keys, table = Keys(b, target.dtype, self.accumulate), target
        if keys.has_keys and 4 * target.aval.size <= indices.shape[0]:
            table = b.buffer(target.aval.update(dtype=keys.dtype))
            b.assign(table, b.virtual(table.aval, lambda index: keys.key(target.at(*index))))
            walk = walk.keyed(keys)

        def as_they_are() -> None:
            """Combine updates of which few neighbours meet."""
            extreme = self.accumulate in ("min", "max") and table.dtype.kind in "iu"
            if extreme and walk.few_win(table):
                walk.where_one_wins(table, self.accumulate, combiner(table))
            else:
                walk.in_shares(table, self.accumulate, combiner)

        def in_runs() -> None:
            """Combine the updates of an element that follow each other in a register."""
            runs = Runs(b, table, self.accumulate)
            walk.each(runs.combine, at_once=1)
            runs.end()

        few = self.accumulate == "add" and walk.has_lanes(table, indices.shape[0])
        if few or walk.has_streams():
            as_they_are()
        else:
            b.switch(b.convert(in_long_runs(b, indices), _INT32), (as_they_are, in_runs))
        if table is not target:
            b.assign(target, b.virtual(target.aval, lambda index: keys.number(table.at(*index))))

    def decompose(self, *args: Value, mode: Any, **params: Any) -> tuple:
        """Move windows inside by clamping their indices."""
        x, indices, updates = args
        n = params["dimension_numbers"]
        sizes = window_sizes(shape_of(x), shape_of(updates), n)
        axes = n.scatter_dims_to_operand_dims
        room = [shape_of(x)[axis] - sizes[axis] for axis in axes]
        room = np.array(room, typeof(indices).dtype)
        shape = shape_of(indices)
        limit = broadcast_in_dim(room, shape, (len(shape) - 1,))
        indices = clamp(const(indices, 0), indices, limit)
        return self.bind(x, indices, updates, mode=GatherScatterMode.FILL_OR_DROP, **params)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, mode: Any, **params: Any) -> tuple:
        """Write one operation, which drops; left to `decompose` where it should clip."""
        if mode is GatherScatterMode.CLIP:
            return NotImplemented
        n, program = params["dimension_numbers"], params["update_jaxpr"]
        numbers = {
            "update_window_dims": n.update_window_dims,
            "inserted_window_dims": n.inserted_window_dims,
            "input_batching_dims": n.operand_batching_dims,
            "scatter_indices_batching_dims": n.scatter_indices_batching_dims,
            "scatter_dims_to_operand_dims": n.scatter_dims_to_operand_dims,
            "index_vector_dim": args[1].aval.ndim - 1,
        }
        attributes = {
            "scatter_dimension_numbers": b.axes("stablehlo.scatter", numbers),
            "indices_are_sorted": str(params["indices_are_sorted"]).lower(),
            "unique_indices": str(params["unique_indices"]).lower(),
        }
        element = outs[0].update(shape=())
        overwrite = program is None
        region = b.region([element] * 2, lambda x, y: [y]) if overwrite else b.sub(program)
        return b.op("stablehlo.scatter", args, outs, attributes, [region])

    def _combiner(self, b: Any, target: Any, update_jaxpr: Any) -> Callable:
        """Return the function (place, update, guard) that stores one combined element."""
        return lambda place, update, guard: b.store(target, place, update, guard)

    def reference(
        self, x: np.ndarray, indices: np.ndarray, updates: np.ndarray, **params: Any
    ) -> tuple:
        scatter_n = params["dimension_numbers"]
        n = gather_numbers(scatter_n)
        sizes = window_sizes(x.shape, updates.shape, scatter_n)
        room = np.array(x.shape) - np.array(sizes)
        out = np.array(x)
        for index in np.ndindex(*updates.shape):
            batch, place = window_place(n, index, x.ndim)
            start = np.zeros(x.ndim, int)
            start[list(n.start_index_map)] = indices[tuple(batch)]
            if params["mode"] is GatherScatterMode.CLIP:
                start = np.clip(start, 0, room)
            if np.all((start >= 0) & (start <= room)):
                at = tuple(start + np.array(place, int))
                out[at] = self.ufunc(out[at], updates[index])
        return (out,)


def _axes_of_updates(
    shape: Sequence[int], n: Any
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return the axes of the updates: of batches, others of the list of windows, and of windows."""
    listed = [axis for axis in range(len(shape)) if axis not in n.offset_dims]
    batches = [listed[dim] for dim in n.start_indices_batching_dims]
    return batches, [axis for axis in listed if axis not in batches], n.offset_dims


class CombiningScatter(ScatterOp):
    """A scatter whose combination has a name in the loop language."""

    accumulate = ""

    def _combiner(self, b: Any, target: Any, update_jaxpr: Any) -> Callable:
        """Combine in memory; complex products are loaded, multiplied and stored."""
        if is_complex(target.dtype) and self.accumulate != "add":

            def combine(place: Sequence[Any], update: Any, guard: Any) -> None:
                """Load, combine and store; a place out of bounds is not touched."""
                old = target.at(*within(b, place, guard))
                b.store(target, place, b.op(self.accumulate, old, update), guard)

            return combine
        return lambda place, update, guard: b.store(
            target, place, update, guard, accumulate=self.accumulate
        )


class Scatter(ScatterOp):
    """x[place] = update; with a program as `update_jaxpr`, x[place] = program(x[place], update)."""

    name = "scatter"

    @staticmethod
    def ufunc(old: Any, new: Any) -> Any:
        """Overwrite."""
        return new

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        if params["update_jaxpr"] is not None:
            raise NotImplementedError("scatter_apply JVP not implemented")
        x, indices, updates = primals
        (out,) = self.bind(x, indices, updates, **params)
        dx, _, du = tangents
        if isinstance(dx, Zero) and isinstance(du, Zero):
            return (out,), (Zero(typeof(out).tangent()),)
        dx, du = instantiate(dx), instantiate(du)
        if params["unique_indices"]:
            return (out,), self.bind(dx, indices, du, **params)
        untouched, last = _overwritten(x, indices, updates, params)
        dx = select(untouched, dx, zeros_like(dx))
        du = select(last, du, zeros_like(du))
        return (out,), (_scatter_add_like(dx, indices, du, params),)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (x, indices, updates) = cotangents, args
        if isinstance(ct, Zero):
            return _zero_cotangents(args)
        ct_x = ct_u = None
        u_aval = updates.aval if isinstance(updates, Linear) else typeof(updates)
        if isinstance(x, Linear):
            (ct_x,) = self.bind(ct, indices, zeros(u_aval), **params)
        if isinstance(updates, Linear):
            ct_u = _gather_updates(ct, indices, u_aval.shape, params)
            if not params["unique_indices"]:
                _, last = _overwritten(ct, indices, ct_u, params)
                ct_u = select(last, ct_u, zeros_like(ct_u))
        return ct_x, None, ct_u

    def _combiner(self, b: Any, target: Any, update_jaxpr: Any) -> Callable:
        """Store the update, or what the program makes of the old element and the update."""
        if update_jaxpr is None:
            return super()._combiner(b, target, update_jaxpr)
        scalar = ShapedArray((), target.dtype)

        def combine(place: Sequence[Any], update: Any, guard: Any) -> None:
            """Run the program on one element; a place out of bounds is not touched."""
            old = target.at(*within(b, place, guard))
            operands = [b.virtual(scalar, lambda _, e=e: e) for e in (old, update)]
            (new,) = b.inline(update_jaxpr, operands)
            b.store(target, place, new.at(), guard)

        return combine


def _zero_cotangents(args: Sequence) -> tuple:
    """Return a zero cotangent for every linear argument."""
    return tuple(Zero(arg.aval) if isinstance(arg, Linear) else None for arg in args)


def _overwritten(x: Value, indices: Value, updates: Value, params: Params) -> tuple[Value, Value]:
    """Return where x is not written, and which updates are the last ones at their place.

    The updates are numbered from 1, their numbers scattered, and gathered again.
    """
    n = params["dimension_numbers"]
    shape = shape_of(updates)
    batch = [1 if axis in n.update_window_dims else size for axis, size in enumerate(shape)]
    count = int(np.prod(batch, dtype=int))
    dtype = np.dtype(np.uint32 if count < np.iinfo(np.uint32).max else np.uint64)
    numbers = add(reshape(iota(dtype, count), tuple(batch)), full(shape, 1, dtype))
    (placed,) = scatter_p.bind(full(shape_of(x), 0, dtype), indices, numbers, **params)
    mode = params["mode"]
    if mode is GatherScatterMode.FILL_OR_DROP:
        mode = GatherScatterMode.PROMISE_IN_BOUNDS
    found = gather(placed, indices, gather_numbers(n), _sizes(x, shape, n), mode=mode)
    return eq(placed, full(shape_of(x), 0, dtype)), eq(numbers, found)


def _sizes(x: Value, updates_shape: Sequence[int], n: Any) -> tuple[int, ...]:
    """Return the slice sizes of the gather that reads where updates of this shape are written."""
    return window_sizes(shape_of(x), updates_shape, n)


def _gather_updates(
    x: Value,
    indices: Value,
    shape: Sequence[int],
    params: Params,
    fill: Any = 0,
    unique: bool = False,
) -> Value:
    """Read x where updates of this shape are written; `fill` where they are dropped."""
    n, mode = params["dimension_numbers"], params["mode"]
    filled = mode is GatherScatterMode.FILL_OR_DROP
    return gather(
        x,
        indices,
        gather_numbers(n),
        _sizes(x, shape, n),
        mode=mode,
        fill_value=fill if filled else None,
        unique_indices=unique,
    )


def _scatter_add_like(x: Value, indices: Value, updates: Value, params: Params) -> Value:
    """Add updates at the places of another scatter."""
    program = scalar_program("add", typeof(x).dtype)
    params = {**params, "update_jaxpr": program, "update_consts": ()}
    return scatter_add_p.bind(x, indices, updates, **params)[0]


class LinearScatter(CombiningScatter):
    """x[place] = x[place] + or - update: linear in operand and updates together."""

    accumulate = "add"

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        x, indices, updates = primals
        (out,) = self.bind(x, indices, updates, **params)
        dx, _, du = tangents
        if isinstance(dx, Zero) and isinstance(du, Zero):
            return (out,), (Zero(typeof(out).tangent()),)
        return (out,), self.bind(instantiate(dx), indices, instantiate(du), **params)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (x, indices, updates) = cotangents, args
        if isinstance(ct, Zero):
            return _zero_cotangents(args)
        ct_u = None
        if isinstance(updates, Linear):
            ct_u = self.signed(_gather_updates(ct, indices, updates.aval.shape, params))
        return ct if isinstance(x, Linear) else None, None, ct_u

    def signed(self, x: Value) -> Value:
        """Return x with the sign that the updates have in the result."""
        return x


class ScatterAdd(LinearScatter):
    """x[place] += update."""

    name = "scatter-add"
    combines = "add"
    ufunc = np.add


class ScatterSub(LinearScatter):
    """x[place] -= update."""

    name = "scatter-sub"
    combines = "sub"
    ufunc = np.subtract

    def signed(self, x: Value) -> Value:
        """Return -x."""
        return neg(x)

    def _combiner(self, b: Any, target: Any, update_jaxpr: Any) -> Callable:
        """Add the negated update."""
        combine = super()._combiner(b, target, update_jaxpr)
        return lambda place, update, guard: combine(place, b.neg(update), guard)


class ScatterMul(CombiningScatter):
    """x[place] *= update; linear in the operand."""

    name = "scatter-mul"
    combines = accumulate = "mul"
    ufunc = np.multiply

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        x, indices, updates = primals
        (out,) = self.bind(x, indices, updates, **params)
        dx, _, du = tangents
        total = Zero(typeof(out).tangent())
        if not isinstance(dx, Zero):
            (total,) = self.bind(dx, indices, updates, **params)
        if not isinstance(du, Zero):
            if not params["unique_indices"]:
                raise NotImplementedError(
                    "scatter_mul gradients are only implemented if `unique_indices=True`"
                )
            spread = _scatter_add_like(zeros_like(x), indices, du, params)
            total = add_tangents(total, mul(x, spread))
        return (out,), (total,)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (x, indices, updates) = cotangents, args
        if isinstance(ct, Zero):
            return _zero_cotangents(args)
        if isinstance(updates, Linear):
            scaled = _gather_updates(mul(ct, x), indices, updates.aval.shape, params)
            return None, None, scaled
        return self.bind(ct, indices, updates, **params)[0], None, None


class ScatterExtreme(CombiningScatter):
    """x[place] = the lesser or greater of x[place] and the update.

    The tangent of an element is shared equally among the operand, if it attains the extreme, and
    the updates that do.
    """

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        x, indices, updates = primals
        (out,) = self.bind(x, indices, updates, **params)
        dx, _, du = tangents
        if isinstance(dx, Zero) and isinstance(du, Zero):
            return (out,), (Zero(typeof(out).tangent()),)
        dx, du = instantiate(dx), instantiate(du)
        shape, unique = shape_of(updates), params["unique_indices"]

        def read(value: Value) -> Value:
            """Gather a value where the updates go; NaN where they are dropped."""
            return _gather_updates(value, indices, shape, params, np.nan, unique)

        def count(amounts: Value) -> Value:
            """Give every update the sum of the amounts at its place."""
            return read(_scatter_add_like(zeros_like(x), indices, amounts, params))

        old, new = read(x), read(out)
        wins, stays = eq(updates, new), eq(old, new)
        one, zero = full_like(updates, 1), zeros_like(updates)
        n_winners, n_updates = count(select(wins, one, zero)), count(one)
        unit = const(updates, 1)
        with_old = div(unit, add(n_winners, unit))
        part = select(stays, with_old, div(unit, n_winners))
        update_part = select(wins, part, zero)
        stay_part = select(stays, with_old, zero)
        change = div(add(-unit, stay_part), n_updates)
        moved = _gather_updates(dx, indices, shape, params)
        delta = add(mul(du, update_part), mul(moved, change))
        spread = _scatter_add_like(zeros_like(x), indices, delta, params)
        return (out,), (add_tangents(dx, spread),)


class ScatterMin(ScatterExtreme):
    """x[place] = min(x[place], update)."""

    name = "scatter-min"
    combines = accumulate = "min"
    ufunc = np.minimum


class ScatterMax(ScatterExtreme):
    """x[place] = max(x[place], update)."""

    name = "scatter-max"
    combines = accumulate = "max"
    ufunc = np.maximum


scatter_p = Scatter()
scatter_add_p = ScatterAdd()
scatter_sub_p = ScatterSub()
scatter_mul_p = ScatterMul()
scatter_min_p = ScatterMin()
scatter_max_p = ScatterMax()


def _user_function(prim: ScatterOp, name: str, result: str, example: int) -> Callable[..., Value]:
    """Return the function by which users call a scatter primitive."""

    def function(
        operand: Value,
        scatter_indices: Value,
        updates: Value,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> Value:
        """Apply the primitive."""
        program = None
        if prim.combines:
            aval = typeof(operand)
            program = scalar_program(prim.combines, aval.dtype, aval.weak_type)
        return prim.bind(
            operand,
            scatter_indices,
            updates,
            dimension_numbers=dimension_numbers,
            indices_are_sorted=bool(indices_are_sorted),
            mode=GatherScatterMode.from_any(mode),
            unique_indices=bool(unique_indices),
            update_consts=(),
            update_jaxpr=program,
        )[0]

    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__doc__ = (
        f"Return `operand` with {result}.\n\n"
        "operand: (n, m), scatter_indices: (k, 1), updates: e.g. (k, m) -> (n, m).\n\n"
        f">>> lax.{name}(jnp.array([4, 4]), jnp.array([[1]]), jnp.array([5]),\n"
        "...     lax.ScatterDimensionNumbers((), (0,), (0,)))\n"
        f"Array([{4:{len(str(example))}}, {example}], dtype=int32)\n"
    )
    return function


scatter = _user_function(
    scatter_p, "scatter", "windows replaced by `updates`; the last one wins where they overlap", 5
)
scatter_add = _user_function(scatter_add_p, "scatter_add", "`updates` added to windows", 9)
scatter_sub = _user_function(scatter_sub_p, "scatter_sub", "`updates` subtracted from windows", -1)
scatter_mul = _user_function(scatter_mul_p, "scatter_mul", "windows multiplied by `updates`", 20)
scatter_min = _user_function(
    scatter_min_p, "scatter_min", "windows replaced by the lesser of them and `updates`", 4
)
scatter_max = _user_function(
    scatter_max_p, "scatter_max", "windows replaced by the greater of them and `updates`", 5
)
