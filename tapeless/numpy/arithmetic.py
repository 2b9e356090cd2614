"""Elementwise functions of two operands: arithmetic, comparison, logic, bits.

Each brings its operands to one dtype and one rank and applies one operation, or a few.  Those that
NumPy can reduce with are `ufunc` objects.  Division by zero gives infinity or NaN for floating
numbers; for integers the quotient is -1, as the machine's operation has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import config, dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.trace import Tracer, Value
from tapeless.numpy.choice import broadcast, where
from tapeless.numpy.common import (
    check_arraylike,
    const,
    dtype_of,
    is_complex,
    number_like,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_shapes,
    shape,
    value_of,
)
from tapeless.numpy.ufunc_class import accumulator, reducer, ufunc
from tapeless.runtime.array import Array

__all__ = [
    "add",
    "arctan2",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "divide",
    "divmod",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "power",
    "remainder",
    "right_shift",
    "subtract",
    "true_divide",
]

_BOOL = np.dtype(np.bool_)


# Sums, products, extremes


def _add(x: Any, y: Any, /) -> Array:
    """Return x + y elementwise; of booleans, the logical or.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.add(jnp.arange(3), 10)
    Array([10, 11, 12], dtype=int32)
    """
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if dtype_of(x) == _BOOL else lax.add(x, y)


def _subtract(x: Any, y: Any, /) -> Array:
    """Return x - y elementwise.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.subtract(jnp.arange(3), 1)
    Array([-1,  0,  1], dtype=int32)
    """
    return lax.sub(*promote_args("subtract", x, y))


def _multiply(x: Any, y: Any, /) -> Array:
    """Return x * y elementwise; of booleans, the logical and.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.multiply(jnp.arange(3), 2.5)
    Array([0. , 2.5, 5. ], dtype=float32, weak_type=True)
    """
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if dtype_of(x) == _BOOL else lax.mul(x, y)


def _maximum(x: Any, y: Any, /) -> Array:
    """Return the larger of x and y elementwise; NaN where either is NaN.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.maximum(jnp.arange(3), 1)
    Array([1, 1, 2], dtype=int32)
    """
    return lax.max(*promote_args("maximum", x, y))


def _minimum(x: Any, y: Any, /) -> Array:
    """Return the smaller of x and y elementwise; NaN where either is NaN.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.minimum(jnp.arange(3), 1)
    Array([0, 1, 1], dtype=int32)
    """
    return lax.min(*promote_args("minimum", x, y))


def _extreme_wherenumber_like(test: Callable, x1: Any, x2: Any) -> Value:
    """Return x1 where `test(x1, x2)` holds or x2 is NaN, else x2."""
    return where(logical_or(test(x1, x2), lax.ne(x2, x2)), x1, x2)


def _negative(x: Any, /) -> Array:
    """Return -x elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.negative(jnp.arange(3))
    Array([ 0, -1, -2], dtype=int32)
    """
    return lax.neg(*promote_args("negative", x))


@jit
def fmax(x1: Any, x2: Any) -> Array:
    """Return the larger of x1 and x2 elementwise; the other one where one is NaN.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.0)
    Array([1., 0.], dtype=float32)
    """
    return _extreme_wherenumber_like(greater, x1, x2)


@jit
def fmin(x1: Any, x2: Any) -> Array:
    """Return the smaller of x1 and x2 elementwise; the other one where one is NaN.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.0)
    Array([0., 0.], dtype=float32)
    """
    return _extreme_wherenumber_like(less, x1, x2)


# Quotients


def true_divide(x1: Any, x2: Any, /) -> Array:
    """Return x1 / x2 elementwise, always floating or complex.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.true_divide(jnp.arange(3), 2)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return lax.div(*promote_args_inexact("true_divide", x1, x2))


divide = true_divide


