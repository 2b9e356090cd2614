"""Elementary functions of complex numbers, by real functions of the parts.

Each function takes the node constructors `b` and complex elements z = x + iy (with fields `re` and
`im`) and gives a complex element.  Inverse functions use Kahan's formulas ("Branch cuts for complex
elementary functions", 1987): they are accurate near the branch points and keep the cuts in place.

Where a part is zero, infinite or NaN, results are those of C99's Annex G, which the Python array
API standard repeats: what no angle can change stays, such as the infinite size of exp(inf + i inf).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["RECIPES"]

LOG_2 = math.log(2)
Element = Any


def _sinh(b: Any, z: Element) -> Element:
    """sinh x cos y + i cosh x sin y."""
    x, y = z
    sine, cosine = b.op("sin", y), b.op("cos", y)
    fall, size = b.op("sinh", x), b.op("cosh", x)
    rise = b.mul(fall, cosine)
    turn = b.mul(size, sine)
    aimless = b.ne(cosine, cosine)
    endless = b.eq(b.add(x, x), x)  # 0 and infinities
    kept = b.and_(aimless, endless)
    re = b.select(kept, x, rise)
    im = _at_zero(b, y, turn)
    return b.pair(re, im)


def _cosh(b: Any, z: Element) -> Element:
    """cosh x cos y + i sinh x sin y."""
    x, y = z
    sine, cosine = b.op("sin", y), b.op("cos", y)
    fall, size = b.op("sinh", x), b.op("cosh", x)
    rise = b.mul(size, cosine)
    turn = b.mul(fall, sine)
    aimless = b.ne(cosine, cosine)
    endless = _is_endless(b, x)
    kept = b.and_(aimless, endless)
    re = b.select(kept, size, rise)
    flat = b.eq(y, 0.0)
    one = b.const(1.0, x.dtype)
    side = b.copysign(one, x)
    signed = b.mul(side, y)
    im = b.select(flat, signed, turn)
    number = _zero_if_nan(b, im)
    centred = b.eq(x, 0.0)
    im = b.select(centred, number, im)
    return b.pair(re, im)


def _sin(b: Any, z: Element) -> Element:
    """-i sinh(iz)."""
    sine = _sinh(b, _turn(b, z))
    return _turn_back(b, sine)


def _cos(b: Any, z: Element) -> Element:
    """cosh(iz)."""
    return _cosh(b, _turn(b, z))


def _tanh(b: Any, z: Element) -> Element:
    """(sinh x cosh x + i sin y cos y) / (cos^2 y + sinh^2 x).

    For large |x| it is +-1 + 4i sin y cos y exp(-2 |x|).
    """
    x, y = z
    sine, cosine = b.op("sin", y), b.op("cos", y)
    sinh, cosh = b.op("sinh", x), b.op("cosh", x)
    product = b.mul(sine, cosine)
    squares = b.mul(cosine, cosine)
    denominator = b.add(squares, b.mul(sinh, sinh))
    double = b.mul(sinh, cosh)
    ratio = b.div(double, denominator)
    near_re = _at_zero(b, x, ratio)
    turn = b.div(product, denominator)
    near_im = _at_zero(b, y, turn)
    near = b.pair(near_re, near_im)
    size = b.abs(x)
    exponent = b.mul(size, -2.0)
    decay = b.op("exp", exponent)
    steep = b.mul(product, 4.0)
    far_im = b.mul(steep, decay)
    one = b.const(1.0, x.dtype)
    far_re = b.copysign(one, x)
    # At infinity the angle does not matter; before, none makes a NaN of both parts.
    infinite = b.eq(size, math.inf)
    aimless = b.ne(product, product)
    finite = b.not_(infinite)
    lost = b.and_(aimless, finite)
    far_re = b.select(lost, product, far_re)
    number = _zero_if_nan(b, far_im)
    far_im = b.select(infinite, number, far_im)
    far = b.pair(far_re, far_im)
    return b.select(b.gt(size, 20.0), far, near)


def _tan(b: Any, z: Element) -> Element:
    """-i tanh(iz)."""
    turned = _turn(b, z)
    tangent = _tanh(b, turned)
    return _turn_back(b, tangent)


def _expm1(b: Any, z: Element) -> Element:
    """expm1 x cos y - 2 sin^2(y / 2) + i e^x sin y."""
    x, y = z
    half = b.mul(y, 0.5)
    sine = b.op("sin", half)
    square = b.mul(sine, sine)
    drop = b.mul(square, 2.0)
    growth = b.op("expm1", x)
    cosine = b.op("cos", y)
    rise = b.mul(growth, cosine)
    size = b.op("exp", x)
    turned = b.mul(size, b.op("sin", y))
    aimless = b.ne(cosine, cosine)
    endless = _is_endless(b, x)
    unbounded = b.and_(aimless, endless)
    re = b.sub(rise, drop)
    re = b.select(unbounded, growth, re)
    lowest = b.eq(x, -math.inf)
    vanishes = b.and_(aimless, lowest)
    turned = b.select(vanishes, size, turned)
    im = _at_zero(b, y, turned)
    return b.pair(re, im)


def _exp2(b: Any, z: Element) -> Element:
    """2^x (cos(y log 2) + i sin(y log 2)); real where y is 0."""
    x, y = z
    size = b.op("exp2", x)
    angle = b.mul(y, LOG_2)
    cosine = b.op("cos", angle)
    aimless = b.ne(cosine, cosine)
    vanishes = b.and_(aimless, b.eq(x, -math.inf))
    explodes = b.and_(aimless, b.eq(x, math.inf))
    kept = b.or_(vanishes, explodes)
    rise = b.mul(size, cosine)
    re = b.select(kept, size, rise)
    turned = b.mul(size, b.op("sin", angle))
    turned = b.select(vanishes, size, turned)
    im = _at_zero(b, y, turned)
    return b.pair(re, im)


def _log1p(b: Any, z: Element) -> Element:
    """log |1 + z| + i arg(1 + z); near 0 the size is log1p(x (2 + x) + y^2) / 2."""
    x, y = z
    shifted = b.add(x, 1.0)
    size = b.max(b.abs(x), b.abs(y))
    near = b.lt(size, 0.5)
    zero = b.const(0.0, x.dtype)
    product = b.mul(x, b.add(x, 2.0))
    excess = b.add(product, b.mul(y, y))
    excess = b.select(near, excess, zero)
    double = b.op("log1p", excess)
    near_re = b.mul(double, 0.5)
    distance = b.abs(b.pair(shifted, y))
    far_re = b.op("log", distance)
    re = b.select(near, near_re, far_re)
    im = b.op("atan2", y, shifted)
    return b.pair(re, im)


def _log2(b: Any, z: Element) -> Element:
    """log z / log 2."""
    x, y = b.op("log", z)
    re = b.div(x, LOG_2)
    im = b.div(y, LOG_2)
    return b.pair(re, im)


def _logistic(b: Any, z: Element) -> Element:
    """1 / (1 + e^-z) to the right of 0, e^z / (1 + e^z) to the left."""
    right = b.ge(z.re, 0.0)
    falling = b.select(right, b.neg(z), z)
    power = b.op("exp", falling)
    one = b.const(1.0, z.dtype)
    numerator = b.select(right, one, power)
    return b.div(numerator, b.add(power, one))


def _rsqrt(b: Any, z: Element) -> Element:
    """1 / sqrt z."""
    one = b.const(1.0, z.dtype)
    return b.div(one, b.sqrt(z))


def _pow(b: Any, z: Element, w: Element) -> Element:
    """e^(w log z); 0^w is 0 for Re w > 0, and z^0 is 1."""
    logarithm = b.op("log", z)
    exponent = b.mul(w, logarithm)
    power = b.op("exp", exponent)
    zero = b.const(0.0, z.dtype)
    one = b.const(1.0, z.dtype)
    at_zero = b.eq(z, zero)
    vanishes = b.and_(at_zero, b.gt(w.re, 0.0))
    power = b.select(vanishes, zero, power)
    trivial = b.eq(w, zero)
    return b.select(trivial, one, power)


def _atan2(b: Any, z: Element, w: Element) -> Element:
    """-i log((w + iz) / sqrt(z^2 + w^2))."""
    square = b.mul(z, z)
    squares = b.add(square, b.mul(w, w))
    turned = _turn(b, z)
    point = b.add(w, turned)
    distance = b.sqrt(squares)
    direction = b.div(point, distance)
    logarithm = b.op("log", direction)
    return _turn_back(b, logarithm)


def _asin(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of 1 - z and 1 + z; at infinity, the angle and infinity."""
    x, y = z
    minus, plus = _roots(b, z)
    product = b.mul(minus, plus)
    cross = b.mul(b.conj(minus), plus)
    angle = b.op("atan2", x, product.re)
    near_re = _at_zero(b, x, angle)
    near_im = b.op("asinh", cross.im)
    near = b.pair(near_re, near_im)
    far_re = b.op("atan2", x, b.abs(y))
    far_im = _infinity_like(b, y)
    far = b.pair(far_re, far_im)
    infinite = _is_infinite(b, z)
    return b.select(infinite, far, near)


