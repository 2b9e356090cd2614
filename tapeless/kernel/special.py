"""Recipes of the error functions, their inverse, the cube root and the neighbouring float.

erf is x (1 + p(x**2)) for small arguments.  Beyond it is 1 - exp(q(x)) in float64, where q is
log erfc; and 1 - q(x)**8 in float32, where each lane chooses the terms of p or of q for the steps
of one polynomial.  erfc is 1 - erf for small arguments; from 1/2 on it is
e**(-x**2) p(t) / (x + 2), with the rounding errors of x**2, p and the quotient carried along.

erf_inv uses the published single and double precision approximations of Giles (GPU Computing Gems,
2011), because JAX does; it is not a minimax fit, and its error is stated in docs/numerics.md.  The
logarithm in it is that of Moshier (Cephes, `log1p` and `logf`), operation by operation as JAX runs
it on a CPU: normal numbers are made of erf_inv, and so are equal to JAX's bit for bit.
"""

from __future__ import annotations

import math

import numpy as np

from tapeless.kernel.explog import exp2_of_normal, exp_nonpositive_times, log_pair
from tapeless.kernel.floats import (
    FLOAT32,
    FLOAT64,
    choose,
    clamp,
    exponent_and_mantissa,
    format_of,
    polynomial,
    polynomial_by_pairs,
    power_of_two,
    two_product,
)
from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes
from tapeless.util.elements import itemsize_bits

__all__ = ["cbrt", "erf", "erf_inv", "erfc", "nextafter"]

