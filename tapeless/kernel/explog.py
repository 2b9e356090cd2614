"""Recipes of the exponential family: exp, exp2, expm1, logistic, log, log1p, log2, pow and kin.

exp: x = n ln 2 + r with |r| <= ln 2 / 2, and exp x = 2**n (1 + r + r**2 p(r)).  The power of two is
built in two factors, 2**(n - k) and 2**k with a constant k of the sign of x, so that results at
both ends of the range are rounded once.  Arguments that give zero are replaced first, because
computing with subnormal numbers is slow.

log: x = 2**e m with sqrt(1/2) <= m < sqrt(2), and log m from f = m - 1: f - f**2 / 2 plus a
correction, which is f**3 p(f) in float32 and comes from s = f / (2 + f) in float64.

pow: float32 goes through float64; float64 takes the logarithm to 68 bits as a sum of two floats.
Special cases are those of C99 and IEEE 754, as in NumPy and XLA.

Polynomials of many terms go in pairs, or in powers of two, so that a loop that waits for its
results waits the less.

All constants in tables are minimax fits made by dev/fits/remez.py, rounded.  The quotient form of
the logarithm is that of FDLIBM (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math

from tapeless.kernel.floats import (
    FLOAT32,
    FLOAT64,
    Pair,
    choose,
    clamp,
    exponent_and_mantissa,
    exponent_and_mantissa_of_normal,
    fast_two_sum,
    format_of,
    polynomial,
    polynomial_by_pairs,
    polynomial_by_squares,
    power_of_two,
    two_product,
    two_sum,
)
from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes

__all__ = [
    "exp",
    "exp2",
    "exp2_of_normal",
    "exp_nonpositive",
    "exp_nonpositive_times",
    "exp_scaled",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log_pair",
    "logistic",
    "pow_",
    "tanh",
]

_LN2 = "0.69314718055994530941723212145817656807550013436025525412"
_LOG2_E = "1.44269504088896340735992468100189213742664595415298593413"
_TWO_LOG2_E = "2.88539008177792681471984936200378427485329190830597186827"

# (exp r - 1 - r) / r**2 on |r| <= ln 2 / 2
_EXP = {
    FLOAT32.dtype: (
        0.4999999403953552,
        0.1666651964187622,
        0.041668396443128586,
        0.008368782699108124,
        0.001381445094011724,
    ),
    FLOAT64.dtype: (
        0.5000000000000011,
        0.1666666666666641,
        0.04166666666652916,
        0.008333333333495497,
        0.0013888888943930755,
        0.00019841269505110722,
        2.4801492753899863e-05,
        2.7557586991170504e-06,
        2.763038184509764e-07,
        2.50000860554087e-08,
    ),
}
# (2**r - 1) / r on |r| <= 1/2
_EXP2 = {
    FLOAT32.dtype: (
        0.6931472420692444,
        0.24022652208805084,
        0.05550309643149376,
        0.009617689065635204,
        0.001340694958344102,
        0.00015595521836075932,
    ),
    FLOAT64.dtype: (
        0.6931471805599453,
        0.24022650695910072,
        0.055504108664821736,
        0.009618129107628564,
        0.0013333558146380966,
        0.00015403530393168446,
        1.5252733865596083e-05,
        1.321548700601536e-06,
        1.0178047215032927e-07,
        7.054814041589649e-09,
        4.457287281526912e-10,
        2.5855974482203467e-11,
    ),
}
# (log(1 + f) - f + f**2 / 2) / f**3 on sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG_CUBIC = (
    0.3333333134651184,
    -0.2500081956386566,
    0.20001226663589478,
    -0.1662336140871048,
    0.14201754331588745,
    -0.13160139322280884,
    0.12761624157428741,
    -0.07634700834751129,
)
# (2 atanh(s) / s - 2) / s**2 in z = s**2, for s = f / (2 + f)
_LOG_QUOTIENT = (
    0.6666666666666734,
    0.39999999999414554,
    0.2857142874241725,
    0.2222219857017542,
    0.1818356447771148,
    0.15314046816437552,
    0.1479598566552856,
)
# log2(1 + f) / f on sqrt(1/2) <= 1 + f <= sqrt(2), to 38 bits
_LOG2_SHORT = (
    1.4426950408865729,
    -0.721347520327538,
    0.48089834880326415,
    -0.3606737931362261,
    0.28853879569072877,
    -0.2404464335838599,
    0.20610712424296887,
    -0.18043675223128283,
    0.16021665107416488,
    -0.14249860280296045,
    0.13027570961773685,
    -0.13462954864944943,
    0.13251187374245307,
    -0.06973864954182599,
)
# (2**r - 1) / r on |r| <= 1/2, to 32 bits
_EXP2_SHORT = (
    0.6931471838551226,
    0.24022650923428449,
    0.055504002921343214,
    0.009618056346543212,
    0.0013341984753848229,
    0.00015461598100319164,
    1.335978867533826e-05,
)
# ((atanh(s) / s - 1) / z - 1/3) / z in z = s**2, for s = f / (2 + f)
_ATANH_FIFTH = (
    0.20000000000000304,
    0.14285714285452045,
    0.11111111187698872,
    0.09090898497470892,
    0.07693089775426708,
    0.06635066176157627,
    0.06537171730443261,
)
# arguments of exp below the first give zero, above the second infinity
_EXP_RANGE = {FLOAT32.dtype: (-104.0, 89.0), FLOAT64.dtype: (-745.25, 710.0)}
# r coth(r ln(2) / 2) on |r| <= 1/2 in r**2
_EXP2_EVEN = {
    FLOAT32.dtype: (2.885390043258667, 0.11552394926548004, -0.0009204349480569363),
    FLOAT64.dtype: (
        2.885390081777943,
        0.11552453009201745,
        -0.0009250684486005651,
        1.0581923511568851e-05,
        -1.2604697900768274e-07,
    ),
}
# 2 x**3 / (tanh x - x) on |x| <= 0.55 in x**2
_TANH_SMALL = {
    FLOAT32.dtype: (-6.000002384185791, -2.3999505043029785, 0.011141598224639893),
    FLOAT64.dtype: (
        -6.0000000000003376,
        -2.399999999977951,
        0.011428570950570962,
        -0.0005079317491417299,
        2.4383374341010772e-05,
        -1.137926464977176e-06,
    ),
}
# from here on tanh is 1
_TANH_ONE = {FLOAT32.dtype: 9.1, FLOAT64.dtype: 19.1}
# half of the range of exponents, about
_HALF_RANGE = {FLOAT32.dtype: 64, FLOAT64.dtype: 512}


def _exp_reduced(b: Nodes, x: Scalar, start: Scalar | float) -> tuple[Scalar, Scalar]:
    """Return n + start, and r = x - n ln 2 with |r| <= ln 2 / 2, for `start` = magic + integer."""
    form = format_of(x)
    (inverse,) = form.parts(_LOG2_E, 1)
    high, low = form.parts(_LN2, 2)
    shifted = b.fma(x, inverse, start)
    n = b.sub(shifted, start)
    return shifted, b.fma(n, -low, b.fma(n, -high, x))


def _exp_tail(b: Nodes, r: Scalar) -> Scalar:
    """exp(r) - 1 for |r| <= ln 2 / 2."""
    return b.fma(b.mul(r, r), polynomial_by_pairs(b, r, _EXP[r.dtype]), r)


def exp(b: Nodes, x: Scalar) -> Scalar:
    """e**x."""
    return exp_scaled(b, x, 0)


def exp_scaled(b: Nodes, x: Scalar, power: int) -> Scalar:
    """e**x * 2**power with one rounding, for a small integer `power`."""
    low, high = _EXP_RANGE[x.dtype]
    start, factor = _both_ends(b, x, power)
    shifted, r = _exp_reduced(b, clamp(b, x, low, high - power), start)
    significand = b.add(_exp_tail(b, r), 1.0)
    significand = b.select(b.lt(x, low), 0.0, significand)
    return b.mul(b.mul(significand, power_of_two(b, shifted)), factor)


def _both_ends(b: Nodes, x: Scalar, power: int = 0) -> Pair:
    """Split 2**(n + power), where n has the sign of x, into two factors that are normal numbers.

    Returns the number to add to n for `power_of_two`, and the second factor.
    """
    start = format_of(x).magic + format_of(x).bias
    half = _HALF_RANGE[x.dtype]
    negative = b.lt(x, 0.0)
    start = choose(b, negative, start + half, start - half, x)
    return start, choose(b, negative, 2.0 ** (power - half), 2.0 ** (power + half), x)


def exp_nonpositive(b: Nodes, x: Scalar) -> Scalar:
    """e**x for x <= 0; cheaper than `exp`."""
    shifted, r, zero = _reduce_nonpositive(b, x)
    significand = b.select(zero, 0.0, b.add(_exp_tail(b, r), 1.0))
    scaled = b.mul(significand, power_of_two(b, shifted))
    return b.mul(scaled, 2.0 ** -_HALF_RANGE[x.dtype])


def exp_nonpositive_times(b: Nodes, x: Scalar, factor: Scalar, factor_low: Scalar) -> Scalar:
    """e**x * (factor + factor_low) with little more than one rounding, for x <= 0, factor <= 1."""
    shifted, r, zero = _reduce_nonpositive(b, x)
    tail = _exp_tail(b, r)
    significand = b.add(tail, 1.0)
    rest = b.sub(tail, b.sub(significand, 1.0))
    product, error = two_product(b, significand, factor)
    error = b.fma(rest, factor, b.fma(significand, factor_low, error))
    product = b.select(zero, 0.0, b.add(product, error))
    return b.mul(b.mul(product, power_of_two(b, shifted)), 2.0 ** -_HALF_RANGE[x.dtype])


def _reduce_nonpositive(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Reduce for a result that is scaled by 2**-half at the end; tell where that is zero."""
    form = format_of(x)
    low, _ = _EXP_RANGE[x.dtype]
    start = form.magic + form.bias + _HALF_RANGE[x.dtype]
    shifted, r = _exp_reduced(b, clamp(b, x, low, None), start)
    return shifted, r, b.lt(x, low)


