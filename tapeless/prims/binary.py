"""Arithmetic on two operands: add, sub, mul, div, rem, pow, max, min, atan2, nextafter.

Operands have one dtype; nothing is promoted.  Integer division truncates and is total: x // 0 is -1
and x % 0 is x.  Operations on bits are in `prims/bitwise.py`.

`add`, `sub` and, in each operand, `mul` and, in the first, `div` are linear and have transposes,
which undo stretching by `unbroadcast`.  `add_any` adds tangents; it differs from `add` by name
only, so that programs show which sums differentiation made.

At ties, `max` and `min` pass half of the tangent of each operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import (
    ANY,
    COUNTABLE,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    Avals,
    Dims,
    Elementwise,
    Tangents,
    apply,
    batch_dim,
    batch_dim_to,
    broadcast_elements,
    extreme_hlo,
    full_like,
    ones_like,
    scalar_like,
    stretched_hlo,
    unbroadcast,
    zero_cotangents,
)
from tapeless.prims.compare import eq, gt
from tapeless.prims.convert import convert
from tapeless.prims.select import select_n

__all__ = [
    "add",
    "add_any_p",
    "add_p",
    "atan2",
    "atan2_p",
    "div",
    "div_p",
    "max",
    "max_p",
    "min",
    "min_p",
    "mul",
    "mul_p",
    "nextafter",
    "nextafter_p",
    "pow",
    "pow_p",
    "rem",
    "rem_p",
    "replace_zero",
    "sub",
    "sub_p",
]


class Sum(Elementwise):
    """A sum or difference: linear in both operands together."""

    accepts = (NUMBER, NUMBER)

    def second(self, t: Value) -> Value:
        """Return the second operand's contribution; `sub` negates it."""
        return t

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Combine the tangents as the operands; stretch a single one to the result."""
        (out,) = self.bind(*primals)
        aval = typeof(out).tangent()
        t, u = tangents
        if not isinstance(t, Zero) and not isinstance(u, Zero):
            (total,) = self.bind(t, u)
            return (out,), (broadcast_elements(total, aval),)
        if isinstance(u, Zero):
            return (out,), (broadcast_elements(t, aval),)
        return (out,), (broadcast_elements(self.second(u), aval),)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Give each operand the cotangent, summed where the operand was stretched."""
        (ct,), (x, y) = cotangents, args
        if isinstance(ct, Zero):
            return zero_cotangents(args)
        first = unbroadcast(ct, x.aval) if isinstance(x, Linear) else None
        second = unbroadcast(self.second(ct), y.aval) if isinstance(y, Linear) else None
        return first, second


class Add(Sum):
    """x + y."""

    name = "add"
    tip = "add"
    kernel_name = "add"
    hlo_name = "stablehlo.add"
    numpy = np.add


add_p = Add()


def add(x: Value, y: Value) -> Value:
    """Return x + y, elementwise.

    >>> lax.add(jnp.array([1, 2]), 3)
    Array([4, 5], dtype=int32)
    """
    return add_p.bind(x, y)[0]


