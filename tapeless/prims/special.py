"""Special functions: error functions, log gamma and its derivatives, zeta, polynomials.

`lgamma` is log |gamma(x)|, `digamma` its derivative, `polygamma(m, x)` the m-th derivative of that.
`zeta(x, q)` is the sum of (q + k) ** -x over k >= 0, by the Euler-Maclaurin formula.

`polynomial` evaluates a polynomial by Horner's rule; its coefficients are operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.accuracy import Accurate, accuracy_params
from tapeless.prims.binary import add, div, mul, pow, sub
from tapeless.prims.bitwise import bitwise_and
from tapeless.prims.common import (
    FLOAT,
    NUMBER,
    Elementwise,
    Tangents,
    add_tangents,
    apply,
    at_least_float32,
    broadcast_elements,
    const,
    dtype_of,
    full_like,
    ones_like,
    shape_of,
    unbroadcast,
)
from tapeless.prims.compare import eq, le, lt
from tapeless.prims.convert import bitcast_convert_type_p, convert
from tapeless.prims.exponential import exp, log
from tapeless.prims.join import unstack
from tapeless.prims.select import select_n
from tapeless.prims.structural import broadcast_shapes
from tapeless.prims.unary import abs, floor, integer_pow, neg, square
from tapeless.util import lazy

__all__ = [
    "digamma",
    "digamma_p",
    "erf",
    "erf_inv",
    "erf_inv_p",
    "erf_p",
    "erfc",
    "erfc_p",
    "lgamma",
    "lgamma_p",
    "polygamma",
    "polygamma_p",
    "polynomial",
    "polynomial_p",
    "zeta",
    "zeta_p",
]

scipy_special = lazy.load("scipy.special")  # references only


class Erf(Elementwise):
    """2 / sqrt(pi) times the integral of exp(-t ** 2) from 0 to x."""

    name = "erf"
    accepts = (FLOAT,)
    partials = (
        lambda t, out, x: mul(const(x, 2 / math.sqrt(math.pi)), mul(t, _exp_neg_square(x))),
    )
    kernel_name = "erf"
    hlo_name = "chlo.erf"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.erf(x)


erf_p = Erf()


def erf(x: Value) -> Value:
    """Return the error function, elementwise.

    >>> lax.erf(jnp.array([0.25, 0.5])).round(3)
    Array([0.276, 0.52 ], dtype=float32)
    """
    return erf_p.bind(x)[0]


class Erfc(Accurate):
    """1 - erf x, accurate for large x."""

    name = "erfc"
    accepts = (FLOAT,)
    partials = (
        lambda t, out, x, **params: mul(
            const(x, -2 / math.sqrt(math.pi)), mul(t, _exp_neg_square(x))
        ),
    )
    kernel_name = "erfc"
    hlo_name = "chlo.erfc"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.erfc(x)


erfc_p = Erfc()


def erfc(x: Value, *, accuracy: object = None) -> Value:
    """Return 1 - erf(x), elementwise, accurate for large x.

    >>> lax.erfc(jnp.array([0.25, 0.5])).round(3)
    Array([0.724, 0.48 ], dtype=float32)
    """
    return erfc_p.bind(x, **accuracy_params(accuracy))[0]


class ErfInv(Elementwise):
    """The y whose erf is x."""

    name = "erf_inv"
    accepts = (FLOAT,)
    partials = (lambda t, out, x: mul(const(x, math.sqrt(math.pi) / 2), mul(t, exp(square(out)))),)
    kernel_name = "erf_inv"
    hlo_name = "chlo.erf_inv"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.erfinv(x)


erf_inv_p = ErfInv()


def erf_inv(x: Value) -> Value:
    """Return the inverse of the error function, elementwise, for -1 <= x <= 1.

    >>> lax.erf_inv(jnp.array([0.25, 0.5])).round(3)
    Array([0.225, 0.477], dtype=float32)
    """
    return erf_inv_p.bind(x)[0]


class Lgamma(Elementwise):
    """log |gamma(x)|."""

    name = "lgamma"
    accepts = (FLOAT,)
    partials = (lambda t, out, x: mul(t, digamma(x)),)
    kernel_name = "lgamma"
    hlo_name = "chlo.lgamma"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.gammaln(x)


lgamma_p = Lgamma()


def lgamma(x: Value) -> Value:
    """Return log |gamma(x)|, elementwise.

    >>> lax.lgamma(jnp.array([0.25, 0.5])).round(3)
    Array([1.288, 0.572], dtype=float32)
    """
    return lgamma_p.bind(x)[0]


class Digamma(Elementwise):
    """The derivative of log gamma(x)."""

    name = "digamma"
    accepts = (FLOAT,)
    partials = (lambda t, out, x: mul(t, polygamma(const(x, 1), x)),)
    kernel_name = "digamma"
    hlo_name = "chlo.digamma"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.digamma(x)


digamma_p = Digamma()


def digamma(x: Value) -> Value:
    """Return the derivative of log gamma(x), elementwise.

    >>> lax.digamma(jnp.array([0.25, 0.5])).round(3)
    Array([-4.227, -1.964], dtype=float32)
    """
    return digamma_p.bind(x)[0]


# By dtype: its unsigned integer, the bits of the upper half of a mantissa, and what 0 follows.
_HALVES = {
    np.dtype(np.float32): (np.dtype(np.uint32), 0xFFFFF000, 11.0),
    np.dtype(np.float64): (np.dtype(np.uint64), 0xFFFFFFFFF8000000, 28.0),
}


def _exp_neg_square(x: Value) -> Value:
    """Return exp(-x ** 2); in 32 and 64 bits what is lost as x is squared is made good.

    The loss is an exact sum of products of halves of x. It has no derivative: it is made of bits.
    """
    halves = _HALVES.get(dtype_of(x))
    if halves is None:
        return exp(neg(square(x)))
    bits, mask, limit = halves

    def read(x: Value, dtype: np.dtype) -> Value:
        """Return x as another dtype, by bits."""
        return bitcast_convert_type_p.bind(x, new_dtype=dtype)[0]

    near = select_n(lt(const(x, limit), abs(x)), x, full_like(x, limit))
    value, whole = exp(neg(square(near))), read(near, bits)
    same, upper = (
        read(each, dtype_of(x)) for each in (whole, bitwise_and(whole, const(whole, mask)))
    )
    lower = sub(same, upper)
    cross = mul(const(same, 2), mul(upper, lower))
    lost = add(add(sub(square(upper), square(same)), cross), square(lower))
    return sub(value, mul(value, lost))


# Zeta and polygamma

_SHIFT = 10  # terms summed one by one before the Euler-Maclaurin formula takes over
_BERNOULLI = tuple(
    float(number) / math.factorial(2 * k)
    for k, number in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), 1
    )
)


class Zeta(Elementwise):
    """The sum of (q + k) ** -x over k = 0, 1, 2, ...; x > 1."""

    name = "zeta"
    accepts = (FLOAT, FLOAT)
    partials = (
        lambda t, out, x, q: mul(t, _zeta_slope(x, q)),
        lambda t, out, x, q: mul(t, mul(neg(x), zeta(add(x, const(x, 1)), q))),
    )
    hlo_name = "chlo.zeta"

    @staticmethod
    def numpy(x: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.zeta(x, q)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Sum the first terms; the rest is an integral and corrections at its lower end."""
        x, q = _aligned(args)
        one = const(x, 1)
        total, place = pow(q, neg(x)), q
        for _ in range(_SHIFT - 1):
            place = add(place, one)
            total = add(total, pow(place, neg(x)))
        place = add(place, one)
        power = pow(place, neg(x))
        less = sub(x, one)  # exactly
        total = add(total, div(pow(place, neg(less)), less))
        rest = mul(power, const(x, 0.5))
        factor, inverse = div(mul(x, power), place), integer_pow(place, -2)
        for k, number in enumerate(_BERNOULLI, 1):
            rest = add(rest, mul(factor, const(x, number)))
            rise = mul(add(x, const(x, 2 * k - 1)), add(x, const(x, 2 * k)))
            factor = mul(mul(factor, rise), inverse)
        # Of no power there are no corrections, however large their factors are.
        none = full_like(x, 0)
        total = add(total, select_n(eq(power, none), rest, none))
        total = select_n(lt(x, one), _at_poles(total, x, q), full_like(total, math.nan))
        total = select_n(eq(x, one), total, full_like(total, math.inf))
        return (convert(total, typeof(args[0]).dtype),)


