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


def _sin(b: Any, z: Any) -> Any:
    """sin x cosh y + i cos x sinh y."""
    re = b.mul(b.op("sin", z.re), b.op("cosh", z.im))
    return b.pair(re, b.mul(b.op("cos", z.re), b.op("sinh", z.im)))


def _cos(b: Any, z: Any) -> Any:
    """cos x cosh y - i sin x sinh y."""
    re = b.mul(b.op("cos", z.re), b.op("cosh", z.im))
    return b.pair(re, b.neg(b.mul(b.op("sin", z.re), b.op("sinh", z.im))))


def _sinh(b: Any, z: Any) -> Any:
    """sinh x cos y + i cosh x sin y."""
    re = b.mul(b.op("sinh", z.re), b.op("cos", z.im))
    return b.pair(re, b.mul(b.op("cosh", z.re), b.op("sin", z.im)))


def _cosh(b: Any, z: Any) -> Any:
    """cosh x cos y + i sinh x sin y."""
    re = b.mul(b.op("cosh", z.re), b.op("cos", z.im))
    return b.pair(re, b.mul(b.op("sinh", z.re), b.op("sin", z.im)))


def _tanh(b: Any, z: Any) -> Any:
    """(sinh x cosh x + i sin y cos y) / (cos^2 y + sinh^2 x).

    For large |x| it is +-1 + 4i sin y cos y exp(-2 |x|).
    """
    sine, cosine = b.op("sin", z.im), b.op("cos", z.im)
    sinh, cosh = b.op("sinh", z.re), b.op("cosh", z.re)
    denominator = b.add(b.mul(cosine, cosine), b.mul(sinh, sinh))
    size = b.abs(z.re)
    large = b.gt(size, 20.0)
    product = b.mul(sine, cosine)
    small_im = b.mul(b.mul(product, 4.0), b.op("exp", b.mul(size, -2.0)))
    one = b.copysign(b.const(1.0, z.re.dtype), z.re)
    re = b.select(large, one, b.div(b.mul(sinh, cosh), denominator))
    return b.pair(re, b.select(large, small_im, b.div(product, denominator)))


def _tan(b: Any, z: Any) -> Any:
    """-i tanh(iz)."""
    return _turn_back(b, _tanh(b, _turn(b, z)))


def _expm1(b: Any, z: Any) -> Any:
    """expm1 x cos y - 2 sin^2(y / 2) + i e^x sin y."""
    half = b.op("sin", b.mul(z.im, 0.5))
    drop = b.mul(b.mul(half, half), 2.0)
    re = b.sub(b.mul(b.op("expm1", z.re), b.op("cos", z.im)), drop)
    return b.pair(re, b.mul(b.op("exp", z.re), b.op("sin", z.im)))


def _exp2(b: Any, z: Any) -> Any:
    """2^x (cos(y log 2) + i sin(y log 2))."""
    size, angle = b.op("exp2", z.re), b.mul(z.im, math.log(2))
    return b.pair(b.mul(size, b.op("cos", angle)), b.mul(size, b.op("sin", angle)))


def _log1p(b: Any, z: Any) -> Any:
    """log |1 + z| + i arg(1 + z); near 0 the size is log1p(x (2 + x) + y^2) / 2."""
    shifted = b.pair(b.add(z.re, 1.0), z.im)
    near = b.lt(b.max(b.abs(z.re), b.abs(z.im)), 0.5)
    excess = b.add(b.mul(z.re, b.add(z.re, 2.0)), b.mul(z.im, z.im))
    excess = b.select(near, excess, b.const(0.0, z.re.dtype))
    far = b.op("log", b.abs(shifted))
    re = b.select(near, b.mul(b.op("log1p", excess), 0.5), far)
    return b.pair(re, b.op("atan2", z.im, shifted.re))


def _log2(b: Any, z: Any) -> Any:
    """log z / log 2."""
    log = b.op("log", z)
    scale = 1 / math.log(2)
    return b.pair(b.mul(log.re, scale), b.mul(log.im, scale))


def _logistic(b: Any, z: Any) -> Any:
    """1 / (1 + e^-z) to the right of 0, e^z / (1 + e^z) to the left."""
    right = b.ge(z.re, 0.0)
    power = b.op("exp", b.select(right, b.neg(z), z))
    one = b.const(1.0, z.dtype)
    return b.div(b.select(right, one, power), b.add(power, one))


