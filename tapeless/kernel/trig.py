"""Recipes of the circular and hyperbolic functions and their inverses.

sin and cos: x = n pi / 2 + r with |r| <= pi / 4; n modulo 4 chooses sin r or cos r, and the sign.
n pi / 2 is subtracted in three parts by fused operations; the first difference is exact, and the
result is good while |x| is below a bound that covers nearly all use.  All parts are positive, so
that -0 stays -0.  Terms with powers of r are computed from the second difference, while the third
one is made: a loop that waits for its sines waits the less.  Larger arguments take the
rare path of Payne and Hanek: x = m 2**e with an integer m, and only the bits of 1 / pi matter that
m 2**e moves next to the binary point.  That window is selected out of a table of constants by a
binary tree of selects, multiplied by m in integers, and gives x / pi modulo 2 in fixed point.

tan keeps a second word of r, because it is steep.  The inverse functions
are odd polynomials after the usual foldings, with pi / 2 in two words.  sinh and cosh
come from e**x / 2, which does not overflow early; the inverse hyperbolic functions from log1p.

The tables are minimax fits made by dev/fits/remez.py.
"""

from __future__ import annotations

import math

import numpy as np

from tapeless.kernel.explog import exp_scaled, log1p
from tapeless.kernel.floats import (
    FLOAT32,
    FLOAT64,
    Pair,
    choose,
    fast_two_sum,
    format_of,
    odd_polynomial,
    polynomial,
    polynomial_by_pairs,
    two_product,
    two_sum,
)
from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "cot_pi",
    "sin",
    "sinh",
    "sin_pi",
    "tan",
]

_PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
_HALF_PI = "1.57079632679489661923132169163975144209858469968755291048747229615390820314310449"
_LN2 = "0.69314718055994530941723212145817656807550013436025525412"
_TWO_INVERSE_PI = "0.63661977236758134307553505349005744813783858296182579499066937623558"

_UINT64 = np.dtype(np.uint64)
_INT64 = np.dtype(np.int64)