zeta_p = Zeta()


def _zeta_slope(x: Value, q: Value) -> Value:
    """Return the derivative of zeta by x: that of its terms, one by one."""
    dtype = dtype_of(x)
    x, q = _aligned((x, q))
    total, place, one = full_like(x, 0), q, const(x, 1)
    for _ in range(_SHIFT - 1):
        total = sub(total, mul(log(place), pow(place, neg(x))))
        place = add(place, one)
    total = sub(total, mul(log(place), pow(place, neg(x))))
    place = add(place, one)
    power, turn = pow(place, neg(x)), neg(log(place))
    rest = div(mul(power, place), sub(x, one))
    total = add(total, mul(rest, sub(turn, div(one, sub(x, one)))))
    total = add(total, mul(mul(power, turn), const(x, 0.5)))
    # Each correction is a product, and its derivative it times those of the logarithms.
    factor, share, inverse = (
        div(mul(x, power), place),
        add(div(one, x), turn),
        integer_pow(place, -2),
    )
    for k, number in enumerate(_BERNOULLI, 1):
        total = add(total, mul(mul(factor, share), const(x, number)))
        low, high = add(x, const(x, 2 * k - 1)), add(x, const(x, 2 * k))
        factor = mul(mul(factor, mul(low, high)), inverse)
        share = add(share, add(div(one, low), div(one, high)))
    return convert(total, dtype)


