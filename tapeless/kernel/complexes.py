"""Elementary functions of complex numbers, by real functions of the parts.

Each function takes the node constructors `b` and complex elements z = x + iy (with fields `re` and
`im`) and gives a complex element.  Inverse functions use Kahan's formulas ("Branch cuts for complex
elementary functions", 1987): they are accurate near the branch points and keep the cuts in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["RECIPES"]

LOG_2 = math.log(2)
Element = Any


def _sin(b: Any, z: Element) -> Element:
    """sin x cosh y + i cos x sinh y."""
    x, y = z
    re = b.mul(b.op("sin", x), b.op("cosh", y))
    im = b.mul(b.op("cos", x), b.op("sinh", y))
    return b.pair(re, im)


def _cos(b: Any, z: Element) -> Element:
    """cos x cosh y - i sin x sinh y."""
    x, y = z
    re = b.mul(b.op("cos", x), b.op("cosh", y))
    im = b.mul(b.op("sin", x), b.op("sinh", y))
    return b.pair(re, b.neg(im))


def _sinh(b: Any, z: Element) -> Element:
    """-i sin(iz)."""
    return _turn_back(b, _sin(b, _turn(b, z)))


def _cosh(b: Any, z: Element) -> Element:
    """cos(iz)."""
    return _cos(b, _turn(b, z))


def _tanh(b: Any, z: Element) -> Element:
    """(sinh x cosh x + i sin y cos y) / (cos^2 y + sinh^2 x).

    For large |x| it is +-1 + 4i sin y cos y exp(-2 |x|).
    """
    x, y = z
    cosine = b.op("cos", y)
    product = b.mul(b.op("sin", y), cosine)
    sinh = b.op("sinh", x)
    denominator = b.add(b.mul(cosine, cosine), b.mul(sinh, sinh))
    re = b.div(b.mul(sinh, b.op("cosh", x)), denominator)
    im = b.div(product, denominator)
    size = b.abs(x)
    decay = b.op("exp", b.mul(size, -2.0))
    far_re = b.copysign(b.const(1.0, x.dtype), x)
    far_im = b.mul(b.mul(product, 4.0), decay)
    far = b.gt(size, 20.0)
    return b.select(far, b.pair(far_re, far_im), b.pair(re, im))


def _tan(b: Any, z: Element) -> Element:
    """-i tanh(iz)."""
    return _turn_back(b, _tanh(b, _turn(b, z)))


def _expm1(b: Any, z: Element) -> Element:
    """expm1 x cos y - 2 sin^2(y / 2) + i e^x sin y."""
    x, y = z
    half = b.op("sin", b.mul(y, 0.5))
    drop = b.mul(b.mul(half, half), 2.0)
    rise = b.mul(b.op("expm1", x), b.op("cos", y))
    im = b.mul(b.op("exp", x), b.op("sin", y))
    return b.pair(b.sub(rise, drop), im)


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
    excess = b.add(b.mul(x, b.add(x, 2.0)), b.mul(y, y))
    excess = b.select(near, excess, b.const(0.0, x.dtype))
    near_re = b.mul(b.op("log1p", excess), 0.5)
    far_re = b.op("log", b.abs(b.pair(shifted, y)))
    re = b.select(near, near_re, far_re)
    return b.pair(re, b.op("atan2", y, shifted))


def _log2(b: Any, z: Element) -> Element:
    """log z / log 2."""
    re, im = b.op("log", z)
    return b.pair(b.div(re, LOG_2), b.div(im, LOG_2))


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
    exponent = b.mul(w, b.op("log", z))
    power = b.op("exp", exponent)
    zero = b.const(0.0, z.dtype)
    one = b.const(1.0, z.dtype)
    vanishes = b.and_(b.eq(z, zero), b.gt(w.re, 0.0))
    power = b.select(vanishes, zero, power)
    return b.select(b.eq(w, zero), one, power)


def _atan2(b: Any, z: Element, w: Element) -> Element:
    """-i log((w + iz) / sqrt(z^2 + w^2))."""
    squares = b.add(b.mul(z, z), b.mul(w, w))
    point = b.add(w, _turn(b, z))
    direction = b.div(point, b.sqrt(squares))
    return _turn_back(b, b.op("log", direction))


def _asin(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of 1 - z and 1 + z."""
    minus, plus = _roots(b, z)
    product = b.mul(minus, plus)
    cross = b.mul(b.conj(minus), plus)
    re = b.op("atan2", z.re, product.re)
    im = b.op("asinh", cross.im)
    return b.pair(re, im)


def _acos(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of 1 - z and 1 + z."""
    minus, plus = _roots(b, z)
    cross = b.mul(b.conj(plus), minus)
    half = b.op("atan2", minus.re, plus.re)
    im = b.op("asinh", cross.im)
    return b.pair(b.mul(half, 2.0), im)


def _acosh(b: Any, z: Element) -> Element:
    """Kahan's formula with the roots of z - 1 and z + 1."""
    one = b.const(1.0, z.dtype)
    minus = b.sqrt(b.sub(z, one))
    plus = b.sqrt(b.add(z, one))
    cross = b.mul(b.conj(minus), plus)
    half = b.op("atan2", minus.im, plus.re)
    re = b.op("asinh", cross.re)
    return b.pair(re, b.mul(half, 2.0))


def _asinh(b: Any, z: Element) -> Element:
    """-i asin(iz)."""
    return _turn_back(b, _asin(b, _turn(b, z)))


def _atanh(b: Any, z: Element) -> Element:
    """log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2."""
    x, y = z
    square = b.mul(y, y)
    gap = b.sub(1.0, x)
    distance = b.add(b.mul(gap, gap), square)
    ratio = b.div(b.mul(x, 4.0), distance)
    below = b.sub(b.mul(gap, b.add(x, 1.0)), square)
    angle = b.op("atan2", b.mul(y, 2.0), below)
    size = b.op("log1p", ratio)
    return b.pair(b.mul(size, 0.25), b.mul(angle, 0.5))


def _atan(b: Any, z: Element) -> Element:
    """-i atanh(iz)."""
    return _turn_back(b, _atanh(b, _turn(b, z)))


def _max(b: Any, z: Element, w: Element) -> Element:
    """The larger by real, then by imaginary part; the first that holds a NaN."""
    return b.select(_comes_first(b, "gt", z, w), z, w)


def _min(b: Any, z: Element, w: Element) -> Element:
    """The smaller by real, then by imaginary part; the first that holds a NaN."""
    return b.select(_comes_first(b, "lt", z, w), z, w)


def _comes_first(b: Any, name: str, z: Element, w: Element) -> Any:
    """Tell whether z comes before w in the order `name`, or is NaN; not if only w is."""
    same = b.eq(z.re, w.re)
    tie = b.and_(same, b.op(name, z.im, w.im))
    ordered = b.or_(b.op(name, z.re, w.re), tie)
    counts = b.eq(w, w)
    return b.or_(b.ne(z, z), b.and_(counts, ordered))


def _roots(b: Any, z: Element) -> tuple[Element, Element]:
    """Return the square roots of 1 - z and 1 + z."""
    one = b.const(1.0, z.dtype)
    minus, plus = b.sub(one, z), b.add(one, z)
    return b.sqrt(minus), b.sqrt(plus)


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
