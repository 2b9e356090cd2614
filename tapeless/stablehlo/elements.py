"""Elementwise operations, of the dialects `stablehlo` and `chlo`.

Most are an operation of `lax` under another name.  On booleans, addition is `or` and multiplication
is `and`, as the specification has it.

Comparisons of floats by TOTALORDER order -NaN < -inf < ... < -0 < 0 < ... < inf < NaN: by the
integers that `prims/order.py: rank` makes of their bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.order import rank
from tapeless.stablehlo.calls import Call, Rule, Rules

__all__ = ["RULES"]

_SAME = {
    "abs": lax.abs,
    "add": lax.add,
    "and": lax.bitwise_and,
    "atan2": lax.atan2,
    "cbrt": lax.cbrt,
    "ceil": lax.ceil,
    "complex": lax.complex,
    "cosine": lax.cos,
    "count_leading_zeros": lax.clz,
    "divide": lax.div,
    "exponential": lax.exp,
    "exponential_minus_one": lax.expm1,
    "floor": lax.floor,
    "is_finite": lax.is_finite,
    "log": lax.log,
    "log_plus_one": lax.log1p,
    "logistic": lax.logistic,
    "maximum": lax.max,
    "minimum": lax.min,
    "multiply": lax.mul,
    "negate": lax.neg,
    "not": lax.bitwise_not,
    "or": lax.bitwise_or,
    "popcnt": lax.population_count,
    "power": lax.pow,
    "remainder": lax.rem,
    "rsqrt": lax.rsqrt,
    "shift_left": lax.shift_left,
    "shift_right_arithmetic": lax.shift_right_arithmetic,
    "shift_right_logical": lax.shift_right_logical,
    "sign": lax.sign,
    "sine": lax.sin,
    "sqrt": lax.sqrt,
    "subtract": lax.sub,
    "tan": lax.tan,
    "tanh": lax.tanh,
    "xor": lax.bitwise_xor,
    "select": lax.select,
    "clamp": lax.clamp,
}
_CHLO = {
    "acos": lax.acos,
    "acosh": lax.acosh,
    "asin": lax.asin,
    "asinh": lax.asinh,
    "atan": lax.atan,
    "atanh": lax.atanh,
    "bessel_i1e": lax.bessel_i1e,
    "cosh": lax.cosh,
    "digamma": lax.digamma,
    "erf": lax.erf,
    "erf_inv": lax.erf_inv,
    "erfc": lax.erfc,
    "lgamma": lax.lgamma,
    "mulhi": lax.mulhi,
    "next_after": lax.nextafter,
    "polygamma": lax.polygamma,
    "sinh": lax.sinh,
    "square": lax.square,
    "tan": lax.tan,
    "zeta": lax.zeta,
}
_BOOLEAN = {"add": lax.bitwise_or, "multiply": lax.bitwise_and}
_DIRECTIONS = {
    "EQ": lax.eq,
    "NE": lax.ne,
    "LT": lax.lt,
    "LE": lax.le,
    "GT": lax.gt,
    "GE": lax.ge,
}


def _rule_of(function: Callable[..., Value]) -> Rule:
    """Return the rule that applies a function to the operands."""
    return lambda call, *operands: function(*operands)


def _logical_rule_of(function: Callable[..., Value], logical: Callable[..., Value]) -> Rule:
    """Return the rule that applies `logical` to booleans and `function` to all else."""

    def rule(call: Call, *operands: Value) -> Value:
        """Apply one of the two."""
        is_boolean = typeof(operands[0]).dtype == np.bool_
        return (logical if is_boolean else function)(*operands)

    return rule


def _compare(call: Call, x: Value, y: Value) -> Value:
    """x, y: of one shape -> booleans."""
    direction = call.get("comparison_direction")
    if direction not in _DIRECTIONS:
        call.fail(f"comparison_direction must be one of {', '.join(_DIRECTIONS)}")
    if call.word("compare_type", "NOTYPE") == "TOTALORDER":
        x, y = rank(x), rank(y)
    return _DIRECTIONS[direction](x, y)


def _convert(call: Call, x: Value) -> Value:
    """x: any -> the dtype of the result."""
    source, target = typeof(x).dtype, call.out.dtype
    if dtypes.issubdtype(source, np.complexfloating) and not dtypes.issubdtype(
        target, np.complexfloating
    ):
        x = lax.real(x)
    return lax.convert_element_type(x, target)


def _real(call: Call, x: Value) -> Value:
    """Return the real part; real numbers as they are."""
    return lax.real(x) if dtypes.issubdtype(typeof(x).dtype, np.complexfloating) else x


def _imag(call: Call, x: Value) -> Value:
    """Return the imaginary part; zeros of real numbers."""
    aval = typeof(x)
    is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
    return lax.imag(x) if is_complex else lax.full(aval.shape, 0, aval.dtype)


def _conj(call: Call, x: Value) -> Value:
    """Return the complex conjugate; real numbers as they are."""
    return lax.conj(x) if dtypes.issubdtype(typeof(x).dtype, np.complexfloating) else x


def _round(method: lax.RoundingMethod) -> Rule:
    """Return the rule that rounds in this way."""
    return lambda call, x: lax.round(x, method)


def _reduce_precision(call: Call, x: Value) -> Value:
    """Round to a float of fewer bits."""
    return lax.reduce_precision(x, call.integer("exponent_bits"), call.integer("mantissa_bits"))


def _bitcast(call: Call, x: Value) -> Value:
    """Read the bits as another dtype."""
    return lax.bitcast_convert_type(x, call.out.dtype)


def _map(call: Call, *operands: Value) -> Value:
    """Apply the region to each element; it consists of elementwise operations."""
    mapped = call.region(0)
    for _ in call.out.shape:
        mapped = vmap(mapped)
    return mapped(*operands)[0]


def _is_infinite(sign: int) -> Rule:
    """Return the rule that finds infinities: of one sign, or of both for 0."""

    def rule(call: Call, x: Value) -> Value:
        """x: floats -> booleans."""
        aval = typeof(x)
        value = x if sign else lax.abs(x)
        limit = math.inf if sign >= 0 else -math.inf
        return lax.eq(value, lax.full(aval.shape, limit, aval.dtype))

    return rule


RULES: Rules = {
    **{f"stablehlo.{name}": _rule_of(function) for name, function in _SAME.items()},
    **{f"chlo.{name}": _rule_of(function) for name, function in _CHLO.items()},
    **{
        f"stablehlo.{name}": _logical_rule_of(_SAME[name], logical)
        for name, logical in _BOOLEAN.items()
    },
    "stablehlo.compare": _compare,
    "stablehlo.convert": _convert,
    "stablehlo.real": _real,
    "stablehlo.imag": _imag,
    "stablehlo.round_nearest_afz": _round(lax.RoundingMethod.AWAY_FROM_ZERO),
    "stablehlo.round_nearest_even": _round(lax.RoundingMethod.TO_NEAREST_EVEN),
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.map": _map,
    "chlo.conj": _conj,
    "chlo.is_inf": _is_infinite(0),
    "chlo.is_pos_inf": _is_infinite(1),
    "chlo.is_neg_inf": _is_infinite(-1),
}