def zeta(x: Value, q: Value) -> Value:
    """Return the Hurwitz zeta function, elementwise: the sum of (q + k) ** -x over k >= 0.

    >>> lax.zeta(jnp.array([2.0, 3.0]), jnp.array([1.0, 2.0])).round(3)
    Array([1.645, 0.202], dtype=float32)
    """
    return zeta_p.bind(x, q)[0]


def _aligned(args: Values) -> list[Value]:
    """Return operands of one shape, at least in float32."""
    shape = broadcast_shapes(*map(shape_of, args))
    dtype = at_least_float32(typeof(args[0]).dtype)
    return [broadcast_elements(convert(x, dtype), ShapedArray(shape, dtype)) for x in args]


def _at_poles(total: Value, x: Value, q: Value) -> Value:
    """Return infinity where q is an integer not above 0, and NaN for other q < 0 and broken x."""
    negative = le(q, const(q, 0))
    total = select_n(
        apply("and", negative, apply("ne", x, floor(x))), total, full_like(total, math.nan)
    )
    return select_n(apply("and", negative, eq(q, floor(q))), total, full_like(total, math.inf))


class Polygamma(Elementwise):
    """The m-th derivative of digamma(x), m = 0, 1, 2, ... in a floating dtype."""

    name = "polygamma"
    accepts = (FLOAT, FLOAT)
    partials = (
        lambda t, out, m, x: _no_derivative("polygamma gradient with respect to m"),
        lambda t, out, m, x: mul(t, polygamma(add(m, const(m, 1)), x)),
    )
    hlo_name = "chlo.polygamma"

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """(-1) ** (m + 1) m! zeta(m + 1, x)."""
        m, x = _aligned(args)
        order = add(m, const(m, 1))
        half = mul(order, const(m, 0.5))
        parity = select_n(eq(half, floor(half)), full_like(m, -1), full_like(m, 1))
        value = mul(mul(neg(parity), exp(lgamma(order))), zeta(order, x))
        value = select_n(eq(m, const(m, 0)), neg(value), digamma(x))
        broken = apply("or", lt(m, const(m, 0)), apply("ne", m, floor(m)))
        value = select_n(broken, value, full_like(value, math.nan))
        return (convert(value, typeof(args[0]).dtype),)

    @staticmethod
    def numpy(m: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.polygamma(m.astype(int), x)


polygamma_p = Polygamma()


def polygamma(m: Value, x: Value) -> Value:
    """Return the m-th derivative of digamma at x, elementwise.

    >>> lax.polygamma(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0])).round(3)
    Array([ 1.645, -0.404], dtype=float32)
    """
    return polygamma_p.bind(m, x)[0]


def _no_derivative(what: str) -> Zero:
    """Raise the error for a derivative that does not exist here."""
    raise ValueError(f"{what} is not supported")


# Polynomials


class Polynomial(Elementwise):
    """c0 + c1 x + c2 x ** 2 + ...; operands x, c0, c1, c2, ..."""

    name = "polynomial"
    accepts = (NUMBER,)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Differentiate as a polynomial of lower degree; it is linear in the coefficients."""
        (x, *coefficients), (t, *slopes) = primals, tangents
        (out,) = self.bind(*primals, **params)
        aval = typeof(out).tangent()
        total: Value | Zero = Zero(aval)
        if not isinstance(t, Zero):
            lower = [mul(const(c, k), c) for k, c in enumerate(coefficients[1:], 1)]
            slope = polynomial(x, lower, unroll=params.get("unroll"))
            total = broadcast_elements(mul(t, slope), aval)
        if not all(isinstance(s, Zero) for s in slopes):
            pairs = zip(slopes, coefficients, strict=True)
            filled = [const(c, 0) if isinstance(s, Zero) else s for s, c in pairs]
            (part,) = self.bind(x, *filled, **params)
            total = add_tangents(total, broadcast_elements(part, aval))
        return (out,), (total,)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Multiply the cotangent by one more x from each coefficient to the next."""
        (ct,), (x, *coefficients) = cotangents, args
        found: list[Value | Zero | None] = [None]
        for position, c in enumerate(coefficients):
            if position and not isinstance(ct, Zero):
                ct = mul(ct, x)
            found.append(unbroadcast(ct, c.aval) if isinstance(c, Linear) else None)
        return tuple(found)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Evaluate by Horner's rule."""
        x, *coefficients = scalars
        total = coefficients[-1]
        for c in coefficients[-2::-1]:
            total = b.add(b.mul(total, x), c)
        return total

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Evaluate by Horner's rule."""
        x, *coefficients = args
        total = mul(ones_like(x), coefficients[-1])
        for c in coefficients[-2::-1]:
            total = add(mul(total, x), c)
        return (total,)

    @staticmethod
    def numpy(x: np.ndarray, *coefficients: np.ndarray, **params: Any) -> np.ndarray:
        """Add up the powers."""
        powers = (c * x**k for k, c in enumerate(coefficients))
        return sum(powers, np.zeros_like(x))


polynomial_p = Polynomial()


def polynomial(x: Value, coeffs: Value | Sequence[Value], *, unroll: int | None = None) -> Value:
    """Return coeffs[0] + coeffs[1] x + coeffs[2] x ** 2 + ..., elementwise, by Horner's rule.

    x: (n,); coeffs: scalars or arrays that stretch with x -> (n,)

    >>> lax.polynomial(jnp.array([2.0, 3.0]), jnp.array([1.0, 0.0, -1.0]))
    Array([-3., -8.], dtype=float32)
    """
    if not isinstance(coeffs, (list, tuple)):
        coeffs = list(coeffs) if isinstance(coeffs, np.ndarray) else unstack(coeffs)
    dtype = typeof(x).dtype
    coeffs = [convert(c, dtype, typeof(c).weak_type and typeof(x).weak_type) for c in coeffs]
    if not coeffs:
        return full_like(x, 0)
    if len(coeffs) == 1:
        shape = broadcast_shapes(shape_of(x), shape_of(coeffs[0]))
        return broadcast_elements(coeffs[0], ShapedArray(shape, dtype))
    params = {} if unroll is None else {"unroll": unroll}
    return polynomial_p.bind(x, *coeffs, **params)[0]
