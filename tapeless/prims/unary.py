"""Functions of one operand: signs, rounding, powers and roots, bits.

Derivatives are written with the result `out` where that saves work (`sqrt`, `cbrt`, ...).
"""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.trace import Value
from tapeless.prims.accuracy import Accurate, accuracy_params
from tapeless.prims.binary import add, div, mul, replace_zero, sub
from tapeless.prims.common import (
    BITS,
    FLOAT,
    INTEGER,
    NUMBER,
    SIGNED,
    Avals,
    Elementwise,
    apply,
    const,
    dtype_of,
    full_like,
)
from tapeless.prims.compare import ge, ne
from tapeless.prims.convert import convert
from tapeless.prims.select import select_n

__all__ = [
    "RoundingMethod",
    "abs",
    "abs_p",
    "bitwise_not",
    "cbrt",
    "cbrt_p",
    "ceil",
    "ceil_p",
    "clz",
    "clz_p",
    "floor",
    "floor_p",
    "integer_pow",
    "integer_pow_p",
    "is_finite",
    "is_finite_p",
    "neg",
    "neg_p",
    "not_p",
    "one_minus_square",
    "one_minus_square_p",
    "population_count",
    "population_count_p",
    "reciprocal",
    "round",
    "round_p",
    "rsqrt",
    "rsqrt_p",
    "sign",
    "sign_p",
    "sqrt",
    "sqrt_p",
    "square",
    "square_p",
]


# Signs


class Neg(Elementwise):
    """-x."""

    name = "neg"
    accepts = (NUMBER,)
    partials = (lambda t, out, x: neg(t),)
    kernel_name = "neg"
    hlo_name = "stablehlo.negate"
    numpy = np.negative

    def transpose(self, cotangents: Any, args: Any, **params: Any) -> tuple:
        """Negate the cotangent."""
        (ct,) = cotangents
        return (ct if isinstance(ct, Zero) else neg(ct),)


neg_p = Neg()


def neg(x: Value) -> Value:
    """Return -x, elementwise.

    >>> lax.neg(jnp.array([0.5, -2.0]))
    Array([-0.5,  2. ], dtype=float32)
    """
    return neg_p.bind(x)[0]


class Abs(Elementwise):
    """|x|; of a complex number, its real modulus."""

    name = "abs"
    accepts = (SIGNED,)
    partials = (lambda t, out, x: _abs_tangent(t, out, x),)
    kernel_name = "abs"
    hlo_name = "stablehlo.abs"
    numpy = np.abs

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return the real dtype."""
        return _real_dtype(operands[0])


abs_p = Abs()


def abs(x: Value) -> Value:
    """Return |x|, elementwise; real for complex x.

    >>> lax.abs(jnp.array([-1.5, 2.0]))
    Array([1.5, 2. ], dtype=float32)
    """
    return abs_p.bind(x)[0]


def _abs_tangent(t: Value, out: Value, x: Value) -> Value:
    """Return sign(x) t, or the real part of conj(x) / |x| t."""
    if not dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
        return select_n(ge(x, const(x, 0)), neg(t), t)
    direction = div(apply("conj", x, input_dtype=typeof(x).dtype), replace_zero(_as_complex(out)))
    return apply("real", mul(t, direction))


class Sign(Elementwise):
    """-1, 0 or 1 with the sign of x (0 for -0 keeps its sign, NaN stays); x / |x| for complex x."""

    name = "sign"
    accepts = (NUMBER,)
    partials = (lambda t, out, x: _sign_tangent(t, out, x),)
    kernel_name = "sign"
    hlo_name = "stablehlo.sign"
    numpy = np.sign

    def hlo(self, b: Any, args: Any, outs: Avals, **params: Any) -> tuple:
        """Leave unsigned integers to the decomposition."""
        if dtypes.issubdtype(outs[0].dtype, np.unsignedinteger):
            return NotImplemented
        return super().hlo(b, args, outs, **params)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Tell whether an unsigned integer is not 0."""
        (x,) = args
        return (convert(ne(x, const(x, 0)), dtype_of(x)),)


sign_p = Sign()


def sign(x: Value) -> Value:
    """Return the sign of x, elementwise; x / |x| for complex x.

    >>> lax.sign(jnp.array([-1.5, 2.0]))
    Array([-1.,  1.], dtype=float32)
    """
    return sign_p.bind(x)[0]