# beyond these arguments the reduction in three parts is not accurate
_LARGE = {FLOAT32.dtype: 2.0**17, FLOAT64.dtype: 2.0**30}
# 24 zeros, then the binary digits of 1 / pi
_INVERSE_PI_WORDS = (
    0x000000517CC1B727,
    0x220A94FE13ABE8FA,
    0x9A6EE06DB14ACC9E,
    0x21C820FF28B1D5EF,
    0x5DE2B0DB92371D21,
    0x26E9700324977504,
    0xE8C90E7F0EF58E58,
    0x94D39F74411AFA97,
    0x5DA24274CE38135A,
    0x2FBF209CC8EB1CC1,
    0xA99CFA4E422FC5DE,
    0xFC941D8FFC4BFFEF,
    0x02CC07F79788C5AD,
    0x05368FB69B3F6793,
    0xE584DBA7A31FB34F,
    0x2FF516BA93DD63F5,
    0xF2F8BD9E839CFBC5,
    0x29497535FDAFD88F,
    0xC6AE842B0198237E,
)
# (sin r / r - 1) / r**2 in r**2, |r| <= pi / 4
_SIN = {
    FLOAT32.dtype: (-0.16666655242443085, 0.00833216030150652, -0.0001951521699083969),
    FLOAT64.dtype: (
        -0.1666666666666663,
        0.008333333333322108,
        -0.0001984126982957996,
        2.755731361790448e-06,
        -2.505074719709808e-08,
        1.5896196289802472e-10,
    ),
}
# (cos r - 1 + r**2 / 2) / r**4 in r**2, |r| <= pi / 4
_COS = {
    FLOAT32.dtype: (0.04166664555668831, -0.0013887315290048718, 2.4433080398011953e-05),
    FLOAT64.dtype: (
        0.041666666666666595,
        -0.0013888888888873038,
        2.4801587288840543e-05,
        -2.7557314175973136e-07,
        2.087570037628684e-09,
        -1.1358511717048626e-11,
    ),
}
# (tan r / r - 1) / r**2 in r**2, |r| <= pi / 4
_TAN = {
    FLOAT32.dtype: (
        0.33333349227905273,
        0.13332661986351013,
        0.05406005308032036,
        0.021281473338603973,
        0.010837688110768795,
        8.712602721061558e-05,
        0.0043774801306426525,
    ),
    FLOAT64.dtype: (
        0.33333333333333376,
        0.13333333333325792,
        0.053968253972656886,
        0.021869488406112296,
        0.008863237811514138,
        0.003592102048618833,
        0.001456037187298999,
        0.0005889065612281943,
        0.00024360077912796525,
        8.39447720423204e-05,
        6.651689051047042e-05,
        -2.4739044047402232e-05,
        4.7886485749289535e-05,
        -2.3901483820780996e-05,
        9.715893246514156e-06,
    ),
}
# (sinh x / x - 1) / x**2 in x**2, |x| <= 1
_SINH = {
    FLOAT32.dtype: (
        0.1666666716337204,
        0.008333349600434303,
        0.0001983615948120132,
        2.8169511097075883e-06,
    ),
    FLOAT64.dtype: (
        0.16666666666666669,
        0.008333333333333148,
        0.0001984126984143189,
        2.7557319157068553e-06,
        2.5052123137118932e-08,
        1.6057259742375673e-10,
        7.758749559320106e-13,
    ),
}
# (atan q / q - 1) / q**2 in q**2, |q| <= 1
_ATAN = {
    FLOAT32.dtype: (
        -0.33333298563957214,
        0.19998548924922943,
        -0.14264242351055145,
        0.10952186584472656,
        -0.08403439819812775,
        0.057957250624895096,
        -0.031177382916212082,
        0.01091430801898241,
        -0.001793546718545258,
    ),
    FLOAT64.dtype: (
        -0.3333333333333307,
        0.19999999999951443,
        -0.1428571428257445,
        0.11111111007013581,
        -0.09090907002847294,
        0.07692279838233966,
        -0.06666404052535607,
        0.05880527800381651,
        -0.05253518542573665,
        0.04722322321605042,
        -0.04219179521195372,
        0.03664192724217702,
        -0.029903890709306862,
        0.02198489957530901,
        -0.013900609123998962,
        0.007196541398140059,
        -0.0028849397681593577,
        0.0008313299108604475,
        -0.00015216272038434038,
        1.3225271549032322e-05,
    ),
}
# the same in float64, |q| <= 1/2
_ATAN_HALF = (
    -0.3333333333333298,
    0.1999999999990316,
    -0.142857142763895,
    0.11111110659762648,
    -0.09090896247277123,
    0.07692073944683367,
    -0.06663810883683872,
    0.05858300391137495,
    -0.051220111734870226,
    0.041865167479289186,
    -0.027435114159580144,
    0.010116942578896249,
)
# (asin s / s - 1) / s**2 in s**2, |s| <= 1/2
_ASIN = {
    FLOAT32.dtype: (
        0.16666752099990845,
        0.07495299726724625,
        0.045470163226127625,
        0.024180404841899872,
        0.04216502606868744,
    ),
    FLOAT64.dtype: (
        0.1666666666666676,
        0.07499999999970801,
        0.04464285717461138,
        0.030381942707793857,
        0.02237221498728145,
        0.01735161202580828,
        0.013980820312831226,
        0.011398914902070395,
        0.010780233764246633,
        0.0037064944921722486,
        0.021707207736463667,
        -0.020998684611290543,
        0.032628365532829294,
    ),
}


# Circular functions


def sin(b: Nodes, x: Scalar) -> Scalar:
    """The sine of x radians."""
    r, rough, quadrant = _reduce(b, x)
    fast = _quarter_wave(b, r, rough, quadrant)
    size = b.abs(x)
    r, r_low, quadrant = _reduce_huge(b, size)
    slow = b.mul(b.convert(_quarter_wave(b, r, r, quadrant, r_low), x.dtype), b.copysign(1.0, x))
    return b.rare(b.gt(size, _LARGE[x.dtype]), slow, fast)


def cos(b: Nodes, x: Scalar) -> Scalar:
    """The cosine of x radians."""
    r, rough, quadrant = _reduce(b, x)
    fast = _quarter_wave(b, r, rough, b.add(quadrant, 1))
    size = b.abs(x)
    r, r_low, quadrant = _reduce_huge(b, size)
    slow = b.convert(_quarter_wave(b, r, r, b.add(quadrant, 1), r_low), x.dtype)
    return b.rare(b.gt(size, _LARGE[x.dtype]), slow, fast)


