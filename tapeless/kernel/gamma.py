"""Recipes of the logarithm of the gamma function and of its derivative, digamma.

For x > -1/2: below 4 (float32) or 6, x is moved by an integer to 2 + t with |t| <= 1/2, where a
polynomial in t holds; the factors passed on the way enter as the logarithm of their product
(lgamma) or as the sum of their reciprocals, one quotient (digamma).  From there on, Stirling's
series.  For x < -1/2: reflection.

The polynomial of lgamma has the factors t and t + 1, and that of digamma the factor x - root, so
that the values near the positive zeros are good to the last place of 1.  Near the zeros at negative
x the terms of the reflection cancel, and the error is measured against max(1, |x|).
"""

from __future__ import annotations

import math

from tapeless.kernel.explog import log, log_pair
from tapeless.kernel.floats import (
    FLOAT32,
    FLOAT64,
    choose,
    fast_two_sum,
    format_of,
    polynomial,
    two_product,
    two_sum,
)
from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes
from tapeless.kernel.trig import cot_pi, sin_pi

__all__ = ["digamma", "lgamma"]

# log gamma(2 + t) / (t (t + 1)), |t| <= 1/2
_LOG_GAMMA = {
    FLOAT32.dtype: (
        0.42278432846069336,
        -0.10031729936599731,
        0.032964982092380524,
        -0.012384164147078991,
        0.004999182187020779,
        -0.0021086642518639565,
        0.0009094326524063945,
        -0.0004014518635813147,
        0.0002088161272695288,
        -9.791846969164908e-05,
    ),
    FLOAT64.dtype: (
        0.42278433509846713,
        -0.10031730167435393,
        0.032965000621155906,
        -0.012384192193367298,
        0.004998641164687918,
        -0.0021081308342336736,
        0.0009153769226910483,
        -0.0004057073887021212,
        0.00018255262858037086,
        -8.309527717754192e-05,
        3.8169033814454465e-05,
        -1.766016254582861e-05,
        8.220976617141633e-06,
        -3.856456906924523e-06,
        1.8143974246495819e-06,
        -8.205536425376704e-07,
        3.8412948504326673e-07,
        -2.5288977900525317e-07,
        1.241250790753448e-07,
    ),
}
# digamma(2 + t) / (2 + t - root), |t| <= 1/2
_DIGAMMA = {
    FLOAT32.dtype: (
        0.7853075265884399,
        -0.26073896884918213,
        0.10899992287158966,
        -0.049550861120224,
        0.023447060957551003,
        -0.011342220939695835,
        0.005555958021432161,
        -0.0027057102415710688,
        0.0013329825596883893,
        -0.000805283838417381,
        0.0004144751583226025,
    ),
    FLOAT64.dtype: (
        0.7853075386041053,
        -0.2607389546830014,
        0.10899991701762837,
        -0.04955103291767532,
        0.023447309597569126,
        -0.011338432553139098,
        0.005552254175804432,
        -0.0027395728900170497,
        0.0013581421251764867,
        -0.0006753132368030489,
        0.0003364329249863634,
        -0.0001678167725950951,
        8.377690438200756e-05,
        -4.1834121900625586e-05,
        2.0899646281455823e-05,
        -1.0500449688768149e-05,
        5.258719339958772e-06,
        -2.4533392261438665e-06,
        1.2075882042180583e-06,
        -9.1474748341295e-07,
        4.7241617552499334e-07,
    ),
}
# a (log gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2) in 1 / a**2
_STIRLING = {
    FLOAT32.dtype: (
        0.083333320915699,
        -0.002776016714051366,
        0.0007350937812589109,
    ),
    FLOAT64.dtype: (
        0.08333333333333315,
        -0.00277777777752035,
        0.0007936506914339752,
        -0.0005952201038786495,
        0.000840107826452467,
        -0.0018353258140172588,
        0.004191520956828873,
    ),
}
# a**2 (log a - 1 / (2 a) - digamma(a)) in 1 / a**2
_DIGAMMA_TAIL = {
    FLOAT32.dtype: (
        0.0833333283662796,
        -0.008332471363246441,
        0.003924657590687275,
        -0.003261842532083392,
    ),
    FLOAT64.dtype: (
        0.08333333333333298,
        -0.008333333332919036,
        0.003968253798972392,
        -0.0041666330341443,
        0.007572024760315755,
        -0.02084693883249392,
        0.0735791125596215,
        -0.2147896135137207,
    ),
}
_HALF_LOG_TWO_PI = "0.91893853320467274178032973640561763986139747363778341281715"
_PI = "3.14159265358979323846264338327950288419716939937510582097494459"
_LOG_PI = "1.1447298858494001741434273513530587116472948129153"
# 2 - the positive zero of digamma
_ROOT_GAP = "0.53836785503163765873734045767427867153180379599355"
# lgamma is infinite above
_LGAMMA_MAX = {FLOAT32.dtype: 4.0850034e36, FLOAT64.dtype: 2.5563481638716906e305}
# Stirling's series is used from here on
_FAR = {FLOAT32.dtype: 4, FLOAT64.dtype: 6}