def _rsqrt(b: Any, z: Any) -> Any:
    """1 / sqrt z."""
    return b.div(b.const(1.0, z.dtype), b.sqrt(z))


def _pow(b: Any, z: Any, w: Any) -> Any:
    """e^(w log z); 0^w is 0 for Re w > 0, and z^0 is 1."""
    power = b.op("exp", b.mul(w, b.op("log", z)))
    zero, one = b.const(0.0, z.dtype), b.const(1.0, z.dtype)
    vanishes = b.and_(b.eq(z, zero), b.gt(w.re, 0.0))
    return b.select(b.eq(w, zero), one, b.select(vanishes, zero, power))


def _atan2(b: Any, z: Any, w: Any) -> Any:
    """-i log((w + iz) / sqrt(z^2 + w^2))."""
    direction = b.div(b.add(w, _turn(b, z)), b.sqrt(b.add(b.mul(z, z), b.mul(w, w))))
    return _turn_back(b, b.op("log", direction))


def _asin(b: Any, z: Any) -> Any:
    """Kahan's formula with the roots of 1 - z and 1 + z."""
    minus, plus = _roots(b, z)
    re = b.op("atan2", z.re, b.mul(minus, plus).re)
    return b.pair(re, b.op("asinh", b.mul(b.conj(minus), plus).im))


def _acos(b: Any, z: Any) -> Any:
    """Kahan's formula with the roots of 1 - z and 1 + z."""
    minus, plus = _roots(b, z)
    re = b.mul(b.op("atan2", minus.re, plus.re), 2.0)
    return b.pair(re, b.op("asinh", b.mul(b.conj(plus), minus).im))


def _acosh(b: Any, z: Any) -> Any:
    """Kahan's formula with the roots of z - 1 and z + 1."""
    one = b.const(1.0, z.dtype)
    minus, plus = b.sqrt(b.sub(z, one)), b.sqrt(b.add(z, one))
    re = b.op("asinh", b.mul(b.conj(minus), plus).re)
    return b.pair(re, b.mul(b.op("atan2", minus.im, plus.re), 2.0))


def _asinh(b: Any, z: Any) -> Any:
    """-i asin(iz)."""
    return _turn_back(b, _asin(b, _turn(b, z)))


def _atanh(b: Any, z: Any) -> Any:
    """log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2."""
    square, gap = b.mul(z.im, z.im), b.sub(1.0, z.re)
    ratio = b.div(b.mul(z.re, 4.0), b.add(b.mul(gap, gap), square))
    below = b.sub(b.mul(gap, b.add(z.re, 1.0)), square)
    angle = b.op("atan2", b.mul(z.im, 2.0), below)
    return b.pair(b.mul(b.op("log1p", ratio), 0.25), b.mul(angle, 0.5))


def _atan(b: Any, z: Any) -> Any:
    """-i atanh(iz)."""
    return _turn_back(b, _atanh(b, _turn(b, z)))


def _max(b: Any, z: Any, w: Any) -> Any:
    """The larger by real, then by imaginary part; the first that holds a NaN."""
    return b.select(_above(b, z, w, "gt"), z, w)


def _min(b: Any, z: Any, w: Any) -> Any:
    """The smaller by real, then by imaginary part; the first that holds a NaN."""
    return b.select(_above(b, z, w, "lt"), z, w)


def _above(b: Any, z: Any, w: Any, name: str) -> Any:
    """Tell whether z comes before w in the order `name`, or is NaN when w need not win."""
    tie = b.and_(b.eq(z.re, w.re), b.op(name, z.im, w.im))
    ordered = b.or_(b.op(name, z.re, w.re), tie)
    is_nan = b.or_(b.ne(z.re, z.re), b.ne(z.im, z.im))
    other_nan = b.or_(b.ne(w.re, w.re), b.ne(w.im, w.im))
    return b.or_(is_nan, b.and_(b.not_(other_nan), ordered))


def _roots(b: Any, z: Any) -> tuple[Any, Any]:
    """Return the square roots of 1 - z and 1 + z."""
    one = b.const(1.0, z.dtype)
    return b.sqrt(b.sub(one, z)), b.sqrt(b.add(one, z))


def _turn(b: Any, z: Any) -> Any:
    """iz."""
    return b.pair(b.neg(z.im), z.re)


def _turn_back(b: Any, z: Any) -> Any:
    """-iz."""
    return b.pair(z.im, b.neg(z.re))


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