# erf(x) / x - 1 in x**2, |x| <= 1
_ERF = {
    FLOAT32.dtype: (
        0.12837916612625122,
        -0.3761262595653534,
        0.11283600330352783,
        -0.026854446157813072,
        0.0051895384676754475,
        -0.0008020867826417089,
        7.889204425737262e-05,
    ),
    FLOAT64.dtype: (
        0.12837916709551256,
        -0.3761263890318355,
        0.11283791670945251,
        -0.026866170643275768,
        0.005223977607419502,
        -0.0008548325989502504,
        0.00012055295314712889,
        -1.4924744554523399e-05,
        1.6447516374774531e-06,
        -1.6209166279737867e-07,
        1.3722936185222616e-08,
        -7.801117025837668e-10,
    ),
}
# erf(x) / x - 1 in x**2, 0 <= x <= 1.2, and erfc(x)**(1/8) in x, 1.2 <= x <= 3.93
_ERF_SIDES = (
    (
        0.12837916612625122,
        -0.37612634897232056,
        0.11283717304468155,
        -0.026862064376473427,
        0.005212732590734959,
        -0.0008378435159102082,
        0.00010594745981507003,
        -7.9795618148637e-06,
    ),
    (
        1.0013587474822998,
        -0.14695310592651367,
        -0.058627258986234665,
        -0.013541690073907375,
        0.013852697797119617,
        -0.0026768953539431095,
        0.00016875220171641558,
        0.0,
    ),
)
# log erfc(x) on 1 <= x <= 5.95
_LOG_ERFC = (
    -1.0635664009277827e-06,
    -1.1283687124340531,
    -0.6366675778003776,
    -0.10263765221820784,
    0.01886538806729289,
    0.0005840610959008323,
    -0.0020987760666064705,
    0.000919948719593468,
    -0.00023065478867792796,
    2.8002959354309366e-05,
    3.6087422513838346e-06,
    -2.672322990514426e-06,
    6.876126104989362e-07,
    -1.0820020969322532e-07,
    1.0901258400591344e-08,
    -6.516868559504702e-10,
    1.7700624822833852e-11,
)
_LOG2_ERFC = tuple(coefficient / math.log(2) for coefficient in _LOG_ERFC)
# (x + 2) e**(x**2) erfc(x) in t = 5.5 / (x + 2) - 1.2, x >= 1/2
_ERFCX = {
    FLOAT32.dtype: (
        0.938572347164154,
        0.4494265913963318,
        0.1394311934709549,
        0.017780933529138565,
        -0.004673673305660486,
        -0.0017217352287843823,
        0.0003007232444360852,
        0.00014809562708251178,
        -3.197551632183604e-05,
        -6.633055818383582e-06,
    ),
    FLOAT64.dtype: (
        0.9385723321364764,
        0.44942657436856687,
        0.13943126607172057,
        0.017781543733001528,
        -0.0046745255351367376,
        -0.0017254368743552604,
        0.00030456744816667743,
        0.00015651564472537191,
        -3.993873026094708e-05,
        -1.3422977398014206e-05,
        6.6117535120776025e-06,
        5.603106707486221e-07,
        -1.000755384764259e-06,
        1.5661048932947856e-07,
        1.0584091477614355e-07,
        -5.494889256730169e-08,
        2.9727082224213533e-10,
        9.488864105691307e-09,
        -3.244883653530612e-09,
        -8.521713699561867e-10,
        7.544674760742873e-10,
        1.550898905848436e-11,
        -7.355776591845942e-11,
    ),
}
# the cube root on 1/2 / sqrt(2) <= m <= 2 sqrt(2), to 9 bits
_CBRT = (
    0.44347283244132996,
    0.8986583948135376,
    -0.47414451837539673,
    0.15341711044311523,
    -0.019561152905225754,
)
# erf_inv(x) / x: for each w = -log(1 - x**2) below a bound, the shift of w or its root
_GILES_SINGLE = (
    (
        1.50140941,
        0.246640727,
        -0.00417768164,
        -0.00125372503,
        0.00021858087,
        -4.39150654e-06,
        -3.5233877e-06,
        3.43273939e-07,
        2.81022636e-08,
    ),
    (
        2.83297682,
        1.00167406,
        0.00943887047,
        -0.0076224613,
        0.00573950773,
        -0.00367342844,
        0.00134934322,
        0.000100950558,
        -0.000200214257,
    ),
)
_GILES_DOUBLE = (
    (
        1.6536545626831027356,
        0.24015818242558961693,
        -0.0060336708714301490533,
        -0.00074070253416626697512,
        0.0001867342080340571352,
        -1.3882523362786468719e-05,
        -1.3654692000834678645e-06,
        4.2347877827932403518e-07,
        -2.9070369957882005086e-08,
        -4.1126339803469836976e-09,
        1.051212273321532285e-09,
        -5.4154120542946279317e-11,
        -1.2975133253453532498e-11,
        2.6335093153082322977e-12,
        -8.1519341976054721522e-14,
        -4.0545662729752068639e-14,
        6.6376381343583238325e-15,
        2.0972767875968561637e-17,
        -1.333171662854620906e-16,
        1.115787767802518096e-17,
        1.2858480715256400167e-18,
        -1.685059138182016589e-19,
        -3.6444120640178196996e-21,
    ),
    (
        3.0838856104922207635,
        1.0052589676941592334,
        0.005370914553590063617,
        -0.0037512085075692412107,
        0.0024914420961078508066,
        -0.0016882755560235047313,
        0.00095328937973738049703,
        -0.0003550375203628474796,
        2.4031110387097893999e-05,
        6.8284851459573175448e-05,
        -4.7318229009055733981e-05,
        1.2475304481671778723e-05,
        2.9234449089955446044e-06,
        -4.013867526981545969e-06,
        1.5027403968909827627e-06,
        1.8239629214389227755e-08,
        -2.7517406297064545428e-07,
        9.0756561938885390979e-08,
        2.2137376921775787049e-09,
    ),
    (
        4.8499064014085844221,
        1.0103004648645343977,
        -0.00013871931833623122026,
        -0.00021503011930044477347,
        7.5995277030017761139e-05,
        -1.9681778105531670567e-05,
        4.5260625972231537039e-06,
        -9.9298272942317002539e-07,
        2.2900482228026654717e-07,
        -6.7711997758452339498e-08,
        2.9147953450901080826e-08,
        -1.4960026627149240478e-08,
        7.6157012080783393804e-09,
        -3.7894654401267369937e-09,
        1.5076572693500548083e-09,
        -2.5556418169965252055e-10,
        -2.7109920616438573243e-11,
    ),
)
# log(1 + x) = x - x**2 / 2 + x**3 p(x) / q(x) on sqrt(1/2) <= 1 + x <= sqrt(2)
_CEPHES_LOG1P = (
    (
        20.039553499201281259648,
        57.112963590585538103336,
        60.949667980987787057556,
        29.911919328553073277375,
        6.5787325942061044846969,
        0.49854102823193375972212,
        4.5270000862445199635215e-05,
    ),
    (
        60.118660497603843919306,
        216.42788614495947685003,
        309.09872225312059774938,
        221.76239823732856465394,
        83.047565967967209469434,
        15.062909083469192043167,
        1.0,
    ),
)
# (log(1 + f) - f + f**2 / 2) / f**3 in f, in three polynomials of which the next is multiplied by
# f**3; and log 2 in two parts
_CEPHES_LOG = (
    (0.33333331174, -0.24999993993, 0.20000714765),
    (-0.16668057665, 0.14249322787, -0.12420140846),
    (0.1167699874, -0.1151461031, 0.070376836292),
)
_CEPHES_LN2 = (0.693359375, -2.1219444e-4)
# beyond these arguments erf is 1
_ERF_ONE = {FLOAT32.dtype: 3.95, FLOAT64.dtype: 5.95}