def lgamma(b: Nodes, x: Scalar) -> Scalar:
    """log |gamma(x)|."""
    size = b.abs(x)
    reflect = b.lt(x, -0.5)
    value = _lgamma_right(b, b.select(reflect, size, x))
    # gamma(-a) = -pi / (a sin(pi a) gamma(a))
    sine = b.abs(sin_pi(b, _modulo_two(b, size)))
    high, low = log_pair(b, b.mul(size, sine))
    log_pi, log_pi_low = format_of(x).parts(_LOG_PI, 2)
    head, error = two_sum(b, b.neg(high), b.const(log_pi, x.dtype))
    error = b.add(error, b.sub(log_pi_low, low))
    reflected = b.add(b.sub(head, value), error)
    whole = b.eq(b.floor(x), x)
    infinite = b.or_(b.and_(b.le(x, 0.0), whole), b.eq(size, math.inf))
    return b.select(infinite, math.inf, b.select(reflect, reflected, value))


def digamma(b: Nodes, x: Scalar) -> Scalar:
    """The derivative of log gamma."""
    size = b.abs(x)
    reflect = b.lt(x, -0.25)
    value = _digamma_right(b, b.select(reflect, b.add(size, 1.0), x))
    pi, pi_low = format_of(x).parts(_PI, 2)
    # digamma(-a) = digamma(1 + a) + pi / tan(pi a)
    cotangent = cot_pi(b, _modulo_two(b, size))
    reflected = b.fma(cotangent, pi, b.fma(cotangent, pi_low, value))
    result = b.select(reflect, reflected, value)
    result = b.select(b.and_(reflect, b.eq(b.floor(x), x)), math.nan, result)
    pole = b.copysign(b.const(-math.inf, x.dtype), b.neg(x))
    return b.select(b.eq(x, 0.0), pole, result)


def _modulo_two(b: Nodes, x: Scalar) -> Scalar:
    """x modulo 2 for x >= 0, exactly."""
    return b.fma(b.floor(b.mul(x, 0.5)), -2.0, x)


def _shift(b: Nodes, x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """For small x > -1/2 return t in [-1/2, 1/2] with x = n + t, n >= 0, and n, and two flags.

    The flags are x < 1/2 (n = 0) and x < 3/2 (n = 0 or 1).
    """
    least, less = b.lt(x, 0.5), b.lt(x, 1.5)
    magic = format_of(x).magic
    above = b.sub(b.add(x, magic), magic)
    n = b.select(less, choose(b, least, 0.0, 1.0, x), above)
    return b.sub(x, n), n, least, less


def _lgamma_right(b: Nodes, x: Scalar) -> Scalar:
    """log |gamma(x)| for x > -1/2."""
    form = format_of(x)
    t, n, least, less = _shift(b, x)
    near = b.mul(b.mul(t, b.add(t, 1.0)), polynomial(b, t, _LOG_GAMMA[x.dtype]))
    product: Scalar = b.const(1.0, x.dtype)
    for step in range(1, _FAR[x.dtype] - 1):
        factor = b.select(b.ge(n, step + 2.0), b.sub(x, float(step)), 1.0)
        product = factor if step == 1 else b.mul(product, factor)
    passed = b.select(less, b.select(least, b.abs(b.fma(x, x, x)), x), product)
    far = b.ge(x, float(_FAR[x.dtype]))
    logarithm, logarithm_low = log_pair(b, b.select(far, x, passed))
    moved = b.add(near, b.select(less, b.neg(logarithm), logarithm))
    # (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + series / x
    less_one, rest = fast_two_sum(b, logarithm, b.const(-1.0, x.dtype))
    rest = b.add(rest, logarithm_low)
    main, main_low = two_product(b, b.sub(x, 0.5), less_one)
    main_low = b.fma(b.sub(x, 0.5), rest, main_low)
    inverse = b.div(1.0, x)
    series = b.mul(inverse, polynomial(b, b.mul(inverse, inverse), _STIRLING[x.dtype]))
    (constant,) = form.parts(_HALF_LOG_TWO_PI, 1)
    total = b.add(main, b.add(main_low, b.add(series, constant - 0.5)))
    total = b.select(b.gt(x, _LGAMMA_MAX[x.dtype]), math.inf, total)
    return b.select(far, total, moved)


def _digamma_right(b: Nodes, x: Scalar) -> Scalar:
    """digamma(x) for x > -1/2."""
    form = format_of(x)
    t, n, least, less = _shift(b, x)
    gap, gap_low = form.parts(_ROOT_GAP, 2)
    distance = b.add(b.add(t, gap), gap_low)
    near = b.mul(distance, polynomial(b, t, _DIGAMMA[x.dtype]))
    numerator: Scalar = b.const(0.0, x.dtype)
    product: Scalar = b.const(1.0, x.dtype)
    for step in range(1, _FAR[x.dtype] - 1):
        wanted = b.ge(n, step + 2.0)
        factor = b.sub(x, float(step))
        numerator = b.select(wanted, b.fma(numerator, factor, product), numerator)
        product = b.select(wanted, b.mul(product, factor), product)
    near = b.select(least, b.sub(near, b.div(1.0, b.add(x, 1.0))), near)
    numerator = b.select(less, -1.0, numerator)
    product = b.select(less, x, product)
    far = b.ge(x, float(_FAR[x.dtype]))
    quotient = b.div(b.select(far, -0.5, numerator), b.select(far, x, product))
    square = b.mul(b.mul(quotient, quotient), 4.0)
    series = b.mul(square, polynomial(b, square, _DIGAMMA_TAIL[x.dtype]))
    asymptotic = b.add(log(b, x), b.sub(quotient, series))
    return b.select(far, asymptotic, b.add(near, quotient))
