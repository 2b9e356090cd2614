"""Operators of arrays: `+`, `<`, `-x`, `abs(x)`, ... for Arrays and tracers alike.

An operator on two arrays of one type, or on an array and a Python number, goes straight to its
primitive; arrays of other types and NumPy's, to a compiled program that promotes and broadcasts
them.  All other operands take the way through promotion.  An operand that is no array-like
makes the operator return NotImplemented, so that the other class can have its say; lists and tuples
are refused, as everywhere in this library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.core.trace import Tracer
from tapeless.numpy import arithmetic, products, rounding, ufuncs
from tapeless.numpy.common import convert, is_arraylike
from tapeless.numpy.numbers import number_beside
from tapeless.numpy.ufunc_class import compiled_outside
from tapeless.runtime.array import Array

__all__ = ["operators"]

_FLOATS = frozenset(map(np.dtype, "efdFD")) | {np.dtype(dtypes.bfloat16)}
_SIGNED = frozenset(map(np.dtype, "bhilq"))
_UNSIGNED = frozenset(map(np.dtype, "BHILQ"))
_NUMBERS = _FLOATS | _SIGNED | _UNSIGNED
_REALS = _NUMBERS - {np.dtype(np.complex64), np.dtype(np.complex128)}
_BITS = _SIGNED | _UNSIGNED | {np.dtype(np.bool_)}


def _binary(
    symbol: str,
    function: Callable,
    prim: Any,
    direct: frozenset,
    swapped: bool = False,
) -> Callable:
    """Return the method of an operator.

    prim: the primitive that does it for operands of one dtype, if that is in `direct`.
    """
    bind = prim.bind
    of_arrays = compiled_outside(function)

    def operator(self: Any, other: Any) -> Any:
        """Apply the operator."""
        kind, aval = type(other), self.aval
        if kind is Array or isinstance(other, Tracer):
            if other.aval is aval and aval.dtype in direct:
                return bind(other, self)[0] if swapped else bind(self, other)[0]
        elif kind is float or kind is int:
            number = number_beside(other, kind, aval)
            if number is not None and aval.dtype in direct:
                return bind(number, self)[0] if swapped else bind(self, number)[0]
        elif not is_arraylike(other):
            return _refuse(self, other, symbol, swapped)
        whole = function if kind in dtypes.python_scalar_types else of_arrays
        return whole(other, self) if swapped else whole(self, other)

    return operator


def _refuse(
    self: Any,
    other: Any,
    symbol: str,
    swapped: bool,
) -> Any:
    """Return NotImplemented; raise TypeError for lists and the like."""
    if type(other) in (list, tuple, dict, set):
        names = [type(self).__name__, type(other).__name__]
        left, right = reversed(names) if swapped else names
        raise TypeError(f"unsupported operand type(s) for {symbol}: '{left}' and '{right}'")
    return NotImplemented


def _unary(function: Callable) -> Callable:
    """Return the method of an operator of one operand."""

    def operator(self: Any) -> Any:
        """Apply the operator."""
        return function(self)

    return operator


def _power(self: Any, other: Any) -> Any:
    """Raise to a power; a Python integer is a power by multiplication."""
    if not is_arraylike(other):
        return _refuse(self, other, "**", False)
    return arithmetic.power(self, other)


def _round(self: Any, ndigits: int | None = None) -> Any:
    """Round to `ndigits` decimals; without it, to an integer dtype."""
    if ndigits is not None:
        return rounding.round(self, ndigits)
    kind = dtypes.default_int_dtype()
    return convert(rounding.round(self), kind)


_TABLE = (
    ("add", "+", arithmetic.add, lax.add_p, _NUMBERS),
    ("sub", "-", arithmetic.subtract, lax.sub_p, _NUMBERS),
    ("mul", "*", arithmetic.multiply, lax.mul_p, _NUMBERS),
    ("truediv", "/", arithmetic.true_divide, lax.div_p, _FLOATS),
    ("and", "&", arithmetic.bitwise_and, lax.and_p, _BITS),
    ("or", "|", arithmetic.bitwise_or, lax.or_p, _BITS),
    ("xor", "^", arithmetic.bitwise_xor, lax.xor_p, _BITS),
    ("floordiv", "//", arithmetic.floor_divide, lax.div_p, frozenset()),
    ("mod", "%", arithmetic.remainder, lax.rem_p, frozenset()),
    ("divmod", "divmod", arithmetic.divmod, lax.div_p, frozenset()),
    ("lshift", "<<", arithmetic.left_shift, lax.shift_left_p, _SIGNED | _UNSIGNED),
    ("rshift", ">>", arithmetic.right_shift, lax.shift_right_arithmetic_p, _SIGNED),
    ("pow", "**", arithmetic.power, lax.pow_p, frozenset()),
    ("matmul", "@", products.matmul, lax.dot_general_p, frozenset()),
)
_COMPARISONS = (
    ("eq", "==", arithmetic.equal, lax.eq_p, _NUMBERS | _BITS),
    ("ne", "!=", arithmetic.not_equal, lax.ne_p, _NUMBERS | _BITS),
    ("lt", "<", arithmetic.less, lax.lt_p, _REALS),
    ("le", "<=", arithmetic.less_equal, lax.le_p, _REALS),
    ("gt", ">", arithmetic.greater, lax.gt_p, _REALS),
    ("ge", ">=", arithmetic.greater_equal, lax.ge_p, _REALS),
)
_UNARY = (
    ("neg", arithmetic.negative),
    ("pos", ufuncs.positive),
    ("abs", ufuncs.abs),
    ("invert", ufuncs.bitwise_not),
)


def _operators() -> dict[str, Callable]:
    """Return the special methods by name."""
    found: dict[str, Callable] = {}
    for name, symbol, function, prim, direct in _TABLE:
        found[f"__{name}__"] = _binary(symbol, function, prim, direct)
        found[f"__r{name}__"] = _binary(symbol, function, prim, direct, swapped=True)
    for name, symbol, function, prim, direct in _COMPARISONS:
        found[f"__{name}__"] = _binary(symbol, function, prim, direct)
    for name, function in _UNARY:
        found[f"__{name}__"] = _unary(function)
    found["__pow__"] = _power
    found["__round__"] = _round
    for name, method in found.items():  # errors tell the name of the code that failed
        method.__code__ = method.__code__.replace(co_name=name.strip("_"))
    return found


operators = _operators()