def exp2(b: Nodes, x: Scalar) -> Scalar:
    """2**x."""
    form = format_of(x)
    low = -(form.bias + form.mantissa + 1.0)
    start, factor = _both_ends(b, x)
    bounded = clamp(b, x, low, form.bias + 1.0)
    shifted = b.add(bounded, start)
    r = b.sub(bounded, b.sub(shifted, start))
    significand = b.fma(r, polynomial(b, r, _EXP2[x.dtype]), 1.0)
    significand = b.select(b.lt(x, low), 0.0, significand)
    return b.mul(b.mul(significand, power_of_two(b, shifted)), factor)


def exp2_of_normal(b: Nodes, x: Scalar) -> Scalar:
    """2**x where it is a normal number, and NaN where x is."""
    form = format_of(x)
    start = form.magic + form.bias
    shifted = b.add(x, start)
    r = b.sub(x, b.sub(shifted, start))
    significand = b.fma(r, polynomial(b, r, _EXP2[x.dtype]), 1.0)
    return b.mul(significand, power_of_two(b, shifted))


def expm1(b: Nodes, x: Scalar) -> Scalar:
    """e**x - 1."""
    form = format_of(x)
    low = -(form.mantissa + 4) * math.log(2)
    _, high = _EXP_RANGE[x.dtype]
    bounded = clamp(b, x, low, high)
    shifted, r = _exp_reduced(b, bounded, form.magic + form.bias - 1)
    half_scale = power_of_two(b, shifted)
    tail, rest = _exp_tail_pair(b, r)
    half = b.fma(half_scale, tail, b.sub(half_scale, 0.5))
    result = b.mul(b.fma(half_scale, rest, half), 2.0)
    tiny = b.lt(b.abs(x), 2.0 ** -(form.mantissa + 2))
    return b.select(tiny, x, result)