def erf(b: Nodes, x: Scalar) -> Scalar:
    """The error function."""
    size = b.abs(x)
    bounded = clamp(b, size, None, _ERF_ONE[x.dtype])
    if x.dtype == FLOAT32.dtype:
        return b.copysign(_erf32(b, bounded), x)
    complement = exp2_of_normal(b, polynomial_by_pairs(b, bounded, _LOG2_ERFC))
    large = b.copysign(b.sub(1.0, complement), x)
    return b.select(b.lt(size, 1.0), _erf_small(b, x), large)


def _erf32(b: Nodes, x: Scalar) -> Scalar:
    """erf(x) of float32 numbers 0 <= x <= 3.95: both sides share the steps of a polynomial."""
    near = b.lt(x, 1.2)
    variable = b.select(near, b.mul(x, x), x)
    sides = zip(*_ERF_SIDES, strict=True)
    terms = [choose(b, near, small, large, x) for small, large in sides]
    value = polynomial_by_pairs(b, variable, terms)
    square = b.mul(value, value)
    fourth = b.mul(square, square)
    return b.select(near, b.fma(x, value, x), b.fma(b.neg(fourth), fourth, 1.0))


def _erf_small(b: Nodes, x: Scalar) -> Scalar:
    """erf(x) for |x| <= 1; keeps -0, of which a positive part is added to it."""
    q = polynomial_by_pairs(b, b.mul(x, x), _ERF[x.dtype])
    return b.fma(x, q, x)


def erfc(b: Nodes, x: Scalar) -> Scalar:
    """The complementary error function, 1 - erf(x)."""
    size = b.abs(x)
    # erfc(30) is 0 in both formats; the bound keeps x**2 finite
    bounded = clamp(b, size, None, 30.0)
    square, square_low = two_product(b, bounded, bounded)
    d = b.add(bounded, 2.0)
    d_low = b.sub(bounded, b.sub(d, 2.0))
    q = b.div(1.0, d)
    q_low = b.mul(q, b.sub(b.fma(b.neg(q), d, 1.0), b.mul(q, d_low)))
    t = b.fma(q_low, 5.5, b.fma(q, 5.5, -1.2))
    first, *others = _ERFCX[x.dtype]
    rest = polynomial(b, t, others)
    p = b.fma(t, rest, first)
    p_low = b.fma(t, rest, b.sub(first, p))
    factor, factor_low = two_product(b, p, q)
    factor_low = b.fma(p_low, q, factor_low)
    factor_low = b.add(factor_low, b.fma(p, q_low, b.mul(b.neg(square_low), factor)))
    tail = exp_nonpositive_times(b, b.neg(square), factor, factor_low)
    small = b.sub(b.sub(1.0, x), b.mul(x, polynomial(b, b.mul(x, x), _ERF[x.dtype])))
    near = b.lt(size, 0.5)
    far = b.select(b.lt(x, 0.0), b.sub(2.0, tail), tail)
    return b.select(near, small, far)


def erf_inv(b: Nodes, x: Scalar) -> Scalar:
    """The inverse of erf, with the polynomials that JAX uses."""
    w = b.neg(_log_one_less_square(b, x))
    root = b.sqrt(w)
    if x.dtype == FLOAT32.dtype:
        near = b.lt(w, 5.0)
        shifted = b.select(near, b.sub(w, 2.5), b.sub(root, 3.0))
        pairs = list(zip(*_GILES_SINGLE, strict=True))
        ratio = choose(b, near, *pairs[-1], x)
        for low, high in pairs[-2::-1]:
            ratio = b.fma(ratio, shifted, choose(b, near, low, high, x))
    else:
        middle, far = b.sub(root, 3.25), b.sub(root, 5.0)
        outer = b.select(
            b.lt(w, 16.0),
            polynomial(b, middle, _GILES_DOUBLE[1]),
            polynomial(b, far, _GILES_DOUBLE[2]),
        )
        ratio = b.select(b.lt(w, 6.25), polynomial(b, b.sub(w, 3.125), _GILES_DOUBLE[0]), outer)
    return b.select(b.eq(b.abs(x), 1.0), b.mul(x, math.inf), b.mul(ratio, x))