class AddAny(Sum):
    """x + y, for tangents of one type."""

    name = "add_any"
    accepts = (ANY, ANY)
    kernel_name = "add"
    hlo_name = "stablehlo.add"
    numpy = np.add

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Add with one batch axis; repeat an operand without one, for both are of one type."""
        place = dims[1] if dims[1] is not None else batch_dim(dims)
        x, y = [batch_dim_to(x, d, place, axis.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(x, y), (place,)


add_any_p = AddAny()


class Sub(Sum):
    """x - y."""

    name = "sub"
    tip = "subtract"
    kernel_name = "sub"
    hlo_name = "stablehlo.subtract"
    numpy = np.subtract

    def second(self, t: Value) -> Value:
        """Negate."""
        return apply("neg", t)


sub_p = Sub()


def sub(x: Value, y: Value) -> Value:
    """Return x - y, elementwise.

    >>> lax.sub(jnp.array([5, 7]), 3)
    Array([2, 4], dtype=int32)
    """
    return sub_p.bind(x, y)[0]


class Mul(Elementwise):
    """x * y, in `out_dtype` if that is given."""

    name = "mul"
    accepts = (NUMBER, NUMBER)
    tip = "multiply"
    partials = (
        lambda t, out, x, y, **params: mul_p.bind(t, y, **params)[0],
        lambda t, out, x, y, **params: mul_p.bind(x, t, **params)[0],
    )
    hlo_name = "stablehlo.multiply"

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return the dtype asked for, or the operands'."""
        wanted = params.get("out_dtype")
        return operands[0] if wanted is None else dtypes.canonicalize_dtype(wanted)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Multiply the cotangent by the other operand."""
        (ct,), (x, y) = cotangents, args
        wanted, other = (x, y) if isinstance(x, Linear) else (y, x)
        found: Value | Zero = Zero(wanted.aval)
        if not isinstance(ct, Zero):
            ct = convert(ct, wanted.aval.dtype, wanted.aval.weak_type) if params else ct
            product = mul(ct, other) if wanted is x else mul(other, ct)
            found = unbroadcast(product, wanted.aval)
        return (found, None) if wanted is x else (None, found)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Multiply two elements."""
        x, y = scalars
        if params.get("out_dtype") is not None:
            dtype = dtypes.canonicalize_dtype(params["out_dtype"])
            x, y = b.convert(x, dtype), b.convert(y, dtype)
        return b.mul(x, y)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Convert first if another dtype is asked for."""
        args = [
            arg
            if arg.aval.dtype == outs[0].dtype
            else b.op("stablehlo.convert", [arg], (arg.aval.update(dtype=outs[0].dtype),), {})[0]
            for arg in args
        ]
        return super().hlo(b, args, outs, **params)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Multiply with NumPy."""
        dtype = self.out_dtype(*(x.dtype for x in arrays), **params)
        with np.errstate(all="ignore"):
            return (np.asarray(np.multiply(*(x.astype(dtype) for x in arrays))),)


mul_p = Mul()


def mul(x: Value, y: Value, *, out_dtype: object = None) -> Value:
    """Return x * y, elementwise, computed in `out_dtype` if that is given.

    >>> lax.mul(jnp.array([1, 2]), 3)
    Array([3, 6], dtype=int32)
    """
    params = {} if out_dtype is None else {"out_dtype": out_dtype}
    return mul_p.bind(x, y, **params)[0]


class Div(Elementwise):
    """x / y; truncated for integers."""

    name = "div"
    accepts = (NUMBER, NUMBER)
    tip = "divide"
    partials = (
        lambda t, out, x, y: div(t, y),
        lambda t, out, x, y: mul(mul(apply("neg", t), x), apply("integer_pow", y, y=-2)),
    )
    kernel_name = "div"
    hlo_name = "stablehlo.divide"

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Divide the cotangent; a quotient is linear in its numerator only."""
        (ct,), (x, y) = cotangents, args
        if isinstance(ct, Zero):
            return Zero(x.aval), None
        return unbroadcast(div(ct, y), x.aval), None

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Divide with NumPy; integers exactly, towards zero."""
        x, y = np.broadcast_arrays(*arrays)
        with np.errstate(all="ignore"):
            if not dtypes.issubdtype(x.dtype, np.integer):
                return (np.asarray(np.divide(x, y)).astype(x.dtype),)
        quotient, _ = _divide_integers(x, y)
        return (quotient,)


div_p = Div()


def div(x: Value, y: Value) -> Value:
    """Return x / y, elementwise; integer quotients are truncated, and x / 0 is -1.

    >>> lax.div(jnp.array([-7, 7]), 2)
    Array([-3,  3], dtype=int32)
    """
    return div_p.bind(x, y)[0]


