"""Reductions and scatters that combine elements with a user's function.

    reduce(x, 0.0, lambda a, b: a + 2 * b, (0,)): (n, m) -> (m,)
    reduce_window(x, 1.0, mul, (2,)): (n) -> (n - 1)
    scatter_apply(x, indices, sin, dimension_numbers): windows replaced by the function's values

The function is traced once, for scalars.  Where it is one of `lax`'s own (`add`, `max`, ...) and
the initial value is its neutral element, the operation is the named reduction; else it carries the
program.  Several operands are folded together: the function takes and gives a tuple.

The folds go in index order.  A reduction is differentiated as the tree that halves its axes; a
windowed one folds pairs of value and tangent, so that it has forward derivatives only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.control.bodies import flatten_values
from tapeless.control.common import ProgramPrimitive
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import DebugInfo, Jaxpr
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Tracer, Value
from tapeless.prims import binary, bitwise
from tapeless.prims.common import (
    batch_dim_to,
    instantiate,
    move_dim,
    shape_of,
)
from tapeless.prims.create import full
from tapeless.prims.indexing import (
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tapeless.prims.join import concatenate
from tapeless.prims.rearrangement import array_text
from tapeless.prims.reduce import (
    check_axes,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from tapeless.prims.rules import highest, lowest
from tapeless.prims.scatter import scatter_p
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.structural import broadcast_in_dim, reshape, squeeze
from tapeless.prims.window import (
    Windows,
    batched_window,
    fold_window,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
    window_attributes,
    window_params,
)
from tapeless.transforms.batch import batch_flat
from tapeless.transforms.jvp import jvp_flat
from tapeless.transforms.stage import stage_flat
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.treedef import PyTreeDef, treedef_is_leaf

__all__ = [
    "reduce",
    "reduce_p",
    "reduce_window",
    "reduce_window_p",
    "scatter_apply",
]

_ALL_ONES = "all ones"
_NAMED: dict[Callable, tuple[Any, Callable]] = {
    binary.add: (0, reduce_sum),
    binary.mul: (1, reduce_prod),
    binary.max: (lowest, reduce_max),
    binary.min: (highest, reduce_min),
    bitwise.bitwise_or: (0, reduce_or),
    bitwise.bitwise_and: (_ALL_ONES, reduce_and),
    bitwise.bitwise_xor: (0, reduce_xor),
}
_NAMED_WINDOWS = {
    binary.add: reduce_window_sum,
    binary.max: reduce_window_max,
    binary.min: reduce_window_min,
}


def _is_neutral(computation: Callable, init: Value, dtype: Any) -> bool:
    """Tell whether `init` is a known number, the neutral element of a named operation."""
    if computation not in _NAMED or isinstance(init, Tracer):
        return False
    neutral = _NAMED[computation][0]
    value = np.asarray(init)
    if neutral is _ALL_ONES:
        return bool(np.all(~value == 0)) if dtype != np.bool_ else bool(value)
    wanted = neutral(dtype) if callable(neutral) else neutral
    return bool(value.shape == () and value == wanted)


def _program(
    computation: Callable, avals: Sequence[ShapedArray], tree: PyTreeDef
) -> tuple[Jaxpr, PyTreeDef]:
    """Trace the function for scalars: accumulators, then elements -> new accumulators.

    tree: of the operands.  Returns the tree of the result, too.
    """
    out_trees: list[PyTreeDef] = []

    def flat(*scalars: Value) -> Sequence[Value]:
        """Call the function."""
        halves = (scalars[: len(avals)], scalars[len(avals) :])
        outs, out_tree = tree_flatten(computation(*[tree_unflatten(tree, half) for half in halves]))
        out_trees.append(out_tree)
        return outs

    scalars = [ShapedArray((), aval.dtype, aval.weak_type) for aval in avals]
    jaxpr = stage_flat(flat, [*scalars, *scalars], "reduce", DebugInfo("reduce"))
    if any(isinstance(const, Tracer) for const in jaxpr.consts):
        raise NotImplementedError("Reduction computations can't close over Tracers.")
    found = [(out.shape, out.dtype) for out in jaxpr.out_avals]
    if found != [((), aval.dtype) for aval in avals]:
        wanted = ", ".join(aval.update(shape=()).str_short(True) for aval in avals)
        given = ", ".join(out.str_short(True) for out in jaxpr.out_avals)
        raise ValueError(
            "the function of a reduction must return a scalar of each operand's dtype, "
            f"({wanted}), but it returned ({given}). Convert its results."
        )
    return jaxpr, out_trees[0]


def _flattened(operands: Any, init_values: Any) -> tuple[list[Value], list[Value], PyTreeDef]:
    """Flatten operands and as many initial values, which must be in trees of one structure."""
    xs, tree = flatten_values(operands)
    inits, init_tree = flatten_values(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    return xs, inits, tree


def _check_inits(
    name: str,
    avals: Sequence[ShapedArray],
    inits: Sequence[ShapedArray],
) -> None:
    """Raise TypeError for initial values that do not go with the operands."""
    if len(avals) != len(inits):
        text = f"{name}: got {len(avals)} operands and {len(inits)} initial values"
        raise TypeError(text)
    if any(x.dtype != y.dtype for x, y in zip(avals, inits, strict=True)):
        raise TypeError(
            f"{name} operand dtypes should match corresponding initial value dtypes, "
            f"got operands={list(avals)} and initial_values={list(inits)}"
        )
    if any(y.shape for y in inits):
        shapes = [y.shape for y in inits]
        raise ValueError(f"{name} found non-scalar initial value: {shapes}")
    if any(x.shape != avals[0].shape for x in avals):
        shapes = [x.shape for x in avals]
        raise ValueError(f"{name} operands must have the same shape, got {shapes}")


class _Folding(ProgramPrimitive):
    """What reductions by a program share: operands, then as many initial values."""

    instrumented = False  # the program is about elements

    def combiner(self, b: Any, jaxpr: Jaxpr, avals: Sequence[ShapedArray]) -> Callable:
        """Return the function of two elements, or tuples of elements, that runs the program."""
        single = len(avals) == 1

        def combine(old: Any, new: Any) -> Any:
            """Run the program on scalars."""
            scalars = (old, new) if single else (*old, *new)
            types = [ShapedArray((), aval.dtype) for aval in (*avals, *avals)]
            values = [
                b.virtual(aval, lambda _, scalar=scalar: scalar)
                for aval, scalar in zip(types, scalars, strict=True)
            ]
            outs = tuple(out.at() for out in b.expression(jaxpr, values))
            return outs[0] if single else outs

        return combine


class Reduce(_Folding):
    """operands (n, m), as many initial values () -> (m,), folded along `dimensions`."""

    name = "reduce"

    def abstract(self, *avals: ShapedArray, dimensions: Any, **params: Any) -> tuple:
        operands, inits = (
            avals[: len(avals) // 2],
            avals[len(avals) // 2 :],
        )
        _check_inits(self.name, operands, inits)
        kept = tuple(n for axis, n in enumerate(operands[0].shape) if axis not in dimensions)
        return tuple(ShapedArray(kept, x.dtype, x.weak_type) for x in operands)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        n = len(primals) // 2
        inits, jaxpr = primals[n:], params["jaxpr"]
        if not all(isinstance(tangent, Zero) for tangent in tangents[n:]):
            raise NotImplementedError("Gradient of reduction with respect to initial values.")
        if all(isinstance(tangent, Zero) for tangent in tangents):
            outs = self.bind(*primals, **params)
            return outs, tuple(Zero(typeof(out).tangent()) for out in outs)
        axes = params["dimensions"]
        outs, out_tangents = jvp_flat(
            lambda *xs: _tree(jaxpr, xs, inits, axes),
            primals[:n],
            tangents[:n],
        )
        return tuple(outs), tuple(out_tangents)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        n = len(args) // 2
        if any(dim is not None for dim in dims[n:]):
            raise NotImplementedError("vmap of the initial value of a reduction")
        rows = [batch_dim_to(x, dim, 0, axis.size) for x, dim in zip(args[:n], dims, strict=False)]
        axes = tuple(1 + dimension for dimension in params.pop("dimensions"))
        return self.bind(*rows, *args[n:], dimensions=axes, **params), (0,) * n

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Write a reduction whose region is the program."""
        axes = {"dimensions": array_text(params["dimensions"])}
        return b.op("stablehlo.reduce", args, outs, axes, [b.sub(params["jaxpr"])])

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimensions: Any,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple:
        n = len(args) // 2
        operands, inits = args[:n], args[n:]
        rank = len(operands[0].shape)
        extents = tuple(operands[0].shape[axis] for axis in dimensions)
        combine = self.combiner(b, jaxpr, [x.aval for x in operands])

        def pull(index: Sequence[Any]) -> tuple:
            """Fold the elements that reduce to this index."""

            def element(inner: Sequence[Any]) -> Any:
                """Pull one of them."""
                at = dict(zip(dimensions, inner, strict=True))
                rest = iter(index)
                place = [at[axis] if axis in at else next(rest) for axis in range(rank)]
                found = tuple(x.at(*place) for x in operands)
                return found if n > 1 else found[0]

            start = tuple(x.at() for x in inits)
            total = b.fold(
                extents,
                element,
                combine,
                start if n > 1 else start[0],
            )
            return total if n > 1 else (total,)

        return tuple(
            b.virtual(out, lambda index, k=k: pull(index)[k]) for k, out in enumerate(outs)
        )