def _log_one_less_square(b: Nodes, x: Scalar) -> Scalar:
    """log(1 - x**2) for |x| < 1, rounded as by JAX; NaN beyond."""
    minus_square = b.neg(b.mul(x, x))
    p, q = (polynomial(b, minus_square, c) for c in _CEPHES_LOG1P)
    fourth = b.mul(minus_square, minus_square)
    rest = b.mul(b.mul(minus_square, fourth), b.div(p, q))
    small = b.add(minus_square, b.fma(fourth, -0.5, rest))
    one_less = b.add(minus_square, 1.0)
    if x.dtype == FLOAT32.dtype:
        bound, large = 1 - 2**0.5, _log32(b, one_less)
    else:
        # JAX takes the logarithm of the system, which is nearly always correctly rounded
        bound, large = 0.5**0.5 - 1, log_pair(b, one_less)[0]
    large = b.select(b.gt(one_less, 0.0), large, math.nan)
    return b.select(b.gt(minus_square, bound), small, large)


def _log32(b: Nodes, x: Scalar) -> Scalar:
    """log x of positive, normal float32 numbers, rounded as by JAX."""
    exponent, mantissa = exponent_and_mantissa(b, x)
    f = b.sub(mantissa, 1.0)
    square = b.mul(f, f)
    cube = b.mul(square, f)
    low, middle, high = (polynomial(b, f, c) for c in _CEPHES_LOG)
    series = b.fma(b.fma(high, cube, middle), cube, low)
    ln2, ln2_low = _CEPHES_LN2
    rest = b.fma(series, cube, b.mul(exponent, ln2_low))
    total = b.add(rest, b.fma(square, -0.5, f))
    return b.fma(exponent, ln2, total)


def cbrt(b: Nodes, x: Scalar) -> Scalar:
    """The cube root: a polynomial, a step of Halley and a step of Newton with exact residual."""
    form = format_of(x)
    size = b.abs(x)
    exponent, mantissa = exponent_and_mantissa(b, size)
    third = b.sub(b.fma(exponent, 1 / 3, form.magic), form.magic)
    rest = b.fma(third, -3.0, exponent)
    m = b.mul(mantissa, power_of_two(b, b.add(rest, form.magic + form.bias)))
    y = polynomial(b, m, _CBRT)
    cube = b.mul(b.mul(y, y), y)
    ratio = b.div(b.fma(m, 2.0, cube), b.fma(cube, 2.0, m))
    y = b.mul(y, ratio)
    square, square_low = two_product(b, y, y)
    residual = b.fma(b.neg(square_low), y, b.fma(b.neg(square), y, m))
    y = b.add(y, b.div(residual, b.mul(square, 3.0)))
    result = b.mul(y, power_of_two(b, b.add(third, form.magic + form.bias)))
    plain = b.and_(b.lt(size, math.inf), b.gt(size, 0.0))
    return b.copysign(b.select(plain, result, size), x)


def nextafter(b: Nodes, x: Scalar, y: Scalar) -> Scalar:
    """The float next to x in the direction of y; works in any format."""
    bits = np.dtype(f"int{8 * x.dtype.itemsize}")
    # Formats of 4 and 6 bits stand in the low bits of a byte: their sign goes to the top.
    spare = 8 * bits.itemsize - itemsize_bits(x.dtype)
    x_bits, y_bits = b.bitcast(x, bits), b.bitcast(y, bits)
    if spare:
        x_bits, y_bits = b.shift_left(x_bits, spare), b.shift_left(y_bits, spare)
    away = b.eq(b.lt(x, y), b.ge(x_bits, 0))
    stepped = b.add(x_bits, b.select(away, 1 << spare, b.const(-(1 << spare), bits)))
    least = b.or_(b.and_(y_bits, np.iinfo(bits).min), 1 << spare)
    new = b.select(b.eq(x, 0.0), least, stepped)
    if x.dtype.name.endswith("uz"):  # the bits of -0.0 are NaN there
        new = b.select(b.eq(new, np.iinfo(bits).min), 0, new)
    moved = b.bitcast(b.shift_right_logical(new, spare) if spare else new, x.dtype)
    unordered = b.or_(b.ne(x, x), b.ne(y, y))
    return b.select(unordered, math.nan, b.select(b.eq(x, y), y, moved))