def _sign_tangent(t: Value, out: Value, x: Value) -> Value | Zero:
    """Return the rotation that t means for complex x, and nothing for real x."""
    if not dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
        return Zero(typeof(t))
    across = apply("imag", mul(apply("conj", out, input_dtype=typeof(out).dtype), t))
    angle = div(across, replace_zero(abs(x)))
    turn = apply("complex", full_like(angle, 0), angle)
    return mul(out, turn)


# Rounding


class Floor(Elementwise):
    """The largest integer that is not above x."""

    name = "floor"
    accepts = (FLOAT,)
    partials = (None,)
    kernel_name = "floor"
    hlo_name = "stablehlo.floor"
    numpy = np.floor


floor_p = Floor()


def floor(x: Value) -> Value:
    """Return the largest integer not above x, elementwise.

    >>> lax.floor(jnp.array([-1.5, 2.25]))
    Array([-2.,  2.], dtype=float32)
    """
    return floor_p.bind(x)[0]


class Ceil(Elementwise):
    """The smallest integer that is not below x."""

    name = "ceil"
    accepts = (FLOAT,)
    partials = (None,)
    kernel_name = "ceil"
    hlo_name = "stablehlo.ceil"
    numpy = np.ceil


ceil_p = Ceil()


def ceil(x: Value) -> Value:
    """Return the smallest integer not below x, elementwise.

    >>> lax.ceil(jnp.array([-1.5, 2.25]))
    Array([-1.,  3.], dtype=float32)
    """
    return ceil_p.bind(x)[0]


class RoundingMethod(enum.IntEnum):
    """What `round` does halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Round(Elementwise):
    """The nearest integer; halves as `rounding_method` says."""

    name = "round"
    accepts = (FLOAT,)
    partials = (None,)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Round to even, then correct the halves that went towards zero."""
        (x,) = scalars
        nearest = b.round_even(x)
        if params["rounding_method"] is RoundingMethod.TO_NEAREST_EVEN:
            return nearest
        whole = b.trunc(x)
        half = b.eq(b.abs(b.sub(x, whole)), b.const(0.5, x.dtype))
        away = b.add(whole, b.copysign(b.const(1.0, x.dtype), x))
        return b.select(half, away, nearest)

    def hlo(self, b: Any, args: Any, outs: Avals, **params: Any) -> tuple:
        """Write the operation for the method."""
        even = params["rounding_method"] is RoundingMethod.TO_NEAREST_EVEN
        name = "stablehlo.round_nearest_even" if even else "stablehlo.round_nearest_afz"
        return b.op(name, args, outs, {})

    @staticmethod
    def numpy(x: np.ndarray, rounding_method: RoundingMethod) -> np.ndarray:
        """Round with NumPy; away from zero is floor(|x| + 1/2), with the sign of x."""
        if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
            return np.rint(x)
        whole = np.trunc(x)
        far = np.abs(x - whole) >= 0.5
        return np.where(far, whole + np.copysign(1.0, x), whole)


round_p = Round()


