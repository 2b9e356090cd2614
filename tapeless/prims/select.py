"""Choices: `select_n(which, *cases)` takes each element from one of several arrays.

    which: (n,) or (), bool or int32; cases: (n,) each -> (n,)        y[i] = cases[which[i]][i]

`clamp` bounds elements.  Integers out of range choose the first or the last case.  Both sides of a
choice are values: nothing is left uncomputed here; the compiler may leave it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import (
    ANY,
    Avals,
    Dims,
    Elementwise,
    Tangents,
    apply,
    batch_dim_to,
    move_dim,
    no_tangents,
    scalar_like,
    shape_of,
    zero_cotangents,
    zeros,
)
from tapeless.prims.compare import eq, gt, lt
from tapeless.prims.structural import broadcast_in_dim

__all__ = ["clamp", "clamp_p", "select", "select_n", "select_n_p"]


class SelectN(Primitive):
    """y = cases[which], elementwise; `which` of rank 0 chooses a whole case."""

    name = "select_n"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check that the cases agree and that `which` fits."""
        which, *cases = avals
        shapes = [case.shape for case in cases]
        if any(shape != shapes[0] for shape in shapes):
            raise TypeError(f"select cases must have the same shapes, got {shapes}.")
        if which.shape not in ((), shapes[0]):
            raise TypeError(
                "select `which` must be scalar or have the same shape as cases, "
                f"got `which` shape {which.shape} but case shape {shapes[0]}."
            )
        if any(case.dtype != cases[0].dtype for case in cases):
            got = ", ".join(dtypes.dtype_name(case.dtype) for case in cases)
            raise TypeError(
                f"lax.select requires arguments to have the same dtypes, got {got}. (Tip: "
                "jnp.where is a similar function that does automatic type promotion on inputs)."
            )
        if which.dtype.kind not in "biu":
            raise TypeError(
                "select `which` must be boolean or integer type, "
                f"got {dtypes.dtype_name(which.dtype)}."
            )
        if which.dtype == np.bool_ and len(cases) > 2:
            raise TypeError("select with boolean `which` cannot have > 2 cases.")
        weak = all(case.weak_type for case in cases)
        return (ShapedArray(shapes[0], cases[0].dtype, weak),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Choose among the tangents."""
        (out,) = self.bind(*primals)
        if all(isinstance(t, Zero) for t in tangents[1:]):
            return (out,), no_tangents((out,))
        nothing = zeros(typeof(out).tangent())
        parts = [nothing if isinstance(t, Zero) else t for t in tangents[1:]]
        return (out,), self.bind(primals[0], *parts)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Give each case the cotangents of the elements taken from it."""
        (ct,), (which, *cases) = cotangents, args
        if isinstance(ct, Zero):
            return zero_cotangents(args)
        nothing = zeros(typeof(ct))
        if typeof(which).dtype != np.bool_ and len(cases) > 2:
            last = typeof(which)
            first, final = scalar_like(last, 0), scalar_like(last, len(cases) - 1)
            which = clamp(first, which, final)
        found = []
        for position, case in enumerate(cases):
            if not isinstance(case, Linear):
                found.append(None)
            elif len(cases) > 2:
                chosen = eq(which, scalar_like(typeof(which), position))
                found.append(select_n(chosen, nothing, ct))
            else:
                parts = [nothing] * len(cases)
                parts[position] = ct
                found.append(select_n(which, *parts))
        return (None, *found)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Give the cases batch axes, and `which` too unless it chooses for all rows at once."""
        (which, *cases), (which_dim, *case_dims) = args, dims
        same_place = len(set(case_dims)) == 1 and case_dims[0] is not None
        if same_place and which_dim is None and not shape_of(which):
            return self.bind(*args), (case_dims[0],)
        whole = which_dim == case_dims[0] and shape_of(which) == shape_of(cases[0])
        if same_place and whole:
            return self.bind(*args), (case_dims[0],)
        if which_dim is not None or shape_of(which):
            which, which_dim = batch_dim_to(which, which_dim, 0, axis.size), 0
        cases = [
            batch_dim_to(case, dim, 0, axis.size)
            for case, dim in zip(cases, case_dims, strict=True)
        ]
        if which_dim is not None and len(shape_of(which)) < len(shape_of(cases[0])):
            which = broadcast_in_dim(which, shape_of(cases[0]), (0,))
        return self.bind(which, *cases), (0,)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Select, from the last case backwards."""
        which, *cases = args

        def pull(index: tuple) -> Any:
            """Return the chosen element."""
            choice = which.at(*(index if which.shape else ()))
            result = cases[-1].at(*index)
            for position in range(len(cases) - 2, -1, -1):
                if which.dtype == np.bool_:
                    first = b.not_(choice)
                else:
                    first = b.le(choice, b.const(position, which.dtype))
                result = b.select(first, cases[position].at(*index), result)
            return result

        return (b.virtual(outs[0], pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write `select` for two cases of a bool; else leave it to `decompose`."""
        if len(args) != 3 or args[0].aval.dtype != np.bool_:
            return NotImplemented
        which, on_false, on_true = args
        return b.op("stablehlo.select", [which, on_true, on_false], outs, {})

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Choose between two at a time."""
        which, *cases = args
        result = cases[-1]
        for position in range(len(cases) - 2, -1, -1):
            first = lt(which, scalar_like(typeof(which), position + 1))
            result = select_n(first, result, cases[position])
        return (result,)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Choose with NumPy."""
        which, *cases = arrays
        everywhere = np.broadcast_to(which, cases[0].shape)
        position = np.clip(everywhere.astype(int), 0, len(cases) - 1)
        return (np.choose(position, cases).astype(cases[0].dtype),)


select_n_p = SelectN()


def select_n(which: Value, *cases: Value) -> Value:
    """Return, elementwise, the case whose number is `which`.

    which: (n,) or (), bool or int32; cases: (n,) each -> (n,)

    >>> lax.select_n(jnp.array([0, 1]), jnp.array([1, 2]), jnp.array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)[0]


def select(pred: Value, on_true: Value, on_false: Value) -> Value:
    """Return `on_true` where `pred` is true, else `on_false`.

    pred: (n,) or (); on_true, on_false: (n,) -> (n,)

    >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    return select_n_p.bind(pred, on_false, on_true)[0]


def _low_tangent(t: Value, out: Value, low: Value, x: Value, high: Value) -> Value:
    """Return the tangent of `low` where the result is `low`."""
    below = gt(low, x)
    ordered = lt(low, high)
    chosen = apply("and", below, ordered)
    return _where(chosen, _like(t, out))


def _inner_tangent(t: Value, out: Value, low: Value, x: Value, high: Value) -> Value:
    """Return the tangent of `x` where it lies between the bounds."""
    above = gt(x, low)
    below = lt(x, high)
    inside = apply("and", above, below)
    return _where(inside, t)


def _high_tangent(t: Value, out: Value, low: Value, x: Value, high: Value) -> Value:
    """Return the tangent of `high` where the result is `high`."""
    above = lt(high, x)
    return _where(above, _like(t, out))


class Clamp(Elementwise):
    """y = min(max(x, low), high); the bounds have the shape of x, or rank 0."""

    name = "clamp"
    accepts = (ANY, ANY, ANY)
    partials = (_low_tangent, _inner_tangent, _high_tangent)
    hlo_name = "stablehlo.clamp"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check that the bounds fit."""
        low, x, high = avals
        self.same_dtypes(*(aval.dtype for aval in avals))
        for name, bound in (("min", low), ("max", high)):
            if bound.shape not in ((), x.shape):
                raise TypeError(
                    f"clamp requires {name}.shape == operand.shape or {name}.shape == (), "
                    f"got {name}.shape={bound.shape}, operand.shape={x.shape}."
                )
        weak = all(aval.weak_type for aval in avals)
        return (ShapedArray(x.shape, x.dtype, weak),)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Leave shared scalar bounds alone; else give all operands the batch axis and one shape."""
        low, x, high = args
        loose = [dims[k] is None and not shape_of(args[k]) for k in (0, 2)]
        shared = all(loose)
        if shared and dims[1] is not None:
            return self.bind(*args), (dims[1],)
        x = batch_dim_to(x, dims[1], 0, axis.size)
        shape = shape_of(x)
        bounds = {k: _repeated(args[k], shape) for k in (0, 2) if dims[k] is None}
        for k in (0, 2):
            dim = dims[k]
            if dim is not None:
                bound = move_dim(args[k], dim, 0)
                rank = len(shape_of(bound))
                bounds[k] = broadcast_in_dim(bound, shape, range(rank))
        return self.bind(bounds[0], x, bounds[2]), (0,)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Bound one element."""
        low, x, high = scalars
        return b.min(b.max(x, low), high)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Bound with NumPy; NaN stays."""
        low, x, high = arrays
        return (np.minimum(np.maximum(x, low), high),)


clamp_p = Clamp()


def clamp(min: Value, x: Value, max: Value) -> Value:
    """Return `x` bounded by `min` and `max`.

    x: (n,); min, max: (n,) or () -> (n,)

    >>> lax.clamp(0.0, jnp.array([-1.0, 0.5, 2.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return clamp_p.bind(min, x, max)[0]


def _repeated(bound: Value, shape: tuple[int, ...]) -> Value:
    """Stretch a bound without batch axis to the shape of the batched operand."""
    rank = len(shape)
    rows = range(rank - len(shape_of(bound)), rank)
    dims = tuple(map(np.int64, rows))
    return broadcast_in_dim(bound, shape, dims)


def _where(condition: Value, t: Value) -> Value:
    """Return the tangent where the condition holds, else zeros."""
    return select_n(condition, zeros(typeof(t)), t)


def _like(t: Value, out: Value) -> Value:
    """Stretch the tangent of a scalar bound to the result's shape."""
    shape = shape_of(out)
    return t if shape_of(t) == shape else broadcast_in_dim(t, shape, ())