def _exp_tail_pair(b: Nodes, r: Scalar) -> Pair:
    """exp(r) - 1 as a sum of two floats."""
    square = b.mul(r, r)
    return fast_two_sum(b, r, b.mul(square, polynomial_by_pairs(b, r, _EXP[r.dtype])))


def tanh(b: Nodes, x: Scalar) -> Scalar:
    """The hyperbolic tangent: 1 - 2 / (e**(2 |x|) + 1), or x + x**3 / q(x**2) where small.

    e**(2 |x|) is 2**n 2**r, and 2**r the quotient of even + r and even - r: one division in all.
    """
    form = format_of(x)
    bounded = clamp(b, b.abs(x), None, _TANH_ONE[x.dtype])
    (scale,) = form.parts(_TWO_LOG2_E, 1)
    start = form.magic + form.bias
    shifted = b.fma(bounded, scale, start)
    # errors of r grow with x, and count the less
    r = b.fma(bounded, scale, b.neg(b.sub(shifted, start)))
    even = polynomial(b, b.mul(r, r), _EXP2_EVEN[x.dtype])
    less = b.sub(r, even)
    total = b.fma(b.add(even, r), power_of_two(b, shifted), b.neg(less))
    square = b.mul(bounded, bounded)
    small = b.lt(bounded, 0.55)
    numerator = b.select(small, b.mul(bounded, square), less)
    denominator = b.select(small, polynomial(b, square, _TANH_SMALL[x.dtype]), total)
    ratio = b.div(numerator, denominator)
    return b.copysign(b.fma(ratio, 2.0, b.select(small, bounded, 1.0)), x)