def _apply(jaxpr: Jaxpr, args: Sequence[Value]) -> list[Value]:
    """Run a program of scalars on every element of arrays of one shape."""
    shape = shape_of(args[0])
    size = int(np.prod(shape, dtype=int))
    flat = [reshape(x, (size,)) for x in args]
    outs, dims = batch_flat(
        lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs),
        Axis(size),
        flat,
        [0] * len(flat),
    )
    whole = [batch_dim_to(x, dim, 0, size) for x, dim in zip(outs, dims, strict=True)]
    return [reshape(x, shape) for x in whole]


def _tree(
    jaxpr: Jaxpr,
    xs: Sequence[Value],
    inits: Sequence[Value],
    axes: Sequence[int],
) -> list[Value]:
    """Fold arrays along axes by halving, the initial values first."""
    rest = tuple(n for axis, n in enumerate(shape_of(xs[0])) if axis not in axes)
    flat = []
    for x, init in zip(xs, inits, strict=True):
        for position, axis in enumerate(sorted(axes)):
            x = move_dim(x, axis, position)
        size = int(np.prod(shape_of(x)[: len(axes)], dtype=int))
        first = broadcast_in_dim(init, (1, *rest), ())
        flat.append(concatenate([first, reshape(x, (size, *rest))], 0))
    while (size := shape_of(flat[0])[0]) > 1:
        even = size - size % 2
        left = [slice_in_dim(x, 0, even, 2) for x in flat]
        right = [slice_in_dim(x, 1, even, 2) for x in flat]
        pairs = _apply(jaxpr, [*left, *right])
        if size % 2:
            last = [slice_in_dim(x, even, size) for x in flat]
            pairs = [concatenate(pair, 0) for pair in zip(pairs, last, strict=True)]
        flat = pairs
    return [squeeze(x, (0,)) for x in flat]


