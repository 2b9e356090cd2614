"""Bessel functions and spherical harmonics."""

from __future__ import annotations

import math
from typing import Any

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.custom import custom_jvp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.numpy.special_functions import i0_impl
from tapeless.scipy.special.wide import horner

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e", "sph_harm_y"]

# The derivative of I_1 in x**2, which for |x| <= 1 needs no more.
_I1_SLOPE = tuple(
    (2 * k + 1) / (2 * 4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(10)
)


def i0e(x: Any) -> Value:
    """Return exp(-|x|) I_0(x), the scaled modified Bessel function of order 0.

    x: (n,) -> (n,)

    >>> jax.scipy.special.i0e(jnp.array([0.25, 0.5])).round(3)
    Array([0.791, 0.645], dtype=float32)
    """
    return lax.bessel_i0e(*promote_args_inexact("i0e", x))


def i1e(x: Any) -> Value:
    """Return exp(-|x|) I_1(x), the scaled modified Bessel function of order 1.

    x: (n,) -> (n,)

    >>> jax.scipy.special.i1e(jnp.array([0.25, 0.5])).round(3)
    Array([0.098, 0.156], dtype=float32)
    """
    return lax.bessel_i1e(*promote_args_inexact("i1e", x))


def i0(x: Any) -> Value:
    """Return I_0(x), the modified Bessel function of order 0.

    x: (n,) -> (n,)

    >>> i0(1.0)
    Array(1.2660658, dtype=float32, weak_type=True)
    """
    return i0_impl(*promote_args_inexact("i0", x))


def i1(x: Any) -> Value:
    """Return I_1(x), the modified Bessel function of order 1.

    x: (n,) -> (n,)

    >>> jax.scipy.special.i1(jnp.array([0.25, 0.5])).round(3)
    Array([0.126, 0.258], dtype=float32)
    """
    return _i1(*promote_args_inexact("i1", x))


@custom_jvp
def _i1(x: Value) -> Value:
    """Scale the function that has the exponential growth divided out."""
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@_i1.defjvp
def _i1_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivative is I_0(x) - I_1(x) / x, or a series where these cancel."""
    (x,), (t,) = primals, tangents
    out = _i1(x)
    is_far = jnp.abs(x) > 1
    far = jnp.where(is_far, x, 1.0)
    near = jnp.where(is_far, 0.0, x)
    slope = jnp.where(is_far, i0_impl(far) - _i1(far) / far, horner(near * near, _I1_SLOPE))
    return out, t * slope


def bessel_jn(
    z: Any,
    *,
    v: int,
    n_iter: int = 50,
) -> Value:
    """Return J_0(z) ... J_v(z): (s) -> (v+1, s).

    By Miller's backward recurrence J_(n-1) = 2n/z J_n - J_(n+1) from order n_iter, which must be
    well above |z| and v; normalised by J_0 + 2 (J_2 + J_4 + ...) = 1.

    >>> jax.scipy.special.bessel_jn(jnp.array([1.0]), v=1).round(3)
    Array([[0.765],
           [0.44 ]], dtype=float32)
    """
    (z,) = promote_args_inexact("bessel_jn", z)
    safe = jnp.where(
        z == 0,
        1,
        z,
    )
    tiny = jnp.finfo(z.dtype).tiny ** 0.5

    def step(carry: tuple, n: Value) -> tuple:
        """Go one order down; rescale what became large."""
        above, here, total = carry
        below = 2 * n / safe * here - above
        total = total + jnp.where(
            n % 2 == 1,
            2 * below,
            0,
        )
        factor = jnp.where(
            jnp.abs(below) > 1 / tiny,
            tiny,
            1,
        ).astype(z.dtype)
        carry = (here * factor, below * factor, total * factor)
        return carry, (below * factor, factor)

    orders = jnp.arange(
        n_iter,
        0,
        -1,
    ).astype(z.dtype)
    start = (jnp.zeros_like(z), jnp.full_like(z, tiny), jnp.zeros_like(z))
    (_, first, total), (values, factors) = lax.scan(
        step,
        start,
        orders,
    )
    # A value was rescaled by all factors that came after it.
    later = jnp.flip(jnp.cumprod(jnp.flip(factors, 0), 0), 0) / factors
    normal = total - first
    result = jnp.flip((values * later)[-(v + 1) :], 0) / normal
    at_zero = jnp.zeros((v + 1,) + (1,) * z.ndim, z.dtype).at[0].set(1)
    return jnp.where(
        z == 0,
        at_zero,
        result,
    )


def _legendre(
    n_max: int,
    cosine: Value,
    sine: Value,
) -> list[list[Value]]:
    """Return the normalised associated Legendre functions P[n][m], 0 <= m <= n <= n_max."""
    table: list[list[Value]] = []
    for n in range(n_max + 1):
        row = []
        for m in range(n + 1):
            if n == 0:
                value = jnp.full_like(cosine, math.sqrt(1 / (4 * math.pi)))
            elif m == n:
                value = -math.sqrt((2 * n + 1) / (2 * n)) * sine * table[n - 1][n - 1]
            elif m == n - 1:
                value = math.sqrt(2 * n + 1) * cosine * table[n - 1][m]
            else:
                a = math.sqrt((4 * n * n - 1) / (n * n - m * m))
                b = math.sqrt(((n - 1) ** 2 - m * m) / (4 * (n - 1) ** 2 - 1))
                value = a * (cosine * table[n - 1][m] - b * table[n - 2][m])
            row.append(value)
        table.append(row)
    return table


def sph_harm_y(
    n: Any,
    m: Any,
    theta: Any,
    phi: Any,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Value:
    """Return the spherical harmonics Y_n^m(theta, phi): (s), (s), (s), (s) -> (s), complex.

    n: degrees >= 0.  m: orders, |m| <= n.  theta: the polar angle, 0 <= theta <= pi.  phi: the
    azimuth.  n_max: the largest degree, a Python int; needed under jit.

    >>> jax.scipy.special.sph_harm_y(jnp.array([1]), jnp.array([0]), jnp.array([0.5]),
    ...     jnp.array([0.1]), n_max=2).real.round(3)
    Array([0.429], dtype=float32)
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: derivatives by diff_n; use jax.grad")
    n, m = jnp.asarray(n), jnp.asarray(m)
    theta, phi = promote_args_inexact(
        "sph_harm_y",
        theta,
        phi,
    )
    if n_max is None:
        n_max = int(jnp.max(n))
    n, m, theta, phi = jnp.broadcast_arrays(
        n,
        m,
        theta,
        phi,
    )
    table = _legendre(
        n_max,
        jnp.cos(theta),
        jnp.sin(theta),
    )
    flat = jnp.stack([value for row in table for value in row])
    order = jnp.abs(m)
    place = n * (n + 1) // 2 + order
    value = jnp.take_along_axis(
        flat,
        place[None],
        axis=0,
    )[0]
    value = jnp.where(
        (m < 0) & (order % 2 == 1),
        -value,
        value,
    )
    value = jnp.where(
        order > n,
        0,
        value,
    )
    angle = m * phi
    return lax.complex(value * jnp.cos(angle), value * jnp.sin(angle))