def logistic(b: Nodes, x: Scalar) -> Scalar:
    """1 / (1 + e**-x), from e**-|x|."""
    e = exp_nonpositive(b, b.neg(b.abs(x)))
    denominator = b.add(e, 1.0)
    low = b.sub(e, b.sub(denominator, 1.0))
    quotient = b.div(b.select(b.lt(x, 0.0), e, 1.0), denominator)
    # low / denominator is low where it counts: where the denominator is next to 1
    return b.fma(b.neg(quotient), low, quotient)


def _log_pair(b: Nodes, f: Scalar) -> Pair:
    """log(1 + f) on sqrt(1/2) <= 1 + f <= sqrt(2) as f + y; returns f and y."""
    if f.dtype == FLOAT32.dtype:
        square = b.mul(f, f)
        cubic = b.mul(b.mul(square, f), polynomial_by_pairs(b, f, _LOG_CUBIC))
        return f, b.fma(square, -0.5, cubic)
    half_square = b.mul(b.mul(f, f), 0.5)
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    rest = b.mul(z, polynomial_by_pairs(b, z, _LOG_QUOTIENT))
    return f, b.sub(b.mul(s, b.add(half_square, rest)), half_square)


def _log_scaled(b: Nodes, f: Scalar, exponent: Scalar, rest: Scalar | None = None) -> Scalar:
    """log((1 + f + rest) * 2**exponent), for a `rest` of a few ulp of f."""
    high, low = format_of(f).parts(_LN2, 2)
    f, y = _log_pair(b, f)
    if rest is not None:
        # 1 / (1 + f), nearly
        slope = b.fma(f, b.sub(f, 1.0), 1.0)
        y = b.fma(rest, slope, y)
    y = b.fma(exponent, low, y)
    return b.fma(exponent, high, b.add(f, y))


def _log_special(b: Nodes, x: Scalar, result: Scalar) -> Scalar:
    """Put in the values of a logarithm for x that is not positive and finite."""
    result = b.select(b.eq(x, math.inf), math.inf, result)
    outside = choose(b, b.eq(x, 0.0), -math.inf, math.nan, x)
    return b.select(b.gt(x, 0.0), result, outside)


def log(b: Nodes, x: Scalar) -> Scalar:
    """The natural logarithm."""
    exponent, mantissa = exponent_and_mantissa(b, x)
    return _log_special(b, x, _log_scaled(b, b.sub(mantissa, 1.0), exponent))


def log_pair(b: Nodes, x: Scalar) -> Pair:
    """The natural logarithm of positive, finite x as a sum of two floats, to a few bits more."""
    exponent, mantissa = exponent_and_mantissa(b, x)
    high, low = format_of(x).parts(_LN2, 2)
    f, y = _log_pair(b, b.sub(mantissa, 1.0))
    product, product_low = two_product(b, exponent, b.const(high, x.dtype))
    total, error = two_sum(b, product, f)
    error = b.add(b.add(error, product_low), b.fma(exponent, low, y))
    return fast_two_sum(b, total, error)