class Rem(Elementwise):
    """x - y * trunc(x / y): the remainder with the sign of x."""

    name = "rem"
    accepts = (COUNTABLE, COUNTABLE)
    partials = (
        lambda t, out, x, y: t,
        lambda t, out, x, y: mul(apply("neg", t), _truncated_quotient(x, y)),
    )
    kernel_name = "rem"
    hlo_name = "stablehlo.remainder"

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Compute with NumPy; integers exactly."""
        x, y = np.broadcast_arrays(*arrays)
        with np.errstate(all="ignore"):
            if not dtypes.issubdtype(x.dtype, np.integer):
                return (np.asarray(np.fmod(x, y)).astype(x.dtype),)
        _, remainder = _divide_integers(x, y)
        return (remainder,)


rem_p = Rem()


def rem(x: Value, y: Value) -> Value:
    """Return the remainder of x / y with the sign of x; for integers, x rem 0 is x, elementwise.

    >>> lax.rem(jnp.array([-7, 7]), 3)
    Array([-1,  1], dtype=int32)
    """
    return rem_p.bind(x, y)[0]


class Pow(Elementwise):
    """x ** y for floating or complex x; y has the same dtype, or an integer one."""

    name = "pow"
    accepts = (INEXACT, (*INEXACT, *INTEGER))
    tip = "power"
    partials = (
        lambda t, out, x, y: mul(t, _pow_by_base(x, y)),
        lambda t, out, x, y: mul(t, mul(apply("log", replace_zero(x)), out)),
    )
    hlo_name = "stablehlo.power"

    def same_dtypes(self, *operands: np.dtype) -> None:
        """Let integer exponents pass."""
        if not dtypes.issubdtype(operands[1], np.integer):
            super().same_dtypes(*operands)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Raise one element."""
        x, y = scalars
        return b.pow(x, b.convert(y, x.dtype))

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Convert an integer exponent first."""
        x, y = args
        if y.aval.dtype != x.aval.dtype:
            (y,) = b.op("stablehlo.convert", [y], (y.aval.update(dtype=x.aval.dtype),), {})
        return super().hlo(b, [x, y], outs)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Raise with NumPy."""
        x, y = arrays
        with np.errstate(all="ignore"):
            return (np.asarray(np.power(x, y.astype(x.dtype))).astype(x.dtype),)


pow_p = Pow()


def pow(x: Value, y: Value) -> Value:
    """Return x ** y, elementwise; a Python integer y stays an integer.

    >>> lax.pow(jnp.array([2.0, 3.0]), 2)
    Array([4., 9.], dtype=float32)
    """
    return pow_p.bind(x, y)[0]


class Max(Elementwise):
    """The larger of x and y, or NaN; complex numbers are compared by real, then imaginary part."""

    name = "max"
    accepts = (ANY, ANY)
    tip = "maximum"
    partials = (
        lambda t, out, x, y: mul(t, _share(x, y, out)),
        lambda t, out, x, y: mul(t, _share(y, x, out)),
    )
    kernel_name = "max"
    hlo_name = "stablehlo.maximum"
    numpy = np.maximum

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Stretch and compare."""
        x, y = (stretched_hlo(b, arg, outs[0].shape) for arg in args)
        return (extreme_hlo(b, self.hlo_name, x, y),)


max_p = Max()


def max(x: Value, y: Value) -> Value:
    """Return the larger of x and y, elementwise; NaN if one of them is.

    >>> lax.max(jnp.array([1.0, 5.0, jnp.nan]), 3.0)
    Array([ 3.,  5., nan], dtype=float32)
    """
    return max_p.bind(x, y)[0]


class Min(Elementwise):
    """The smaller of x and y, or NaN; complex numbers are compared by real, then imaginary part."""

    name = "min"
    accepts = (ANY, ANY)
    tip = "minimum"
    partials = (
        lambda t, out, x, y: mul(t, _share(y, x, out)),
        lambda t, out, x, y: mul(t, _share(x, y, out)),
    )
    kernel_name = "min"
    hlo_name = "stablehlo.minimum"
    numpy = np.minimum

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Stretch and compare."""
        x, y = (stretched_hlo(b, arg, outs[0].shape) for arg in args)
        return (extreme_hlo(b, self.hlo_name, x, y),)


min_p = Min()


def min(x: Value, y: Value) -> Value:
    """Return the smaller of x and y, elementwise; NaN if one of them is.

    >>> lax.min(jnp.array([1.0, 5.0, jnp.nan]), 3.0)
    Array([ 1.,  3., nan], dtype=float32)
    """
    return min_p.bind(x, y)[0]