def tan(b: Nodes, x: Scalar) -> Scalar:
    """The tangent of x radians."""
    r, r_low, quadrant = _reduce_twice(b, x)
    fast = b.select(b.eq(x, 0.0), x, _tan_reduced(b, r, r_low, quadrant))
    size = b.abs(x)
    r, r_low, quadrant = _reduce_huge(b, size)
    slow = b.convert(_tan_reduced(b, r, r_low, quadrant), x.dtype)
    return b.rare(b.gt(size, _LARGE[x.dtype]), b.mul(slow, b.copysign(1.0, x)), fast)


def sin_pi(b: Nodes, x: Scalar) -> Scalar:
    """sin(pi x) for |x| < 2**21 (float32) or 2**50, exactly 0 at integers."""
    r, r_low, quadrant = _reduce_turns(b, x)
    return _quarter_wave(b, r, r, quadrant, r_low)


def cot_pi(b: Nodes, x: Scalar) -> Scalar:
    """1 / tan(pi x), for the same x as `sin_pi`."""
    r, r_low, quadrant = _reduce_turns(b, x)
    return b.neg(_tan_reduced(b, r, r_low, b.add(quadrant, 1)))


def _reduce_turns(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Reduce pi x as `_reduce` does, with the difference in two words."""
    form = format_of(x)
    shifted = b.fma(x, 2.0, form.magic)
    fraction = b.fma(b.sub(shifted, form.magic), -0.5, x)
    high, low = form.parts(_PI, 2)
    r, r_low = two_product(b, fraction, b.const(high, x.dtype))
    return r, b.fma(fraction, low, r_low), b.bitcast(shifted, form.bits)


def _reduce(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """x - n pi / 2 for the nearest integer n, and n in the low bits; |x| below `_LARGE`.

    Between the two is the difference without its last correction.
    """
    form = format_of(x)
    (inverse,) = form.parts(_TWO_INVERSE_PI, 1)
    shifted = b.fma(x, inverse, form.magic)
    n = b.sub(shifted, form.magic)
    high, middle, low = form.parts_of_one_sign(_HALF_PI, 3)
    rough = b.fma(n, -middle, b.fma(n, -high, x))
    return b.fma(n, -low, rough), rough, b.bitcast(shifted, form.bits)


def _reduce_twice(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Reduce as `_reduce` does, with the difference in two words."""
    form = format_of(x)
    (inverse,) = form.parts(_TWO_INVERSE_PI, 1)
    shifted = b.fma(x, inverse, form.magic)
    n = b.sub(shifted, form.magic)
    high, middle, low = form.parts(_HALF_PI, 3)
    product, product_low = two_product(b, n, b.const(-middle, x.dtype))
    r, error = two_sum(b, b.fma(n, -high, x), product)
    error = b.add(error, b.fma(n, -low, product_low))
    return *fast_two_sum(b, r, error), b.bitcast(shifted, form.bits)


def _quarter_wave(
    b: Nodes, r: Scalar, rough: Scalar, quadrant: Scalar, r_low: Scalar | None = None
) -> Scalar:
    """sin(r + quadrant pi / 2), for |r| <= pi / 4; the quadrant counts modulo 4.

    rough: r, or nearly so, for its square and cube.  r_low: a second word of r.
    """
    form = format_of(r)
    square = b.mul(rough, rough)
    cube, cubic = b.mul(rough, square), polynomial(b, square, _SIN[r.dtype])
    cosine = b.fma(square, -0.5, 1.0)
    curve = b.mul(square, square)
    quartic = polynomial(b, square, _COS[r.dtype])
    if r_low is None:
        sine = b.fma(cube, cubic, r)
    else:
        sine = b.add(r, b.fma(r_low, cosine, b.mul(cube, cubic)))
        cosine = b.fma(b.neg(r), r_low, cosine)
    cosine = b.fma(curve, quartic, cosine)
    odd = b.ne(b.and_(quadrant, 1), 0)
    wave = b.select(odd, cosine, sine)
    # the sign is set, not only changed, because a sine of -0 is -0
    sign = b.shift_left(quadrant, 8 * form.dtype.itemsize - 2)
    sign = b.xor(b.select(odd, 0, b.bitcast(r, form.bits)), sign)
    return b.copysign(wave, b.bitcast(sign, form.dtype))


def _tan_reduced(b: Nodes, r: Scalar, r_low: Scalar, quadrant: Scalar) -> Scalar:
    """tan(r + r_low + quadrant pi / 2), for |r| <= pi / 4."""
    square = b.mul(r, r)
    tail = b.mul(b.mul(r, square), polynomial_by_pairs(b, square, _TAN[r.dtype]))
    t, t_low = fast_two_sum(b, r, b.add(tail, b.fma(r_low, square, r_low)))
    odd = b.ne(b.and_(quadrant, 1), 0)
    numerator, denominator = b.select(odd, -1.0, t), b.select(odd, t, 1.0)
    quotient = b.div(numerator, denominator)
    # one step of Newton, which changes -1 / t only
    minus = b.neg(quotient)
    error = b.fma(minus, b.select(odd, t_low, 0.0), b.fma(minus, denominator, numerator))
    return b.fma(minus, error, quotient)


# Huge arguments


def _half_turns(b: Nodes, x: Scalar) -> tuple[Scalar, ...]:
    """x / pi modulo 2 for large x > 0, in fixed point with one bit before the binary point.

    The result is one 64-bit word for float32, and two, high first, for float64.
    """
    form = format_of(x)
    bits = b.convert(b.bitcast(x, form.bits), _UINT64)
    mantissa = b.or_(b.and_(bits, (1 << form.mantissa) - 1), 1 << form.mantissa)
    # the table has 24 zeros in front: its digit 24 is 1 / pi's first, of weight 1/2
    offset = form.bias + form.mantissa - 23
    start = b.sub(b.shift_right_logical(bits, form.mantissa), offset)
    count = 3 if form is FLOAT32 else 4
    words = _window(b, start, count, 127 if form is FLOAT32 else 1023)
    if form is FLOAT32:
        low = b.shift_right_logical(words[1], 32)
        return (b.add(b.mul(mantissa, words[0]), b.shift_right_logical(b.mul(mantissa, low), 32)),)
    low = b.add(b.mul(mantissa, words[1]), b.mulhi(mantissa, words[2]))
    carry = b.convert(b.lt(low, b.mul(mantissa, words[1])), _UINT64)
    high = b.add(b.mul(mantissa, words[0]), b.mulhi(mantissa, words[1]))
    return b.add(high, carry), low


def _window(b: Nodes, start: Scalar, count: int, last: int) -> list[Scalar]:
    """Take count - 1 words of the binary digits of 1 / pi from digit `start` <= `last` on."""
    number = b.shift_right_logical(start, 6)
    step = 1 << ((last >> 6).bit_length() - 1)
    words: list[Scalar] = [
        b.const(word, _UINT64) for word in _INVERSE_PI_WORDS[: (last >> 6) + count]
    ]
    while step:
        chosen = b.ne(b.and_(number, step), 0)
        n_kept = min(step - 1 + count, len(words))
        words = [
            b.select(chosen, words[k + step], words[k]) if k + step < len(words) else words[k]
            for k in range(n_kept)
        ]
        step //= 2
    shift = b.and_(start, 63)
    back = b.sub(b.const(64, _UINT64), shift)
    return [
        b.or_(b.shift_left(words[k], shift), b.shift_right_logical(words[k + 1], back))
        for k in range(count - 1)
    ]


def _reduce_huge(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Reduce large x > 0 as `_reduce` does; in float64, in two words.  NaN if x is infinite."""
    form = format_of(x)
    turns = _half_turns(b, x)
    quadrant = b.bitcast(b.shift_right_logical(b.add(turns[0], 1 << 61), 62), _INT64)
    high, low = (part * 2.0**-65 for part in FLOAT64.parts(_PI, 2))
    head = b.shift_left(turns[0], 2)
    bad = b.eq(x, math.inf)
    if form is FLOAT32:
        fraction = b.convert(b.bitcast(head, _INT64), FLOAT64.dtype)
        angle = b.select(bad, math.nan, b.mul(fraction, high))
        return angle, b.const(0.0, FLOAT64.dtype), quadrant
    head = b.or_(head, b.shift_right_logical(turns[1], 62))
    value, rest = _float_pair(b, b.bitcast(head, _INT64), b.shift_left(turns[1], 2))
    angle, error = two_product(b, value, b.const(high, FLOAT64.dtype))
    error = b.add(error, b.fma(value, low, b.mul(rest, high)))
    return b.select(bad, math.nan, angle), error, quadrant


def _float_pair(b: Nodes, head: Scalar, tail: Scalar) -> Pair:
    """head + tail / 2**64 as a sum of two floats; head: int64, tail: uint64."""
    mask = (1 << 32) - 1
    pieces = (
        (b.shift_right_arithmetic(head, 32), 32),
        (b.and_(head, mask), 0),
        (b.bitcast(b.shift_right_logical(tail, 32), _INT64), -32),
        (b.bitcast(b.and_(tail, mask), _INT64), -64),
    )
    floats = [b.mul(b.convert(piece, FLOAT64.dtype), 2.0**power) for piece, power in pieces]
    value, rest = fast_two_sum(b, floats[0], floats[1])
    return fast_two_sum(b, value, b.add(rest, b.add(floats[2], floats[3])))


# Inverse circular functions


def atan(b: Nodes, x: Scalar) -> Scalar:
    """The arc tangent, in [-pi / 2, pi / 2]."""
    size = b.abs(x)
    if x.dtype == FLOAT64.dtype:
        return b.copysign(_atan64(b, size), x)
    steep = b.gt(size, 1.0)
    q = b.div(b.select(steep, 1.0, size), b.select(steep, size, 1.0))
    angle = odd_polynomial(b, q, _ATAN[x.dtype])
    high, low = format_of(x).parts(_HALF_PI, 2)
    angle = b.select(steep, b.add(b.sub(high, angle), low), angle)
    return b.copysign(angle, x)


def _atan64(b: Nodes, size: Scalar) -> Scalar:
    """The arc tangent of size >= 0: of fewer terms, from (size - 1) / (size + 1) in the middle."""
    middle, steep = b.gt(size, 0.5), b.gt(size, 2.5)
    numerator = b.select(middle, b.sub(size, 1.0), size)
    denominator = b.select(middle, b.add(size, 1.0), 1.0)
    q = b.div(b.select(steep, -1.0, numerator), b.select(steep, size, denominator))
    high, low = FLOAT64.parts(_HALF_PI, 2)
    base = b.select(steep, high, choose(b, middle, high / 2, 0.0, size))
    base_low = b.select(steep, low, choose(b, middle, low / 2, 0.0, size))
    square = b.mul(q, q)
    series = polynomial_by_pairs(b, square, _ATAN_HALF)
    angle, rest = fast_two_sum(b, base, q)
    return b.add(angle, b.add(rest, b.fma(b.mul(q, square), series, base_low)))


def atan2(b: Nodes, y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in [-pi, pi]."""
    form = format_of(x)
    width, height = b.abs(x), b.abs(y)
    steep = b.gt(height, width)
    numerator = b.select(steep, width, height)
    denominator = b.select(steep, height, width)
    q = b.div(numerator, b.select(b.eq(denominator, 0.0), 1.0, denominator))
    q = b.select(b.and_(b.eq(height, math.inf), b.eq(width, math.inf)), 1.0, q)
    angle = odd_polynomial(b, q, _ATAN[x.dtype])
    left = b.lt(b.bitcast(x, form.bits), 0)
    half, half_low = form.parts(_HALF_PI, 2)
    full, full_low = form.parts(_PI, 2)
    base = b.select(steep, half, choose(b, left, full, 0.0, x))
    base_low = b.select(steep, half_low, choose(b, left, full_low, 0.0, x))
    signed = b.select(b.xor(steep, left), b.neg(angle), angle)
    return b.copysign(b.add(base, b.add(signed, base_low)), y)


def _asin_parts(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """For |x| <= 1 return large = (|x| > 1/2), s and tail, so that asin s = s + tail.

    s is |x|, or sqrt((1 - |x|) / 2) where large.
    """
    size = b.abs(x)
    large = b.gt(size, 0.5)
    folded = b.fma(size, -0.5, 0.5)
    square = b.select(large, folded, b.mul(size, size))
    s = b.select(large, b.sqrt(folded), size)
    return large, s, b.mul(b.mul(s, square), polynomial(b, square, _ASIN[x.dtype]))


def asin(b: Nodes, x: Scalar) -> Scalar:
    """The arc sine, in [-pi / 2, pi / 2]."""
    large, s, tail = _asin_parts(b, x)
    high, low = format_of(x).parts(_HALF_PI, 2)
    base = b.fma(s, -2.0, high)
    error = b.fma(s, -2.0, b.sub(high, base))
    angle = b.add(base, b.fma(tail, -2.0, b.add(error, low)))
    return b.copysign(b.select(large, angle, b.add(s, tail)), x)


def acos(b: Nodes, x: Scalar) -> Scalar:
    """The arc cosine, in [0, pi]: 2 asin s near 1, pi - 2 asin s near -1, else pi / 2 - asin x."""
    large, s, tail = _asin_parts(b, x)
    half, half_low = format_of(x).parts(_HALF_PI, 2)
    negative = b.lt(x, 0.0)
    zero = b.const(0.0, x.dtype)
    factor = choose(b, large, 2.0, -1.0, x)
    factor = b.select(negative, b.neg(factor), factor)
    base = b.select(large, b.select(negative, 2 * half, zero), half)
    base_low = b.select(large, b.select(negative, 2 * half_low, zero), half_low)
    return b.add(b.fma(s, factor, base), b.fma(tail, factor, base_low))


# Hyperbolic functions


def sinh(b: Nodes, x: Scalar) -> Scalar:
    """The hyperbolic sine."""
    size = b.abs(x)
    half = exp_scaled(b, size, -1)
    large = b.sub(half, b.div(0.25, half))
    small = odd_polynomial(b, x, _SINH[x.dtype])
    return b.select(b.lt(size, 1.0), b.select(b.eq(x, 0.0), x, small), b.copysign(large, x))


def cosh(b: Nodes, x: Scalar) -> Scalar:
    """The hyperbolic cosine."""
    half = exp_scaled(b, b.abs(x), -1)
    return b.add(half, b.div(0.25, half))


def asinh(b: Nodes, x: Scalar) -> Scalar:
    """The inverse hyperbolic sine, log1p(|x| + x**2 / (1 + sqrt(1 + x**2)))."""
    size = b.abs(x)
    square = b.mul(size, size)
    root = b.sqrt(b.add(square, 1.0))
    argument, rest = fast_two_sum(b, size, b.div(square, b.add(root, 1.0)))
    return b.copysign(_log1p_or_log(b, argument, rest, size), x)


def acosh(b: Nodes, x: Scalar) -> Scalar:
    """The inverse hyperbolic cosine, log1p(t + sqrt(t (t + 2))) with t = x - 1."""
    t = b.sub(x, 1.0)
    root = b.sqrt(b.fma(t, t, b.mul(t, 2.0)))
    argument, rest = fast_two_sum(b, root, t)
    return b.select(b.lt(x, 1.0), math.nan, _log1p_or_log(b, argument, rest, x))


def _log1p_or_log(b: Nodes, argument: Scalar, rest: Scalar, x: Scalar) -> Scalar:
    """log1p(argument + rest), or log(2 x) where x is so large that its square may overflow."""
    form = format_of(x)
    large = b.gt(x, 2.0 ** (form.mantissa + 2))
    (ln2,) = form.parts(_LN2, 1)
    result = log1p(b, b.select(large, x, argument), b.select(large, 0.0, rest))
    return b.add(result, choose(b, large, ln2, 0.0, x))


def atanh(b: Nodes, x: Scalar) -> Scalar:
    """The inverse hyperbolic tangent, log1p(2 |x| / (1 - |x|)) / 2."""
    size = b.abs(x)
    double = b.mul(size, 2.0)
    ratio = b.div(b.select(b.lt(size, 0.5), size, double), b.sub(1.0, size))
    argument = b.select(b.lt(size, 0.5), b.fma(double, ratio, double), ratio)
    return b.copysign(b.mul(log1p(b, argument), 0.5), x)