class ReduceWindowProgram(_Folding):
    """operands (n), as many initial values () -> (m), folded over windows."""

    name = "reduce_window"

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        operands, inits = (
            avals[: len(avals) // 2],
            avals[len(avals) // 2 :],
        )
        _check_inits(self.name, operands, inits)
        count = Windows(operands[0].shape, params).count
        return tuple(x.update(shape=count) for x in operands)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        n = len(primals) // 2
        jaxpr = params.pop("jaxpr")
        if not all(isinstance(tangent, Zero) for tangent in tangents[n:]):
            raise TypeError("reduce_window jvp does not support non-zero init_value_tangent.")
        types = [ShapedArray((), typeof(x).dtype) for x in primals[:n]]

        def paired(*scalars: Value) -> list[Value]:
            """Combine values and tangents: (values, tangents), (values, tangents)."""
            groups = [scalars[k * n : (k + 1) * n] for k in range(4)]
            outs, out_tangents = jvp_flat(
                lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs),
                [*groups[0], *groups[2]],
                [*groups[1], *groups[3]],
            )
            return [*outs, *map(instantiate, out_tangents)]

        program = stage_flat(
            paired,
            types * 4,
            "reduce_window",
            DebugInfo("reduce_window"),
        )
        moved = [instantiate(tangent) for tangent in tangents]
        args = (*primals[:n], *moved[:n], *primals[n:], *moved[n:])
        outs = self.bind(*args, jaxpr=program, **params)
        return outs[:n], outs[n:]

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        n = len(args) // 2
        if any(dim is not None for dim in dims[n:]):
            raise NotImplementedError(
                "reduce_window batching is not implemented for initial values"
            )
        rows = [batch_dim_to(x, dim, 0, axis.size) for x, dim in zip(args[:n], dims, strict=False)]
        return self.bind(*rows, *args[n:], **batched_window(params, 0)), (0,) * n

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Write a reduction of windows whose region is the program."""
        region = b.sub(params["jaxpr"])
        return b.op("stablehlo.reduce_window", args, outs, window_attributes(params), [region])

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple:
        n = len(args) // 2
        operands, inits = args[:n], tuple(x.at() for x in args[n:])
        combine = self.combiner(b, jaxpr, [x.aval for x in operands])
        pull = fold_window(
            b,
            Windows(operands[0].shape, params),
            operands,
            inits,
            combine,
        )
        if n == 1:
            return (b.virtual(outs[0], pull),)
        return tuple(
            b.virtual(out, lambda index, k=k: pull(index)[k]) for k, out in enumerate(outs)
        )


reduce_p = Reduce()
reduce_window_p = ReduceWindowProgram()


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: object = None,
) -> Any:
    """Fold `operands` along `dimensions` with a function of two scalars, from `init_values`.

    operands: an array (n, m), or a tree of arrays that are folded together by a function of two
    trees of scalars -> (m,), or a tree.

    >>> lax.reduce(jnp.array([[1, 2], [3, 4]]), 0, lax.add, (1,))
    Array([3, 7], dtype=int32)
    """
    xs, inits, tree = _flattened(operands, init_values)
    avals = [typeof(x) for x in xs]
    axes = tuple(map(int, dimensions))
    check_axes(avals[0], axes)
    if treedef_is_leaf(tree) and _is_neutral(computation, inits[0], avals[0].dtype):
        function = _NAMED[computation][1]
        if not (avals[0].dtype == np.bool_ and function in (reduce_sum, reduce_prod)):
            return function(xs[0], axes)
    inits = [_of_dtype(init, aval) for init, aval in zip(inits, avals, strict=True)]
    jaxpr, out_tree = _program(computation, avals, tree)
    params = {
        "computation": computation,
        "dimensions": axes,
        "jaxpr": jaxpr,
    }
    return tree_unflatten(out_tree, reduce_p.bind(*xs, *inits, **params))


def _of_dtype(init: Value, aval: ShapedArray) -> Value:
    """Return an initial value as a NumPy scalar of the operand's dtype, if it is a weak number."""
    if isinstance(init, (bool, int, float, complex)) and typeof(init).dtype == aval.dtype:
        return aval.dtype.type(init)
    return init


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Fold every window of `operand` with a function of two scalars: (n) -> (m).

    padding: "SAME", "VALID", or per axis the pair (before, after); what is added is `init_value`.
    The operands in a tree are folded together, by a function of two trees of scalars.

    >>> lax.reduce_window(jnp.array([1, 2, 3, 4]), 0, lax.add, (2,))
    Array([3, 5, 7], dtype=int32)
    """
    xs, inits, tree = _flattened(operand, init_value)
    avals = [typeof(x) for x in xs]
    options = (
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    named = treedef_is_leaf(tree) and _is_neutral(computation, inits[0], avals[0].dtype)
    if named and computation in _NAMED_WINDOWS:
        return _NAMED_WINDOWS[computation](xs[0], *options)
    inits = [_of_dtype(init, aval) for init, aval in zip(inits, avals, strict=True)]
    params = window_params(avals[0].shape, *options)
    jaxpr, out_tree = _program(computation, avals, tree)
    outs = reduce_window_p.bind(*xs, *inits, consts=(), jaxpr=jaxpr, **params)
    return tree_unflatten(out_tree, outs)


def scatter_apply(
    operand: Value,
    scatter_indices: Value,
    func: Callable[[Value], Value],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with `func` applied to the elements of windows, as often as they are named.

    operand: (m, n), scatter_indices: (k, 1), of rows; func: updates -> updates; the result: ->
    (m, n)
    update_shape: the shape of the list of windows, as the updates of `scatter` have it.

    >>> lax.scatter_apply(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), jnp.square,
    ...     lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(2,))
    Array([25,  6, 49], dtype=int32)
    """
    aval = typeof(operand)
    if not dtypes.issubdtype(aval.dtype, np.number) and aval.dtype != np.bool_:
        raise TypeError(
            f"scatter_apply does not accept dtype {dtypes.dtype_name(aval.dtype)}; elements that "
            "have a function applied can be set: x.at[i].set(f(x[i]))"
        )
    scalar = ShapedArray((), aval.dtype, aval.weak_type)
    jaxpr = stage_flat(lambda x, _: (func(x),), [scalar, scalar], "scatter_apply")
    if any(isinstance(const, Tracer) for const in jaxpr.consts):
        text = "scatter_apply func can't close over Tracers"
        raise NotImplementedError(text)
    return scatter_p.bind(
        operand,
        scatter_indices,
        full(tuple(update_shape), 0, aval.dtype),
        dimension_numbers=dimension_numbers,
        indices_are_sorted=bool(indices_are_sorted),
        mode=GatherScatterMode.from_any(mode),
        unique_indices=bool(unique_indices),
        update_consts=(),
        update_jaxpr=jaxpr,
    )[0]