class Atan2(Elementwise):
    """The angle of the point (y, x), from -pi to pi."""

    name = "atan2"
    accepts = (INEXACT, INEXACT)
    partials = (
        lambda t, out, x, y: mul(t, div(y, _square_sum(x, y))),
        lambda t, out, x, y: mul(t, div(apply("neg", x), _square_sum(x, y))),
    )
    kernel_name = "atan2"
    hlo_name = "stablehlo.atan2"

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Use NumPy, or -i log((y + ix) / sqrt(x^2 + y^2)) for complex numbers."""
        x, y = arrays
        with np.errstate(all="ignore"):
            if dtypes.issubdtype(x.dtype, np.complexfloating):
                angle = -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))
                return (np.asarray(angle).astype(x.dtype),)
            return (np.asarray(np.arctan2(x, y)).astype(x.dtype),)


atan2_p = Atan2()


def atan2(x: Value, y: Value) -> Value:
    """Return the angle of the point with ordinate x and abscissa y, elementwise.

    >>> lax.atan2(jnp.array([1.0, -1.0]), jnp.array([0.0, -1.0]))
    Array([ 1.5707964, -2.3561945], dtype=float32)
    """
    return atan2_p.bind(x, y)[0]


class NextAfter(Elementwise):
    """The float after x in the direction of y."""

    name = "nextafter"
    accepts = (FLOAT, FLOAT)
    partials = (lambda t, out, x, y: t, None)
    kernel_name = "nextafter"
    hlo_name = "chlo.next_after"

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Step with NumPy, in the operands' own dtype."""
        return (np.asarray(np.nextafter(*arrays)),)


nextafter_p = NextAfter()


def nextafter(x1: Value, x2: Value) -> Value:
    """Return the representable value that follows x1 in the direction of x2, elementwise.

    >>> lax.nextafter(jnp.float32(1), jnp.float32(2)) - 1
    Array(1.1920929e-07, dtype=float32)
    """
    return nextafter_p.bind(x1, x2)[0]


# Helpers


def replace_zero(x: Value) -> Value:
    """Return `x` with ones in place of zeros."""
    return select_n(eq(x, scalar_like(typeof(x), 0)), x, ones_like(x))


def _pow_by_base(x: Value, y: Value) -> Value:
    """Return the derivative of x ** y by x."""
    aval = typeof(y)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        # The one is not weakly typed, and so the slope is not either, as in JAX.
        base, one = convert(x, typeof(x).dtype), full_like(aval.strong(), 1)
        return mul(y, pow(base, sub(y, one)))
    y = convert(y, typeof(x).dtype)
    zero = scalar_like(typeof(y), 0)
    no_slope = eq(y, zero)
    nothing = full_like(y, 0)
    slope = mul(select_n(eq(y, zero), y, ones_like(y)), pow(x, sub(y, ones_like(y))))
    return select_n(no_slope, slope, broadcast_elements(nothing, typeof(slope)))


def _share(x: Value, y: Value, out: Value) -> Value:
    """Return 1 where x is larger than y, 1/2 where they are equal, else 0."""
    larger, equal = gt(x, y), eq(x, y)
    aval = typeof(out).tangent().strong()
    one, none, half = full_like(aval, 1), full_like(aval, 0), full_like(aval, 0.5)
    return select_n(larger, select_n(equal, none, half), one)


def _square_sum(x: Value, y: Value) -> Value:
    """Return x ** 2 + y ** 2."""
    return add(apply("square", x), apply("square", y))


def _truncated_quotient(x: Value, y: Value) -> Value:
    """Return trunc(x / y)."""
    return mul(apply("sign", div(x, y)), apply("floor", apply("abs", div(x, y))))


def _divide_integers(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quotients, truncated, and remainders, with the values for division by zero."""
    quotients, remainders = [], []
    bits = x.dtype.itemsize * 8
    for a, c in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True):
        quotient = -1 if c == 0 else abs(a) // abs(c) * (-1 if (a < 0) != (c < 0) else 1)
        remainder = a if c == 0 else a - quotient * c
        quotients.append(quotient & ((1 << bits) - 1))
        remainders.append(remainder)
    word = np.dtype(f"uint{bits}")
    quotient = np.array(quotients, word).astype(x.dtype).reshape(x.shape)
    return quotient, np.array(remainders, x.dtype).reshape(x.shape)
