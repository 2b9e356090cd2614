"""Parts of rules that structural primitives share: reductions, gathers, products, factorisations.

`tangent_of(function, t, out)` applies a linear function to a tangent unless it is `Zero`.
`rows_first` brings all batch axes to the front, `batched_axes` renumbers a row's axes for an
operand with a batch axis (as NumPy integers: so JAX prints them).
`scalar_program` builds the two-argument program of a binary operation that scatters carry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import Builder, Eqn, Jaxpr, Var
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values, registry
from tapeless.core.source import UNKNOWN_SOURCE
from tapeless.core.trace import Value
from tapeless.prims.common import batch_dim_to

__all__ = [
    "LinearUnary",
    "WithoutTangent",
    "batched_axes",
    "canonical_axis",
    "highest",
    "is_complex",
    "lowest",
    "require_order",
    "rows_first",
    "scalar_program",
    "tangent_of",
]


def tangent_of(function: Callable[[Value], Value], t: Value | Zero, out: Value) -> Value | Zero:
    """Return `function(t)`, or the `Zero` tangent of `out` when `t` is one."""
    return Zero(typeof(out).tangent()) if isinstance(t, Zero) else function(t)


def batched_axes(axes: Sequence[int], dim: int) -> tuple[np.int64, ...]:
    """Return the axes of an operand batched at `dim` that stand for `axes` of one row."""
    return tuple(np.int64(axis + (axis >= dim)) for axis in axes)


def rows_first(args: Values, dims: Sequence[int | None], size: int) -> list[Value]:
    """Bring every batch axis to the front; repeat the operands that have none."""
    pairs = zip(args, dims, strict=True)
    return [batch_dim_to(x, dim, 0, size) for x, dim in pairs]


def require_order(aval: ShapedArray, name: str) -> None:
    """Raise TypeError for elements that have no order, those of key arrays."""
    if not isinstance(aval.dtype, np.dtype):
        raise TypeError(
            f"{name} does not accept dtype {dtypes.dtype_name(aval.dtype)} at position 0. "
            "Accepted dtypes at position 0 are subtypes of integer, bool, floating."
        )


def canonical_axis(axis: int, ndim: int) -> int:
    """Return the axis counted from the front, or raise ValueError."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def is_complex(dtype: Any) -> bool:
    """Tell whether elements of the dtype are complex numbers."""
    return dtypes.issubdtype(dtype, np.complexfloating)


def lowest(dtype: Any) -> Any:
    """Return the least value of a real dtype: -inf, the least integer, or False."""
    if dtype == np.bool_:
        return False
    if is_complex(dtype):
        return complex(-np.inf, -np.inf)
    if dtypes.issubdtype(dtype, np.inexact):
        return -np.inf if dtypes.supports_inf(dtype) else float(dtypes.finfo(dtype).min)
    return int(dtypes.iinfo(dtype).min)


def highest(dtype: Any) -> Any:
    """Return the greatest value of a real dtype: inf, the greatest integer, or True."""
    if dtype == np.bool_:
        return True
    if is_complex(dtype):
        return complex(np.inf, np.inf)
    if dtypes.issubdtype(dtype, np.inexact):
        return np.inf if dtypes.supports_inf(dtype) else float(dtypes.finfo(dtype).max)
    return int(dtypes.iinfo(dtype).max)


class LinearUnary(Primitive):
    """An operation with one result that is linear in its first and only operand."""

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        """Apply the operation to the tangent."""
        (out,) = self.bind(*primals, **params)
        return (out,), (tangent_of(lambda t: self.bind(t, **params)[0], tangents[0], out),)


class WithoutTangent(Primitive):
    """An operation whose results do not depend differentiably on its operands."""

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        """Return zero tangents."""
        outs = self.bind(*primals, **params)
        return outs, tuple(Zero(typeof(out).tangent()) for out in outs)


@cache
def scalar_program(name: str, dtype: Any, weak_type: bool = False) -> Jaxpr:
    """Return the program `{ lambda ; a b. let c = name a b in (c,) }` over scalars of the dtype.

    The same arguments give the same object, so that programs which carry it compare equal.
    """
    aval = ShapedArray((), dtype, weak_type)
    prim = registry[name]
    builder = Builder()
    operands = (builder.new_input(aval), builder.new_input(aval))
    result = Var(prim.abstract(aval, aval)[0])
    builder.emit(Eqn(prim, operands, (result,), {}, prim.effects(), UNKNOWN_SOURCE))
    return builder.build((result,))