def round(x: Value, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Value:
    """Return the integer nearest to x, elementwise.

    >>> lax.round(jnp.array([-1.5, 2.25]))
    Array([-2.,  2.], dtype=float32)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))[0]


class IsFinite(Elementwise):
    """Whether x is neither infinite nor NaN."""

    name = "is_finite"
    accepts = (FLOAT,)
    partials = (None,)
    kernel_name = "is_finite"
    hlo_name = "stablehlo.is_finite"
    numpy = np.isfinite

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return bool."""
        return np.dtype(np.bool_)


is_finite_p = IsFinite()


def is_finite(x: Value) -> Value:
    """Tell whether x is neither infinite nor NaN, elementwise.

    >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return is_finite_p.bind(x)[0]


# Powers and roots


class Square(Elementwise):
    """x * x."""

    name = "square"
    accepts = (NUMBER,)
    partials = (lambda t, out, x: mul(t, mul(const(x, 2), x)),)
    hlo_name = "chlo.square"
    numpy = np.square

    def hlo(self, b: Any, args: Any, outs: Avals, **params: Any) -> tuple:
        """Multiply integers, which the operation does not take."""
        if dtypes.issubdtype(outs[0].dtype, np.integer):
            return b.op("stablehlo.multiply", [*args, *args], outs)
        return super().hlo(b, args, outs, **params)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Multiply."""
        return b.mul(scalars[0], scalars[0])


square_p = Square()


def square(x: Value) -> Value:
    """Return x ** 2, elementwise.

    >>> lax.square(jnp.array([0.5, -2.0]))
    Array([0.25, 4.  ], dtype=float32)
    """
    return square_p.bind(x)[0]


class OneMinusSquare(Elementwise):
    """1 - x ** 2, computed as (1 + x)(1 - x)."""

    name = "one_minus_square"
    accepts = (NUMBER,)
    partials = (lambda t, out, x: mul(t, mul(const(x, -2), x)),)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Multiply the factors."""
        (x,) = scalars
        one = b.const(1, x.dtype)
        return b.mul(b.add(one, x), b.sub(one, x))

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Multiply the factors."""
        (x,) = args
        one = const(x, 1)
        return (mul(add(one, x), sub(one, x)),)

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Multiply the factors in the same way."""
        one = np.ones((), x.dtype)
        return (one + x) * (one - x)


one_minus_square_p = OneMinusSquare()


def one_minus_square(x: Value) -> Value:
    """Return 1 - x ** 2, elementwise, accurate where |x| is close to 1.

    >>> lax.one_minus_square(jnp.array([0.5, -2.0]))
    Array([ 0.75, -3.  ], dtype=float32)
    """
    return one_minus_square_p.bind(x)[0]


class IntegerPow(Elementwise):
    """x ** y for a Python integer y."""

    name = "integer_pow"
    types_follow = True
    accepts = (NUMBER,)
    partials = (lambda t, out, x, y: _integer_pow_tangent(t, x, y),)

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Refuse negative powers of integers."""
        outs = super().abstract(*avals, **params)
        if params["y"] < 0 and dtypes.issubdtype(avals[0].dtype, np.integer):
            raise TypeError(
                "Integers cannot be raised to negative powers, got "
                f"integer_pow({avals[0].str_short(False)}, {params['y']})"
            )
        return outs

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Square and multiply."""
        (x,) = scalars
        one = b.const(1, x.dtype)
        power = _by_squaring(x, operator.index(params["y"]), b.mul)
        if power is None:
            return one
        return b.div(one, power) if params["y"] < 0 else power

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Square and multiply."""
        (x,) = args
        power = _by_squaring(x, params["y"], mul)
        if power is None:
            return (full_like(x, 1),)
        return (div(full_like(x, 1), power) if params["y"] < 0 else power,)

    @staticmethod
    def numpy(x: np.ndarray, y: int) -> np.ndarray:
        """Multiply with NumPy."""
        power = np.ones_like(x)
        for _ in range(-y if y < 0 else y):
            power = power * x
        return 1 / power if y < 0 else power


integer_pow_p = IntegerPow()


def integer_pow(x: Value, y: int) -> Value:
    """Return x ** y, elementwise, for an integer y known now.

    >>> lax.integer_pow(jnp.array([2.0, 3.0]), 3)
    Array([ 8., 27.], dtype=float32)
    """
    return integer_pow_p.bind(x, y=y)[0]


def reciprocal(x: Value) -> Value:
    """Return 1 / x, elementwise.

    >>> lax.reciprocal(jnp.array([0.5, -2.0]))
    Array([ 2. , -0.5], dtype=float32)
    """
    return integer_pow(x, -1)


def _integer_pow_tangent(t: Value, x: Value, y: int) -> Value:
    """Return y x ** (y - 1) t, without needless operations for y = 0, 1, 2."""
    if y == 0:
        return full_like(t, 0)
    if y == 1:
        return t
    return mul(t, mul(const(x, y), x if y == 2 else integer_pow(x, y - 1)))


def _by_squaring(x: Any, y: int, multiply: Any) -> Any:
    """Return x ** |y|, or None for y = 0; low bits of the exponent first."""
    power, factor, rest = None, x, -y if y < 0 else y
    while rest:
        if rest & 1:
            power = factor if power is None else multiply(power, factor)
        rest >>= 1
        if rest:
            factor = multiply(factor, factor)
    return power


class Sqrt(Accurate):
    """x ** (1/2)."""

    name = "sqrt"
    partials = (lambda t, out, x, **params: mul(t, div(const(x, 0.5), out)),)
    kernel_name = "sqrt"
    hlo_name = "stablehlo.sqrt"
    numpy = np.sqrt


sqrt_p = Sqrt()


def sqrt(x: Value, *, accuracy: object = None) -> Value:
    """Return the square root, elementwise.

    >>> lax.sqrt(jnp.array([0.25, 0.5])).round(3)
    Array([0.5  , 0.707], dtype=float32)
    """
    return sqrt_p.bind(x, **accuracy_params(accuracy))[0]


class Rsqrt(Accurate):
    """x ** (-1/2)."""

    name = "rsqrt"
    partials = (lambda t, out, x, **params: mul(t, mul(const(x, -0.5), div(out, x))),)
    kernel_name = "rsqrt"
    hlo_name = "stablehlo.rsqrt"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Invert the root."""
        return 1 / np.sqrt(x)


rsqrt_p = Rsqrt()


def rsqrt(x: Value, *, accuracy: object = None) -> Value:
    """Return 1 / sqrt(x), elementwise.

    >>> lax.rsqrt(jnp.array([0.25, 0.5])).round(3)
    Array([2.   , 1.414], dtype=float32)
    """
    return rsqrt_p.bind(x, **accuracy_params(accuracy))[0]


class Cbrt(Accurate):
    """x ** (1/3), negative for negative x."""

    name = "cbrt"
    accepts = (FLOAT,)
    partials = (lambda t, out, x, **params: mul(t, mul(const(x, 1 / 3), integer_pow(out, -2))),)
    kernel_name = "cbrt"
    hlo_name = "stablehlo.cbrt"
    numpy = np.cbrt


cbrt_p = Cbrt()


def cbrt(x: Value, *, accuracy: object = None) -> Value:
    """Return the real cube root, elementwise."""
    return cbrt_p.bind(x, **accuracy_params(accuracy))[0]


# Bits


class Not(Elementwise):
    """~x; the negation of a bool."""

    name = "not"
    accepts = (BITS,)
    partials = (None,)
    kernel_name = "not_"
    hlo_name = "stablehlo.not"
    numpy = np.invert


not_p = Not()


def bitwise_not(x: Value) -> Value:
    """Return ~x, elementwise.

    >>> lax.bitwise_not(jnp.array([1, 6], "int8"))
    Array([-2, -7], dtype=int8)
    """
    return not_p.bind(x)[0]


class PopulationCount(Elementwise):
    """The number of one bits."""

    name = "population_count"
    accepts = (INTEGER,)
    kernel_name = "popcount"
    hlo_name = "stablehlo.popcnt"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Count in Python."""
        mask = (1 << x.dtype.itemsize * 8) - 1
        counts = [(value & mask).bit_count() for value in x.ravel().tolist()]
        return np.array(counts).reshape(x.shape)


population_count_p = PopulationCount()


def population_count(x: Value) -> Value:
    """Return the number of one bits, elementwise.

    >>> lax.population_count(jnp.array([1, 6], "int8"))
    Array([1, 2], dtype=int8)
    """
    return population_count_p.bind(x)[0]


class Clz(Elementwise):
    """The number of zero bits above the highest one bit."""

    name = "clz"
    accepts = (INTEGER,)
    kernel_name = "clz"
    hlo_name = "stablehlo.count_leading_zeros"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Count in Python."""
        bits = x.dtype.itemsize * 8
        mask = (1 << bits) - 1
        counts = [bits - (value & mask).bit_length() for value in x.ravel().tolist()]
        return np.array(counts).reshape(x.shape)


clz_p = Clz()


def clz(x: Value) -> Value:
    """Return the number of leading zero bits, elementwise.

    >>> lax.clz(jnp.array([1, 6], "int8"))
    Array([7, 5], dtype=int8)
    """
    return clz_p.bind(x)[0]


# Helpers


def _real_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of a complex dtype, or the dtype itself."""
    if dtypes.issubdtype(dtype, np.complexfloating):
        return np.zeros((), dtype).real.dtype
    return dtype


def _as_complex(x: Value) -> Value:
    """Return a real value as a complex one."""
    return convert(x, dtypes.to_complex_dtype(typeof(x).dtype))
