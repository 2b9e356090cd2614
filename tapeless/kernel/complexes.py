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
    rise = b.mul(b.op("sinh", x), cosine)
    turn = b.mul(b.op("cosh", x), sine)
    endless = b.eq(b.add(x, x), x)  # 0 and infinities
    re = b.select(_both(b, _is_nan(b, cosine), endless), x, rise)
    im = b.select(b.eq(y, 0.0), y, turn)
    return b.pair(re, im)


def _cosh(b: Any, z: Element) -> Element:
    """cosh x cos y + i sinh x sin y."""
    x, y = z
    sine, cosine = b.op("sin", y), b.op("cos", y)
    size = b.op("cosh", x)
    unbounded = _both(b, _is_nan(b, cosine), b.eq(b.abs(x), math.inf))
    re = b.select(unbounded, size, b.mul(size, cosine))
    one = b.const(1.0, x.dtype)
    im = b.mul(b.op("sinh", x), sine)
    im = b.select(b.eq(y, 0.0), b.mul(b.copysign(one, x), y), im)
    return b.pair(re, b.select(b.eq(x, 0.0), _zero_if_nan(b, im), im))


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
    near_re = b.div(b.mul(sinh, cosh), denominator)
    near_re = b.select(b.eq(x, 0.0), x, near_re)
    near_im = b.div(product, denominator)
    near_im = b.select(b.eq(y, 0.0), y, near_im)
    size = b.abs(x)
    decay = b.op("exp", b.mul(size, -2.0))
    far_im = b.mul(b.mul(product, 4.0), decay)
    far_re = b.copysign(b.const(1.0, x.dtype), x)
    # At infinity the angle does not matter; before, none makes a NaN of both parts.
    infinite = b.eq(size, math.inf)
    lost = _both(b, b.not_(infinite), _is_nan(b, product))
    far_re = b.select(lost, product, far_re)
    far_im = b.select(infinite, _zero_if_nan(b, far_im), far_im)
    near, far = b.pair(near_re, near_im), b.pair(far_re, far_im)
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
    aimless = _is_nan(b, cosine)
    unbounded = _both(b, aimless, b.eq(b.abs(x), math.inf))
    re = b.select(unbounded, growth, b.sub(rise, drop))
    turned = b.select(_both(b, aimless, b.eq(x, -math.inf)), size, turned)
    return b.pair(re, b.select(b.eq(y, 0.0), y, turned))


def _exp2(b: Any, z: Element) -> Element:
    """2^x (cos(y log 2) + i sin(y log 2))."""
    x, y = z
    size = b.op("exp2", x)
    angle = b.mul(y, LOG_2)
    re = b.mul(size, b.op("cos", angle))
    im = b.mul(size, b.op("sin", angle))
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
    angle = b.select(b.eq(x, 0.0), x, angle)
    size = b.op("asinh", cross.im)
    infinite = _is_infinite(b, z)
    re = b.select(infinite, b.op("atan2", x, b.abs(y)), angle)
    im = b.select(infinite, _infinity_like(b, y), size)
    return b.pair(re, im)


def _acos(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of 1 - z and 1 + z; at infinity, the angle and infinity."""
    x, y = z
    minus, plus = _roots(b, z)
    cross = b.mul(b.conj(plus), minus)
    half = b.op("atan2", minus.re, plus.re)
    right = b.const(math.pi / 2, x.dtype)
    angle = b.select(b.eq(x, 0.0), right, b.mul(half, 2.0))
    size = b.op("asinh", cross.im)
    infinite = _is_infinite(b, z)
    re = b.select(infinite, b.op("atan2", b.abs(y), x), angle)
    im = b.select(infinite, _infinity_like(b, b.neg(y)), size)
    return b.pair(re, im)


def _acosh(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of z - 1 and z + 1; at infinity, infinity and the angle."""
    x, y = z
    one = b.const(1.0, x.dtype)
    below, above = b.pair(b.sub(x, one), y), b.pair(b.add(x, one), y)
    minus = b.sqrt(below)
    plus = b.sqrt(above)
    cross = b.mul(b.conj(minus), plus)
    half = b.op("atan2", minus.im, plus.re)
    right = b.copysign(b.const(math.pi / 2, x.dtype), y)
    angle = b.select(b.eq(x, 0.0), right, b.mul(half, 2.0))
    infinite = _is_infinite(b, z)
    endless = b.const(math.inf, x.dtype)
    re = b.select(infinite, endless, b.op("asinh", cross.re))
    im = b.select(infinite, b.op("atan2", y, x), angle)
    return b.pair(re, im)


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
    near_re = b.select(b.eq(x, 0.0), x, b.mul(size, 0.25))
    near = b.pair(near_re, b.mul(angle, 0.5))
    far_re, far = _far_atanh(b, z)
    right = b.copysign(b.const(math.pi / 2, x.dtype), y)
    far_im = b.select(_is_nan(b, y), y, right)
    return b.select(far, b.pair(far_re, far_im), near)


def _far_atanh(b: Any, z: Element) -> tuple[Any, Any]:
    """Return x / (x^2 + y^2), and where it is the real part of atanh: far from 0."""
    x, y = z
    infinite = _is_infinite(b, z)
    large = b.max(b.abs(x), b.abs(y))
    small = b.min(b.abs(x), b.abs(y))
    ratio = b.div(small, large)
    whole = b.add(b.mul(ratio, ratio), 1.0)
    inverse = b.div(b.div(x, large), b.mul(whole, large))
    nothing = b.copysign(b.const(0.0, x.dtype), x)
    far = b.gt(large, 1e10)
    return b.select(infinite, nothing, inverse), b.or_(far, infinite)


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
    minus = b.sqrt(b.pair(b.sub(one, x), b.neg(y)))
    plus = b.sqrt(b.pair(b.add(one, x), y))
    return minus, plus


def _is_nan(b: Any, x: Any) -> Any:
    """Tell whether a real number is NaN."""
    return b.ne(x, x)


def _both(b: Any, first: Any, second: Any) -> Any:
    """Tell whether two conditions hold."""
    return b.and_(first, second)


def _is_infinite(b: Any, z: Element) -> Any:
    """Tell whether a part is infinite, whatever the other one is."""
    first = b.eq(b.abs(z.re), math.inf)
    return b.or_(first, b.eq(b.abs(z.im), math.inf))


def _infinity_like(b: Any, x: Any) -> Any:
    """Return the infinity with the sign of a real number."""
    return b.copysign(b.const(math.inf, x.dtype), x)


def _zero_if_nan(b: Any, x: Any) -> Any:
    """Return a real number, and 0 in the place of NaN."""
    return b.select(_is_nan(b, x), b.const(0.0, x.dtype), x)


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
