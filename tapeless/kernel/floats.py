"""Building blocks of the scalar recipes: formats, polynomials, scaling and two-float arithmetic.

A recipe is a function of `Nodes` and scalars that returns a scalar.  It is written once for float32
and float64, with the constants of the format taken from `Format`.  There are no branches: both
sides of a choice are computed and selected.

The rounding of every operation is as written, and an emitter must neither contract nor reassociate
what a recipe makes (where a fused operation is wanted, the recipe says `fma`).  Sums of two floats,
high + low with |low| <= ulp(high) / 2, carry the extra bits where one float is not enough.

Integers hidden in floats: adding 1.5 * 2**m (m is the number of mantissa bits) rounds to an integer
and leaves it in the low bits of the sum, from which `shift_left` by m makes an exponent and by
width - 1 a sign.  This needs |x| < 2**(m - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes
from tapeless.util.records import record

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "Format",
    "Pair",
    "choose",
    "clamp",
    "exponent_and_mantissa",
    "exponent_and_mantissa_of_normal",
    "fast_two_sum",
    "format_of",
    "odd_polynomial",
    "polynomial",
    "polynomial_by_pairs",
    "polynomial_by_squares",
    "power_of_two",
    "two_product",
    "two_sum",
]

Pair = tuple[Scalar, Scalar]


@record
class Format:
    """The constants of a binary floating-point format."""

    dtype: np.dtype
    bits: np.dtype
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """The number that rounds to an integer by being added."""
        return 1.5 * 2.0**self.mantissa

    @property
    def least_normal(self) -> float:
        """The least positive normal number."""
        return 2.0 ** (1 - self.bias)

    def pattern(self, value: float) -> int:
        """The bits of a number, as a signed integer."""
        return np.array(value, self.dtype).view(self.bits).item()

    def parts(self, value: str, count: int) -> tuple[float, ...]:
        """Split a constant, given in decimal, into a sum of `count` numbers of this format."""
        return _split(value, count, self.mantissa + 1, 1)

    def parts_of_one_sign(self, value: str, count: int) -> tuple[float, ...]:
        """Split a constant as `parts` does, but round each part toward zero."""
        return _split(value, count, self.mantissa + 1, 0)


FLOAT32 = Format(np.dtype(np.float32), np.dtype(np.int32), 23, 127)
FLOAT64 = Format(np.dtype(np.float64), np.dtype(np.int64), 52, 1023)
_FORMATS = {FLOAT32.dtype: FLOAT32, FLOAT64.dtype: FLOAT64}


def format_of(x: Scalar) -> Format:
    """Give the format of x, which must be float32 or float64."""
    return _FORMATS[x.dtype]


@cache
def _split(value: str, count: int, bits: int, halves: int) -> tuple[float, ...]:
    """Split a decimal number into a sum of floats of `bits` significant bits.

    halves: 1 to round to the nearest, 0 to round toward zero.
    """
    whole, _, fraction = value.partition(".")
    numerator, denominator = int(whole + fraction), 10 ** len(fraction)
    result = []
    for _ in range(count):
        part = _rounded(numerator, denominator, bits, halves)
        result.append(part)
        top, bottom = part.as_integer_ratio()
        numerator = numerator * bottom - top * denominator
        denominator *= bottom
    return tuple(result)


def _rounded(numerator: int, denominator: int, bits: int, halves: int) -> float:
    """Round a ratio to a float of `bits` significant bits; `halves` is as in `_split`."""
    if numerator == 0:
        return 0.0
    exponent = abs(numerator).bit_length() - denominator.bit_length() - bits
    if exponent >= 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    quotient = (2 * numerator + halves * denominator) // (2 * denominator)
    if abs(quotient) >> bits:
        quotient, exponent = (quotient + halves) // 2, exponent + 1
    return quotient * 2.0**exponent


def polynomial(b: Nodes, x: Scalar, coefficients: Sequence[float | Scalar]) -> Scalar:
    """Evaluate a polynomial, constant coefficient first, by Horner's rule."""
    result = coefficients[-1]
    if not isinstance(result, Scalar):
        result = b.const(result, x.dtype)
    for coefficient in coefficients[-2::-1]:
        result = b.fma(result, x, coefficient)
    return result