def _acos(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of 1 - z and 1 + z; at infinity, the angle and infinity."""
    x, y = z
    minus, plus = _roots(b, z)
    cross = b.mul(b.conj(plus), minus)
    half = b.op("atan2", minus.re, plus.re)
    angle = b.mul(half, 2.0)
    upright = b.eq(x, 0.0)
    right = b.const(math.pi / 2, x.dtype)
    near_re = b.select(upright, right, angle)
    near_im = b.op("asinh", cross.im)
    near = b.pair(near_re, near_im)
    far_re = b.op("atan2", b.abs(y), x)
    far_im = _infinity_like(b, b.neg(y))
    far = b.pair(far_re, far_im)
    infinite = _is_infinite(b, z)
    return b.select(infinite, far, near)


def _acosh(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of z - 1 and z + 1; at infinity, infinity and the angle."""
    x, y = z
    one = b.const(1.0, x.dtype)
    below = b.pair(b.sub(x, one), y)
    above = b.pair(b.add(x, one), y)
    minus = b.sqrt(below)
    plus = b.sqrt(above)
    cross = b.mul(b.conj(minus), plus)
    half = b.op("atan2", minus.im, plus.re)
    angle = b.mul(half, 2.0)
    upright = b.eq(x, 0.0)
    right = _right_angle_like(b, y)
    near_re = b.op("asinh", cross.re)
    near_im = b.select(upright, right, angle)
    near = b.pair(near_re, near_im)
    far_re = b.const(math.inf, x.dtype)
    far_im = b.op("atan2", y, x)
    far = b.pair(far_re, far_im)
    infinite = _is_infinite(b, z)
    return b.select(infinite, far, near)


def _asinh(b: Any, z: Element) -> Element:
    """-i asin(iz)."""
    turned = _turn(b, z)
    angle = _asin(b, turned)
    return _turn_back(b, angle)


def _atanh(b: Any, z: Element) -> Element:
    """log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2.

    Where squares would overflow it is 1 / conj z and a right angle.
    """
    x, y = z
    square = b.mul(y, y)
    gap = b.sub(1.0, x)
    distance = b.add(b.mul(gap, gap), square)
    stretched = b.mul(x, 4.0)
    ratio = b.div(stretched, distance)
    size = b.op("log1p", ratio)
    product = b.mul(gap, b.add(x, 1.0))
    below = b.sub(product, square)
    double = b.mul(y, 2.0)
    angle = b.op("atan2", double, below)
    quarter = b.mul(size, 0.25)
    near_re = _at_zero(b, x, quarter)
    near_im = b.mul(angle, 0.5)
    near = b.pair(near_re, near_im)
    far, is_far = _far_atanh(b, z)
    return b.select(is_far, far, near)


def _far_atanh(b: Any, z: Element) -> tuple[Element, Any]:
    """Return x / (x^2 + y^2) + i pi / 2, and whether that is atanh: far from 0."""
    x, y = z
    wide, high = b.abs(x), b.abs(y)
    large = b.max(wide, high)
    small = b.min(wide, high)
    ratio = b.div(small, large)
    square = b.mul(ratio, ratio)
    whole = b.add(square, 1.0)
    distance = b.mul(whole, large)
    direction = b.div(x, large)
    inverse = b.div(direction, distance)
    zero = b.const(0.0, x.dtype)
    nothing = b.copysign(zero, x)
    infinite = _is_infinite(b, z)
    re = b.select(infinite, nothing, inverse)
    right = _right_angle_like(b, y)
    im = b.select(b.ne(y, y), y, right)
    far = b.gt(large, 1e10)
    return b.pair(re, im), b.or_(far, infinite)


def _atan(b: Any, z: Element) -> Element:
    """-i atanh(iz)."""
    turned = _turn(b, z)
    tangent = _atanh(b, turned)
    return _turn_back(b, tangent)


def _max(b: Any, z: Element, w: Element) -> Element:
    """The larger by real, then by imaginary part; the first that holds a NaN."""
    larger = _comes_first(b, "gt", z, w)
    return b.select(larger, z, w)


def _min(b: Any, z: Element, w: Element) -> Element:
    """The smaller by real, then by imaginary part; the first that holds a NaN."""
    smaller = _comes_first(b, "lt", z, w)
    return b.select(smaller, z, w)


def _comes_first(b: Any, name: str, z: Element, w: Element) -> Any:
    """Tell whether z comes before w in the order `name`, or is NaN; not if only w is."""
    same = b.eq(z.re, w.re)
    second = b.op(name, z.im, w.im)
    tie = b.and_(same, second)
    first = b.op(name, z.re, w.re)
    ordered = b.or_(first, tie)
    counts = b.eq(w, w)
    wins = b.and_(counts, ordered)
    return b.or_(b.ne(z, z), wins)


def _roots(b: Any, z: Element) -> tuple[Element, Element]:
    """Return the square roots of 1 - z and 1 + z; zeros keep their signs."""
    x, y = z
    one = b.const(1.0, x.dtype)
    below = b.pair(b.sub(one, x), b.neg(y))
    above = b.pair(b.add(one, x), y)
    return b.sqrt(below), b.sqrt(above)


def _at_zero(b: Any, x: Any, other: Any) -> Any:
    """Return x where it is 0, whose sign it keeps, and another number elsewhere."""
    zero = b.eq(x, 0.0)
    return b.select(zero, x, other)


def _is_endless(b: Any, x: Any) -> Any:
    """Tell whether a real number is infinite."""
    size = b.abs(x)
    return b.eq(size, math.inf)


def _is_infinite(b: Any, z: Element) -> Any:
    """Tell whether a part is infinite, whatever the other one is."""
    first = _is_endless(b, z.re)
    second = _is_endless(b, z.im)
    return b.or_(first, second)


def _infinity_like(b: Any, x: Any) -> Any:
    """Return the infinity with the sign of a real number."""
    infinity = b.const(math.inf, x.dtype)
    return b.copysign(infinity, x)


def _right_angle_like(b: Any, x: Any) -> Any:
    """Return pi / 2 with the sign of a real number."""
    angle = b.const(math.pi / 2, x.dtype)
    return b.copysign(angle, x)


def _zero_if_nan(b: Any, x: Any) -> Any:
    """Return a real number, and 0 in the place of NaN."""
    zero = b.const(0.0, x.dtype)
    missing = b.ne(x, x)
    return b.select(missing, zero, x)


def _turn(b: Any, z: Element) -> Element:
    """iz."""
    x, y = z
    return b.pair(b.neg(y), x)


def _turn_back(b: Any, z: Element) -> Element:
    """-iz."""
    x, y = z
    return b.pair(y, b.neg(x))


RECIPES: Mapping[str, Callable] = {
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "expm1": _expm1,
    "exp2": _exp2,
    "log1p": _log1p,
    "log2": _log2,
    "logistic": _logistic,
    "rsqrt": _rsqrt,
    "pow": _pow,
    "atan2": _atan2,
    "max": _max,
    "min": _min,
}