@jit
def floor_divide(x1: Any, x2: Any, /) -> Array:
    """Return the greatest integer that is not above x1 / x2, elementwise, in the operands' dtype.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    kind = dtype_of(x1)
    if dtypes.issubdtype(kind, np.unsignedinteger):
        return lax.div(x1, x2)
    if dtypes.issubdtype(kind, np.integer):
        quotient = lax.div(x1, x2)
        signs_differ = lax.ne(lax.sign(x1), lax.sign(x2))
        inexact = lax.ne(lax.rem(x1, x2), number_like(x1, 0))
        adjust = lax.bitwise_and(signs_differ, inexact)
        return where(adjust, lax.sub(quotient, number_like(quotient, 1)), quotient)
    if is_complex(x1):
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_divmod(x1, x2)[0]


@jit
def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """Return `floor_divide(x1, x2)` and `remainder(x1, x2)`.

    x1, x2: shapes that broadcast to (n,) -> (n,), (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.divmod(jnp.array([7, -7]), 2)
    (Array([ 3, -4], dtype=int32), Array([1, 1], dtype=int32))
    """
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if dtypes.issubdtype(dtype_of(x1), np.integer):
        return floor_divide(x1, x2), remainder(x1, x2)
    if is_complex(x1):
        raise TypeError("divmod does not support complex-valued inputs")
    return _float_divmod(x1, x2)


def _float_divmod(x1: Value, x2: Value) -> tuple[Value, Value]:
    """Return floored quotient and remainder of floating numbers, by the exact remainder.

    A quotient of 0 has the sign of the division, a remainder of 0 that of x2: unlike in JAX.
    """
    rest = lax.rem(x1, x2)
    whole = where(lax.eq(x2, number_like(x2, 0)), x1, lax.sub(x1, rest))
    quotient = lax.div(whole, x2)
    inexact = lax.ne(rest, number_like(rest, 0))
    direction = lax.sign(x2)
    adjust = lax.bitwise_and(inexact, lax.ne(direction, lax.sign(rest)))
    rest = lax.select_n(adjust, rest, lax.add(rest, x2))
    quotient = lax.select_n(adjust, quotient, lax.sub(quotient, number_like(quotient, 1)))
    nothing = lax.mul(lax.mul(x1, number_like(x1, 0)), direction)
    quotient = lax.select_n(lax.eq(quotient, number_like(quotient, 0)), quotient, nothing)
    return lax.round(quotient, lax.RoundingMethod.AWAY_FROM_ZERO), _zeros_like_divisor(rest, x2)


def _zeros_like_divisor(rest: Value, x2: Value) -> Value:
    """Return a remainder, with zeros that have the sign of x2, and the same tangents."""
    zero = number_like(rest, 0)
    above = lax.add(rest, zero)
    below = lax.neg(lax.sub(zero, rest))
    return lax.select_n(broadcast(lax.lt(x2, number_like(x2, 0)), shape(rest)), above, below)


@jit
def remainder(x1: Any, x2: Any, /) -> Array:
    """Return the remainder of `floor_divide`, elementwise: it has the sign of x2.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    For integers, the remainder of a division by zero is 0.

    >>> import tapeless.numpy as jnp
    >>> jnp.remainder(jnp.array([7, -7]), 4)
    Array([3, 1], dtype=int32)
    """
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = number_like(x1, 0)
    if dtypes.issubdtype(dtype_of(x1), np.integer):
        x2 = _one_for_zero(x2)
    rest = lax.rem(x1, x2)
    nonzero = lax.ne(rest, zero)
    adjust = lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(x2, zero)), nonzero)
    shifted = lax.add(rest, x2)
    rest = lax.select_n(adjust, broadcast(rest, shape(shifted)), shifted)
    return rest if dtypes.issubdtype(dtype_of(rest), np.integer) else _zeros_like_divisor(rest, x2)


mod = remainder


def _one_for_zero(x: Value) -> Value:
    """Return integers with 1 in the place of 0; as they are where a division by 0 is an error."""
    if config.current.tapeless_check_divisions:
        return x
    return where(lax.eq(x, number_like(x, 0)), broadcast(number_like(x, 1), shape(x)), x)


@jit
def fmod(x1: Any, x2: Any, /) -> Array:
    """Return the remainder of the division rounded toward zero: it has the sign of x1.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.fmod(jnp.array([7, -7]), 4)
    Array([ 3, -3], dtype=int32)
    """
    check_arraylike("fmod", x1, x2)
    if dtypes.issubdtype(dtypes.result_type(x1, x2), np.integer):
        x2 = _one_for_zero(x2)
    return lax.rem(*promote_args_numeric("fmod", x1, x2))


# Powers


def power(x1: Any, x2: Any, /) -> Array:
    """Return x1 ** x2 elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    An exponent that is one known integer, a Python number or an array of rank 0, is part of the
    program. Unlike in NumPy, a negative power of integers is an error only then; other exponents
    give arbitrary values.

    >>> import tapeless.numpy as jnp
    >>> jnp.power(jnp.arange(4), 2)
    Array([0, 1, 4, 9], dtype=int32)
    """
    check_arraylike("power", x1, x2)
    known = _known_integer(x2)
    if known is not None:
        x1 = promote_args_numeric("power", x1)[0]
        return lax.integer_pow(x1, known)
    x1, x2 = value_of(x1), value_of(x2)
    base, exponent = dtype_of(x1), dtype_of(x2)
    if dtypes.issubdtype(exponent, np.integer) and dtypes.issubdtype(base, np.inexact):
        promoted, _ = promote_args("power", x1, x2)
        if dtype_of(promoted) in (base, dtypes.canonicalize_dtype(base)):
            return lax.pow(*promote_shapes("power", x1, x2))
    x1, x2 = promote_args_numeric("power", x1, x2)
    if dtypes.issubdtype(dtype_of(x1), np.integer):
        return _power_of_integers(x1, x2)
    return lax.pow(x1, x2)


def _known_integer(x: Any) -> int | None:
    """Return the one integer that `x` is known to be, or None."""
    found = value_of(x)
    found = found.concrete() if isinstance(found, Tracer) else found
    if isinstance(found, (Array, np.ndarray, np.generic)):
        return int(found) if found.ndim == 0 and found.dtype.kind in "iu" else None
    return int(found) if isinstance(found, int) else None


def pow(x1: Any, x2: Any, /) -> Array:
    """Return x1 ** x2 elementwise; as `power`.

    >>> import tapeless.numpy as jnp
    >>> jnp.pow(jnp.arange(4), 2)
    Array([0, 1, 4, 9], dtype=int32)
    """
    return power(x1, x2)


def _power_of_integers(x1: Value, x2: Value) -> Value:
    """Square and multiply, for exponents below 64; the powers of 0 are 0, but 0 ** 0 is 1."""
    x1 = lax.convert_element_type(x1, dtype_of(x1))
    zero, one = const(x1, 0), const(x1, 1)
    result = where(lax.bitwise_and(lax.eq(x1, zero), lax.ne(x2, zero)), zero, one)
    for _ in range(6):
        result = where(lax.bitwise_and(x2, one), lax.mul(result, x1), result)
        x1 = lax.mul(x1, x1)
        x2 = lax.shift_right_logical(x2, one)
    return result


def float_power(x: Any, y: Any, /) -> Array:
    """Return x ** y elementwise, computed with floating or complex numbers.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.float_power(jnp.arange(3), -1)
    Array([inf, 1. , 0.5], dtype=float32)
    """
    return lax.pow(*promote_args_inexact("float_power", x, y))


def arctan2(x1: Any, x2: Any, /) -> Array:
    """Return the angle of the point (x2, x1) with the positive first axis, in (-pi, pi].

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arctan2(jnp.array([0.0, 1.0]), 0.0)
    Array([0.       , 1.5707964], dtype=float32)
    """
    return lax.atan2(*promote_args_inexact("arctan2", x1, x2))


atan2 = arctan2


# Comparisons


def _lexicographic(test: Callable, x: Value, y: Value) -> Value:
    """Compare complex numbers by real parts, and by imaginary parts where these are equal."""
    same = lax.eq(lax.real(x), lax.real(y))
    by_imaginary = test(lax.imag(x), lax.imag(y))
    return lax.select_n(same, test(lax.real(x), lax.real(y)), by_imaginary)


def _ordered(name: str, test: Callable, x: Any, y: Any) -> Value:
    """Promote and compare."""
    x, y = promote_args(name, x, y)
    return _lexicographic(test, x, y) if is_complex(x) else test(x, y)


def equal(x: Any, y: Any, /) -> Array:
    """Return whether x == y, elementwise.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.equal(jnp.arange(3), 1)
    Array([False,  True, False], dtype=bool)
    """
    return lax.eq(*promote_args("equal", x, y))


def not_equal(x: Any, y: Any, /) -> Array:
    """Return whether x != y, elementwise.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.not_equal(jnp.arange(3), 1)
    Array([ True, False,  True], dtype=bool)
    """
    return lax.ne(*promote_args("not_equal", x, y))


def less(x: Any, y: Any, /) -> Array:
    """Return whether x < y, elementwise; complex numbers compare by real part first.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.less(jnp.arange(3), 1)
    Array([ True, False, False], dtype=bool)
    """
    return _ordered("less", lax.lt, x, y)


def less_equal(x: Any, y: Any, /) -> Array:
    """Return whether x <= y, elementwise; complex numbers compare by real part first.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.less_equal(jnp.arange(3), 1)
    Array([ True,  True, False], dtype=bool)
    """
    return _ordered("less_equal", lax.le, x, y)


def greater(x: Any, y: Any, /) -> Array:
    """Return whether x > y, elementwise; complex numbers compare by real part first.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.greater(jnp.arange(3), 1)
    Array([False, False,  True], dtype=bool)
    """
    return _ordered("greater", lax.gt, x, y)


def greater_equal(x: Any, y: Any, /) -> Array:
    """Return whether x >= y, elementwise; complex numbers compare by real part first.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.greater_equal(jnp.arange(3), 1)
    Array([False,  True,  True], dtype=bool)
    """
    return _ordered("greater_equal", lax.ge, x, y)


# Logic and bits


def _logical(name: str, operation: Callable, x: Any, y: Any) -> Value:
    """Make truth values of the operands and combine them."""
    x, y = promote_args(name, x, y)
    if dtype_of(x) != _BOOL:
        x, y = (lax.ne(each, const(each, 0)) for each in (x, y))
    return operation(x, y)


def _logical_and(x: Any, y: Any, /) -> Array:
    """Return whether x and y are both true (not zero), elementwise.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.logical_and(jnp.arange(3), True)
    Array([False,  True,  True], dtype=bool)
    """
    return _logical("logical_and", lax.bitwise_and, x, y)


def _logical_or(x: Any, y: Any, /) -> Array:
    """Return whether x or y is true (not zero), elementwise.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.logical_or(jnp.arange(3), False)
    Array([False,  True,  True], dtype=bool)
    """
    return _logical("logical_or", lax.bitwise_or, x, y)


def _logical_xor(x: Any, y: Any, /) -> Array:
    """Return whether exactly one of x and y is true (not zero), elementwise.

    x, y: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.logical_xor(jnp.arange(3), True)
    Array([ True, False, False], dtype=bool)
    """
    return _logical("logical_xor", lax.bitwise_xor, x, y)


def _bitwise_and(x: Any, y: Any, /) -> Array:
    """Return the bits that are set in x and in y, elementwise.

    x, y: integers or booleans of shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.bitwise_and(jnp.arange(4), 2)
    Array([0, 0, 2, 2], dtype=int32)
    """
    return lax.bitwise_and(*promote_args("bitwise_and", x, y))


def _bitwise_or(x: Any, y: Any, /) -> Array:
    """Return the bits that are set in x or in y, elementwise.

    x, y: integers or booleans of shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.bitwise_or(jnp.arange(4), 2)
    Array([2, 3, 2, 3], dtype=int32)
    """
    return lax.bitwise_or(*promote_args("bitwise_or", x, y))


def _bitwise_xor(x: Any, y: Any, /) -> Array:
    """Return the bits that are set in exactly one of x and y, elementwise.

    x, y: integers or booleans of shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.bitwise_xor(jnp.arange(4), 2)
    Array([2, 3, 0, 1], dtype=int32)
    """
    return lax.bitwise_xor(*promote_args("bitwise_xor", x, y))


def left_shift(x: Any, y: Any, /) -> Array:
    """Return the bits of x shifted left by y places, elementwise.

    x, y: integers of shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.left_shift(jnp.arange(3), 2)
    Array([0, 4, 8], dtype=int32)
    """
    return lax.shift_left(*promote_args_numeric("left_shift", x, y))


def right_shift(x1: Any, x2: Any, /) -> Array:
    """Return the bits of x1 shifted right by x2 places, elementwise; signed integers keep the sign.

    x1, x2: integers of shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.right_shift(jnp.array([8, -8]), 2)
    Array([ 2, -2], dtype=int32)
    """
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    if dtypes.issubdtype(dtype_of(x1), np.unsignedinteger):
        return lax.shift_right_logical(x1, x2)
    return lax.shift_right_arithmetic(x1, x2)


bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


def _ufunc(function: Callable, identity: Any, reduction: str = "", partial: str = "") -> ufunc:
    """Return the ufunc of a binary function, with the primitives that reduce and accumulate."""
    return ufunc(
        function,
        2,
        1,
        name=function.__name__.removeprefix("_"),
        identity=identity,
        call=function,
        reduce=reducer(reduction, identity) if reduction else None,
        accumulate=accumulator(partial) if partial else None,
    )


add = _ufunc(_add, 0, "reduce_sum", "cumsum")
subtract = _ufunc(_subtract, None)
multiply = _ufunc(_multiply, 1, "reduce_prod", "cumprod")
maximum = _ufunc(_maximum, None, "reduce_max")
minimum = _ufunc(_minimum, None, "reduce_min")
logical_and = _ufunc(_logical_and, True, "reduce_and")
logical_or = _ufunc(_logical_or, False, "reduce_or")
logical_xor = _ufunc(_logical_xor, False, "reduce_xor")
bitwise_and = _ufunc(_bitwise_and, -1, "reduce_and")
bitwise_or = _ufunc(_bitwise_or, 0, "reduce_or")
bitwise_xor = _ufunc(_bitwise_xor, 0, "reduce_xor")
negative = ufunc(_negative, 1, 1, name="negative", call=_negative)