def log2(b: Nodes, x: Scalar) -> Scalar:
    """The logarithm to base 2."""
    exponent, mantissa = exponent_and_mantissa(b, x)
    high, low = format_of(x).parts(_LOG2_E, 2)
    f, y = _log_pair(b, b.sub(mantissa, 1.0))
    total, rest = fast_two_sum(b, f, y)
    product, error = two_product(b, total, b.const(high, x.dtype))
    error = b.fma(rest, high, b.fma(total, low, error))
    head, tail = fast_two_sum(b, exponent, product)
    return _log_special(b, x, b.add(head, b.add(tail, error)))


def log1p(b: Nodes, x: Scalar, x_low: Scalar | None = None) -> Scalar:
    """log(1 + x + x_low): the exponent e is that of 1 + x, and f = x 2**-e + (2**-e - 1)."""
    form = format_of(x)
    one_more = b.add(x, 1.0)
    bits = b.bitcast(one_more, form.bits)
    offset = b.sub(bits, form.pattern(0.5**0.5))
    shifted = b.shift_right_arithmetic(offset, form.mantissa)
    field = b.shift_left(shifted, form.mantissa)
    scale = b.bitcast(b.sub(form.pattern(1.0), field), form.dtype)
    f = b.fma(x, scale, b.sub(scale, 1.0))
    mantissa = b.sub(bits, field)
    mantissa = b.bitcast(mantissa, form.dtype)
    large = b.gt(x, 2.0 ** (form.mantissa + 2))
    f = b.select(large, b.sub(mantissa, 1.0), f)
    exponent = b.add(shifted, form.pattern(form.magic))
    exponent = b.bitcast(exponent, form.dtype)
    exponent = b.sub(exponent, form.magic)
    rest = None
    if x_low is not None:
        rest = b.select(large, 0.0, b.mul(x_low, scale))
    result = _log_scaled(b, f, exponent, rest)
    return b.copysign(_log_special(b, one_more, result), x)


def pow_(b: Nodes, x: Scalar, y: Scalar) -> Scalar:
    """x**y, with the special cases of C99: pow(x, 0) and pow(1, y) are 1 even for NaN.

    Special cases are other exponents, 0 and NaN, so that no choice waits for the power.
    """
    form = format_of(x)
    whole = b.eq(b.floor(y), y)
    half = b.mul(y, 0.5)
    half_whole = b.eq(b.floor(half), half)
    odd = b.and_(whole, b.not_(half_whole))
    sign = b.select(odd, x, 1.0)
    below_zero = b.and_(b.lt(x, 0.0), b.gt(x, -math.inf))
    undefined = b.and_(below_zero, b.not_(whole))
    one = b.or_(b.eq(y, 0.0), b.eq(x, 1.0))
    y = b.select(b.or_(undefined, b.ne(x, x)), math.nan, y)
    y = b.select(one, 0.0, y)
    power = _power32 if form is FLOAT32 else _power64
    return b.copysign(power(b, b.abs(x), y), sign)


def _exp2_pair(b: Nodes, x: Scalar, rest: Scalar, low: float, high: float) -> Scalar:
    """2**(x + rest) within 0.51 ulp, for a small `rest`; x is bounded to low .. high."""
    bounded = clamp(b, x, low, high)
    start, factor = _both_ends(b, x)
    shifted = b.add(bounded, start)
    fraction = b.sub(bounded, b.sub(shifted, start))
    rest = b.select(b.eq(bounded, x), rest, 0.0)
    ln2, ln2_low = format_of(x).parts(_LN2, 2)
    r, r_low = two_product(b, fraction, b.const(ln2, x.dtype))
    r_low = b.fma(rest, ln2, b.fma(fraction, ln2_low, r_low))
    square = b.mul(b.mul(r, r), polynomial(b, r, _EXP[x.dtype]))
    square = b.add(square, b.fma(r_low, b.add(r, square), r_low))
    one_more = b.add(r, 1.0)
    error = b.sub(r, b.sub(one_more, 1.0))
    significand = b.add(one_more, b.add(error, square))
    return b.mul(b.mul(significand, power_of_two(b, shifted)), factor)