def polynomial_by_pairs(b: Nodes, x: Scalar, coefficients: Sequence[float | Scalar]) -> Scalar:
    """Evaluate a polynomial of many terms in about half as many steps that wait for each other.

    All terms but the constant one go in pairs, by Horner's rule in x**2.
    """
    square = b.mul(x, x)
    first = 1 + (len(coefficients) - 2) // 2 * 2  # of the last pair, or of the last term
    result = polynomial(b, x, coefficients[first:])
    for start in range(first - 2, 0, -2):
        result = b.fma(result, square, polynomial(b, x, coefficients[start : start + 2]))
    return b.fma(result, x, coefficients[0])


def polynomial_by_squares(
    b: Nodes,
    x: Scalar,
    coefficients: Sequence[Scalar | float],
) -> Scalar:
    """Evaluate a polynomial in as few steps that wait for each other as there can be.

    Neighbours are joined, then pairs, and so on, each time with the square of the power before.
    """
    terms = [b.const(c, x.dtype) if isinstance(c, float) else c for c in coefficients]
    while len(terms) > 1:
        joined = [b.fma(high, x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = joined + terms[len(joined) * 2 :]
        if len(terms) > 1:
            x = b.mul(x, x)
    return terms[0]


def odd_polynomial(b: Nodes, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """x + x**3 * p(x**2), rounded about once."""
    square = b.mul(x, x)
    return b.fma(b.mul(x, square), polynomial_by_pairs(b, square, coefficients), x)


def clamp(b: Nodes, x: Scalar, low: float | None, high: float | None) -> Scalar:
    """Bound x from below, above or both; NaN stays."""
    if low is not None:
        x = b.select(b.lt(x, low), low, x)
    if high is not None:
        x = b.select(b.gt(x, high), high, x)
    return x


def choose(b: Nodes, condition: Scalar, yes: float, no: float, like: Scalar) -> Scalar:
    """Choose between two constants of the dtype of `like`."""
    return b.select(condition, b.const(yes, like.dtype), no)


def power_of_two(b: Nodes, shifted: Scalar) -> Scalar:
    """2**(n - bias) for `shifted` = n + magic, 0 < n < 2 * bias + 1."""
    form = format_of(shifted)
    bits = b.shift_left(b.bitcast(shifted, form.bits), form.mantissa)
    return b.bitcast(bits, form.dtype)


def exponent_and_mantissa(b: Nodes, x: Scalar) -> Pair:
    """Split x > 0 into e and m, x = 2**e * m and sqrt(1/2) <= m < sqrt(2); e is a float.

    Subnormal numbers are right; for other x the result is meaningless but harmless.
    """
    form = format_of(x)
    lift = form.mantissa + 2
    small = b.lt(x, form.least_normal)
    normal = b.select(small, b.mul(x, 2.0**lift), x)
    shifted, mantissa = _shifted_and_mantissa(b, normal)
    start = choose(b, small, form.magic + lift, form.magic, x)
    return b.sub(shifted, start), mantissa


def exponent_and_mantissa_of_normal(b: Nodes, x: Scalar) -> Pair:
    """Do the same for x that is not a subnormal number."""
    shifted, mantissa = _shifted_and_mantissa(b, x)
    return b.sub(shifted, format_of(x).magic), mantissa


def _shifted_and_mantissa(b: Nodes, x: Scalar) -> Pair:
    """Return e + magic and m."""
    form = format_of(x)
    half_root = form.pattern(0.5**0.5)
    offset = b.sub(b.bitcast(x, form.bits), half_root)
    exponent = b.shift_right_arithmetic(offset, form.mantissa)
    mantissa = b.add(b.and_(offset, (1 << form.mantissa) - 1), half_root)
    shifted = b.bitcast(b.add(exponent, form.pattern(form.magic)), form.dtype)
    return shifted, b.bitcast(mantissa, form.dtype)


def two_sum(b: Nodes, x: Scalar, y: Scalar) -> Pair:
    """x + y exactly, as rounded sum and error."""
    total = b.add(x, y)
    part = b.sub(total, x)
    error = b.add(b.sub(x, b.sub(total, part)), b.sub(y, part))
    return total, error


def fast_two_sum(b: Nodes, x: Scalar, y: Scalar) -> Pair:
    """x + y exactly, as rounded sum and error, when |x| >= |y| or x = 0."""
    total = b.add(x, y)
    return total, b.sub(y, b.sub(total, x))


def two_product(b: Nodes, x: Scalar, y: Scalar) -> Pair:
    """x * y exactly, as rounded product and error."""
    product = b.mul(x, y)
    return product, b.fma(x, y, b.neg(product))