def _log2_limits(b: Nodes, x: Scalar, value: Scalar) -> Scalar:
    """Put in the logarithms of 0 and infinity."""
    value = b.select(b.eq(x, 0.0), -math.inf, value)
    return b.select(b.eq(x, math.inf), math.inf, value)


def _power32(b: Nodes, x: Scalar, y: Scalar) -> Scalar:
    """x**y for x >= 0 in float32, computed in float64 to 36 bits; 1 for y = 0 whatever x is.

    What is beyond the range of float32 is found out beside the power, which is nonsense there.
    """
    wide_x = b.convert(x, FLOAT64.dtype)
    bounded = clamp(b, y, -(2.0**40), 2.0**40)
    wide_y = b.convert(bounded, FLOAT64.dtype)
    exponent, mantissa = exponent_and_mantissa_of_normal(b, wide_x)
    f = b.sub(mantissa, 1.0)
    logarithm = polynomial_by_squares(b, f, (exponent, *_LOG2_SHORT))
    power = b.mul(_log2_limits(b, wide_x, logarithm), wide_y)
    shifted = b.fma(logarithm, wide_y, FLOAT64.magic + FLOAT64.bias)
    whole = b.sub(shifted, FLOAT64.magic + FLOAT64.bias)
    r = b.sub(b.mul(logarithm, wide_y), whole)
    significand = polynomial_by_squares(b, r, (1.0, *_EXP2_SHORT))
    result = b.convert(b.mul(significand, power_of_two(b, shifted)), x.dtype)
    limit = choose(b, b.gt(power, 0.0), math.inf, 0.0, x)
    return b.select(b.gt(b.abs(power), 160.0), limit, result)


def _power64(b: Nodes, x: Scalar, y: Scalar) -> Scalar:
    """x**y for x >= 0 in float64; 1 for y = 0 whatever x is."""
    x = b.select(b.eq(y, 0.0), 1.0, x)
    high, low = _log2_pair(b, x)
    high = _log2_limits(b, x, high)
    bounded = clamp(b, y, -(2.0**65), 2.0**65)
    product, error = two_product(b, bounded, high)
    error = b.fma(bounded, low, error)
    return _exp2_pair(b, product, error, -1100.0, 1100.0)


def _log2_pair(b: Nodes, x: Scalar) -> Pair:
    """The logarithm to base 2 of positive, finite x to 68 bits, as a sum of two floats.

    With s = (m - 1) / (m + 1), log m = 2 (s + s z (1/3 + z q(z))), z = s**2.
    """
    exponent, m = exponent_and_mantissa(b, x)
    s, s_low = _quotient_pair(b, m)
    z, z_low = two_product(b, s, s)
    z_low = b.fma(b.mul(s, 2.0), s_low, z_low)
    third, third_low = FLOAT64.parts("0." + "3" * 60, 2)
    fifth = b.mul(z, polynomial(b, z, _ATANH_FIFTH))
    c, c_low = fast_two_sum(b, b.const(third, x.dtype), fifth)
    c_low = b.add(c_low, third_low)
    w, w_low = two_product(b, z, c)
    w_low = b.fma(z, c_low, b.fma(z_low, c, w_low))
    v, v_low = two_product(b, s, w)
    v_low = b.fma(s, w_low, b.fma(s_low, w, v_low))
    total, rest = fast_two_sum(b, s, v)
    rest = b.add(rest, b.add(v_low, s_low))
    scale, scale_low = FLOAT64.parts(_TWO_LOG2_E, 2)
    product, error = two_product(b, total, b.const(scale, x.dtype))
    error = b.fma(rest, scale, b.fma(total, scale_low, error))
    head, tail = two_sum(b, exponent, product)
    return fast_two_sum(b, head, b.add(tail, error))


def _quotient_pair(b: Nodes, m: Scalar) -> Pair:
    """(m - 1) / (m + 1) as a sum of two floats, for sqrt(1/2) <= m <= sqrt(2)."""
    f, d = b.sub(m, 1.0), b.add(m, 1.0)
    d_low = b.sub(m, b.sub(d, 1.0))
    inverse = b.div(1.0, d)
    s = b.mul(f, inverse)
    minus = b.neg(s)
    remainder = b.fma(minus, d, f)
    remainder = b.fma(minus, d_low, remainder)
    return s, b.mul(remainder, inverse)
