"""Minimax polynomials, for the constants of the scalar recipes.

`fit` finds the polynomial p of a given degree that minimises the maximum of |weight * (p - f)| on
an interval, by the exchange algorithm of Remez on a dense grid of Chebyshev points, in 60 digits.
`python dev/fits/remez.py NAME` prints the fits whose names contain NAME (all of them without),
as tuples that start with the constant coefficient, with the error that was reached.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
from mpmath import mpf

mpmath.mp.dps = 60

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """A function to fit on [low, high], with one degree and one rounding per dtype."""

    name: str
    function: Function
    weight: Function
    low: mpf
    high: mpf
    degrees: dict[str, int]


def fit(function: Function, weight: Function, low: mpf, high: mpf, degree: int) -> list[mpf]:
    """Return the coefficients of the weighted minimax polynomial, constant first."""
    n_points = 24 * (degree + 2)
    middle, half = (low + high) / 2, (high - low) / 2
    angles = [mpmath.pi * (n_points - 1 - k) / (n_points - 1) for k in range(n_points)]
    grid = [middle + half * mpmath.cos(angle) for angle in angles]
    usable = [x for x in grid if weight(x) != 0]
    values = [function(x) for x in usable]
    weights = [weight(x) for x in usable]
    scaled = [(x - middle) / half for x in usable]
    reference = [round(k * (len(usable) - 1) / (degree + 1)) for k in range(degree + 2)]
    for _ in range(30):
        coefficients, level = _solve(reference, scaled, values, weights, degree)
        errors = [
            w * (mpmath.polyval(coefficients[::-1], x) - v)
            for x, v, w in zip(scaled, values, weights, strict=True)
        ]
        worst = max(abs(error) for error in errors)
        if worst <= abs(level) * mpf("1.001"):
            break
        reference = _exchange(errors, degree + 2)
    return _unscale(coefficients, middle, half), worst


def _solve(
    reference: list[int],
    scaled: list[mpf],
    values: list[mpf],
    weights: list[mpf],
    degree: int,
) -> tuple[list[mpf], mpf]:
    """Find the polynomial whose weighted error alternates with equal size on the reference."""
    matrix = mpmath.matrix(degree + 2, degree + 2)
    right = mpmath.matrix(degree + 2, 1)
    for row, k in enumerate(reference):
        power = mpf(1)
        for column in range(degree + 1):
            matrix[row, column] = power
            power *= scaled[k]
        matrix[row, degree + 1] = (-1) ** row / weights[k]
        right[row] = values[k]
    solution = mpmath.lu_solve(matrix, right)
    return [solution[k] for k in range(degree + 1)], solution[degree + 1]


def _exchange(errors: list[mpf], count: int) -> list[int]:
    """Choose `count` alternating extrema of the error that include the largest."""
    runs: list[int] = []
    for k, error in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > count:
        weakest = min(range(len(runs)), key=lambda i: abs(errors[runs[i]]))
        if weakest in (0, len(runs) - 1) or len(runs) == count + 1:
            ends = (0, len(runs) - 1)
            runs.pop(min(ends, key=lambda i: abs(errors[runs[i]])))
        else:
            left, right = runs[weakest - 1], runs[weakest + 1]
            drop = left if abs(errors[left]) < abs(errors[right]) else right
            runs.pop(weakest)
            runs.remove(drop)
    if len(runs) < count:
        raise ArithmeticError(f"only {len(runs)} alternations; lower the degree")
    return runs


def _unscale(coefficients: list[mpf], middle: mpf, half: mpf) -> list[mpf]:
    """Turn a polynomial in (x - middle) / half into one in x."""
    result = [mpf(0)]
    for coefficient in coefficients[::-1]:
        shifted = [mpf(0), *(c / half for c in result)]
        for k, c in enumerate(result):
            shifted[k] -= c * middle / half
        shifted[0] += coefficient
        result = shifted
    return result[: len(coefficients)]


def _even(function: Function, order: int) -> Function:
    """f(x) = x * (1 + z * p(z)), z = x**2 (order 1), solved for p; or the analogue for order 0."""
    tiny = mpf(10) ** -20

    def quotient(z: mpf) -> mpf:
        z = max(z, tiny)
        x = mpmath.sqrt(z)
        return (function(x) / x**order - 1) / z

    return quotient


def _relative_even(function: Function, order: int) -> Function:
    """The weight that makes the error of `_even` relative."""
    return lambda z: z / (function(mpmath.sqrt(z)) / mpmath.sqrt(z) ** order) if z else mpf(0)


def _odd(name: str, function: Function, high: mpf, degrees: dict[str, int]) -> Fit:
    """Fit p in function(x) = x + x**3 * p(x**2) for 0 <= x <= high."""
    weight = _relative_even(function, 1)
    return Fit(name, _even(function, 1), weight, mpf(0), high**2, degrees)


def _away(x: mpf) -> mpf:
    """Step off zero, where the quotients below are 0 / 0."""
    return x if abs(x) > mpf(10) ** -15 else mpf(10) ** -15


def _exp(r: mpf) -> mpf:
    r = _away(r)
    return (mpmath.expm1(r) - r) / r**2


def _exp2(r: mpf) -> mpf:
    return mpmath.expm1(_away(r) * mpmath.ln2) / _away(r)


def _log(f: mpf) -> mpf:
    f = _away(f)
    return (mpmath.log1p(f) - f + f**2 / 2) / f**3


def _log_weight(f: mpf) -> mpf:
    return f**3 / mpmath.log1p(_away(f))


def _log_quotient(z: mpf) -> mpf:
    s = mpmath.sqrt(_away(z))
    return (2 * mpmath.atanh(s) / s - 2) / _away(z)


def _log2_over(f: mpf) -> mpf:
    return mpmath.log1p(_away(f)) / mpmath.ln2 / _away(f)


def _log2_weight(f: mpf) -> mpf:
    return _away(f) / mpmath.log1p(_away(f))


def _atanh_fifth(z: mpf) -> mpf:
    z = max(z, mpf(10) ** -12)
    s = mpmath.sqrt(z)
    return ((mpmath.atanh(s) / s - 1) / z - mpf(1) / 3) / z


def _cos(z: mpf) -> mpf:
    z = max(z, mpf(10) ** -12)
    return (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2


def _cos_weight(z: mpf) -> mpf:
    return z**2 / mpmath.cos(mpmath.sqrt(z))


def _erf_quotient(z: mpf) -> mpf:
    x = mpmath.sqrt(max(z, mpf(10) ** -20))
    return mpmath.erf(x) / x - 1


def _log_erfc(x: mpf) -> mpf:
    return mpmath.log(mpmath.erfc(x))


def _erfc_root(x: mpf) -> mpf:
    """The eighth root of erfc(x)."""
    return mpmath.erfc(x) ** (mpf(1) / 8)


def _erf_quotient_weight(z: mpf) -> mpf:
    return 1 / (1 + _erf_quotient(z))


def _exp2_even(z: mpf) -> mpf:
    """e in 2**r = (e + r) / (e - r), in z = r**2."""
    r = mpmath.sqrt(max(z, mpf(10) ** -20))
    return r * mpmath.coth(r * mpmath.ln2 / 2)


def _exp2_even_weight(z: mpf) -> mpf:
    return 2 * mpmath.sqrt(z) / (_exp2_even(z) ** 2 - z)


def _tanh_small(z: mpf) -> mpf:
    """2 x**3 / (tanh(x) - x) in z = x**2."""
    z = max(z, mpf(10) ** -16)
    x = mpmath.sqrt(z)
    return 2 * z * x / (mpmath.tanh(x) - x)


def _tanh_small_weight(z: mpf) -> mpf:
    x = mpmath.sqrt(max(z, mpf(10) ** -16))
    return z * x / mpmath.tanh(x) / _tanh_small(z) ** 2


def _erfc_over_erf(x: mpf) -> mpf:
    return mpmath.erfc(x) / mpmath.erf(x)


def _cbrt(m: mpf) -> mpf:
    return mpmath.cbrt(m)


def _erfcx(t: mpf) -> mpf:
    """(x + 2) e**(x**2) erfc(x) in t = 5.5 / (x + 2) - 1.2."""
    q = (t + mpf("1.2")) / mpf("5.5")
    x = 1 / q - 2
    return mpmath.erfc(x) * mpmath.exp(x**2) / q


def _erfcx_weight(t: mpf) -> mpf:
    return 1 / _erfcx(t)


def _log_gamma(t: mpf) -> mpf:
    """log gamma(2 + t) / (t (t + 1))."""
    t = _away(t)
    return mpmath.loggamma(2 + t) / (t * (t + 1))


PSI_ROOT = mpmath.findroot(mpmath.digamma, 1.4616)


def _gamma_arch(t: mpf) -> mpf:
    """(gamma(1 + t) - 1) / (t (t - 1)) in t - 1/2, whose ends are limits."""
    for end, limit in ((mpf(0), -mpmath.digamma(1)), (mpf(1), mpmath.digamma(2))):
        if abs(t + mpf(1) / 2 - end) < mpf(10) ** -20:
            return limit
    t += mpf(1) / 2
    return (mpmath.gamma(1 + t) - 1) / (t * (t - 1))


def _lanczos(w: mpf) -> mpf:
    """gamma(1 + z) exp(t) t**(1/2 - z) / t in w = 1 / t, where t = z + 5/4."""
    if w < mpf(10) ** -12:
        return mpmath.sqrt(2 * mpmath.pi)
    t = 1 / w
    z = max(t - mpf(5) / 4, mpf(0))
    return mpmath.exp(mpmath.loggamma(1 + z) + t + (mpf(1) / 2 - z) * mpmath.log(t)) * w


def _sine(z: mpf) -> mpf:
    """sin(pi x) / x in z = x**2."""
    x = mpmath.sqrt(max(z, mpf(10) ** -30))
    return mpmath.sin(mpmath.pi * x) / x


def _digamma(t: mpf) -> mpf:
    """digamma(2 + t) / (2 + t - root)."""
    return mpmath.digamma(2 + t) / (2 + t - PSI_ROOT)


def _stirling(z: mpf) -> mpf:
    """x (log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in z = 1 / x**2."""
    z = max(z, mpf(10) ** -10)
    x = 1 / mpmath.sqrt(z)
    main = (x - mpf(1) / 2) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2
    return x * (mpmath.loggamma(x) - main)


def _digamma_tail(z: mpf) -> mpf:
    """x**2 (log x - 1 / (2 x) - digamma(x)) in z = 1 / x**2."""
    z = max(z, mpf(10) ** -10)
    x = 1 / mpmath.sqrt(z)
    return x**2 * (mpmath.log(x) - 1 / (2 * x) - mpmath.digamma(x))


def _x_coth(u: mpf) -> mpf:
    """x / tanh(x) in u = x**2 - 12.5."""
    x = mpmath.sqrt(max(u + mpf("12.5"), mpf(10) ** -20))
    return x / mpmath.tanh(x)


def _erf_over_x(u: mpf) -> mpf:
    """erf(x) / x in u = x**2 - 4."""
    x = mpmath.sqrt(max(u + 4, mpf(10) ** -20))
    return mpmath.erf(x) / x


def _shifted_erfcx(t: mpf) -> mpf:
    """Return (1 + 2 x) erfcx(x) of t = (x - 15/4) / (x + 15/4): from 1 to 2 / sqrt(pi)."""
    if t == 1:
        return 2 / mpmath.sqrt(mpmath.pi)
    x = mpf("3.75") * (1 + t) / (1 - t)
    if x < 100:
        return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)
    terms = [(-1) ** k * mpmath.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12)]
    return (2 + 1 / x) * mpmath.fsum(terms) / mpmath.sqrt(mpmath.pi)


QUARTER_PI = mpmath.pi / 4 * mpf("1.0001")
HALF_LN2 = mpmath.ln2 / 2 * mpf("1.001")
ROOT = mpmath.sqrt(2)
S_MAX = (ROOT - 1) / (ROOT + 1)

FITS = [
    Fit("erf", _erf_quotient, lambda z: 1, mpf(0), mpf(1), {"f32": 6, "f64": 11}),
    Fit("erf_near", _erf_quotient, _erf_quotient_weight, mpf(0), mpf("1.44"), {"f32": 7}),
    Fit("erf_far", _erfc_root, lambda x: _erfc_root(x) ** 7, mpf("1.2"), mpf("3.93"), {"f32": 6}),
    Fit("log_erfc64", _log_erfc, _erfc_over_erf, mpf(1), mpf("5.95"), {"f64": 16}),
    Fit("erfcx32", _erfcx, _erfcx_weight, mpf("-0.75"), mpf("1.01"), {"f32": 9}),
    Fit("erfcx64", _erfcx, _erfcx_weight, mpf("-1.02"), mpf("1.01"), {"f64": 22}),
    Fit("cbrt", _cbrt, lambda m: 1 / _cbrt(m), mpf("0.353"), mpf("2.83"), {"f32": 4}),
    Fit("gamma", _log_gamma, lambda t: 1, mpf("-0.501"), mpf("0.501"), {"f32": 9, "f64": 18}),
    Fit("arch", _gamma_arch, lambda t: 1, -mpf(1) / 2, mpf(1) / 2, {"f64": 19}),
    Fit("shifted_erfcx", _shifted_erfcx, lambda t: 1, -mpf(1), mpf(1), {"f64": 24}),
    Fit("shifted_erfcx_short", _shifted_erfcx, lambda t: 1, -mpf(1), mpf(1), {"f64": 14}),
    Fit("inverses", lambda s: 1 / (1 + s), lambda s: 1 + s, mpf(0), mpf(1), {"f64": 21}),
    Fit("inverses_short", lambda s: 1 / (1 + s), lambda s: 1 + s, mpf(0), mpf(1), {"f64": 11}),
    Fit("lanczos", _lanczos, lambda w: 1 / _lanczos(w), mpf(0), mpf(4) / 5, {"f64": 13}),
    Fit("lanczos_short", _lanczos, lambda w: 1 / _lanczos(w), mpf(0), mpf(4) / 5, {"f64": 8}),
    Fit("sine", _sine, lambda z: 1, mpf(0), mpf(1) / 4, {"f64": 6}),
    Fit("psi", _digamma, lambda t: 1, mpf("-0.501"), mpf("0.501"), {"f32": 10, "f64": 20}),
    Fit("stirling32", _stirling, mpmath.sqrt, mpf(0), mpf(1) / 16, {"f32": 2}),
    Fit("stirling64", _stirling, mpmath.sqrt, mpf(0), mpf(1) / 36, {"f64": 6}),
    Fit("psi_tail32", _digamma_tail, lambda z: z, mpf(0), mpf(1) / 16, {"f32": 3}),
    Fit("psi_tail64", _digamma_tail, lambda z: z, mpf(0), mpf(1) / 36, {"f64": 7}),
    Fit("log2_short", _log2_over, _log2_weight, 1 / ROOT - 1, ROOT - 1, {"f64": 13}),
    Fit("exp2_short", _exp2, lambda r: r / 2**r, mpf("-0.501"), mpf("0.501"), {"f64": 6}),
    Fit("atanh_fifth", _atanh_fifth, lambda z: z, mpf(0), S_MAX**2, {"f64": 6}),
    Fit("exp", _exp, lambda r: r**2 / mpmath.exp(r), -HALF_LN2, HALF_LN2, {"f32": 4, "f64": 9}),
    Fit("exp2", _exp2, lambda r: r / 2**r, mpf("-0.501"), mpf("0.501"), {"f32": 5, "f64": 11}),
    Fit("exp2_even", _exp2_even, _exp2_even_weight, mpf(0), mpf("0.251001"), {"f32": 2, "f64": 4}),
    Fit("tanh", _tanh_small, _tanh_small_weight, mpf(0), mpf("0.3025"), {"f32": 2, "f64": 5}),
    Fit("log", _log, _log_weight, 1 / ROOT - 1, ROOT - 1, {"f32": 7}),
    Fit("log_quotient", _log_quotient, lambda z: z, mpf(0), S_MAX**2, {"f64": 6}),
    Fit("half_tanh", _x_coth, lambda u: 1 / _x_coth(u), -mpf("12.5"), mpf("12.5"), {"half": 9}),
    Fit("half_erf", _erf_over_x, lambda u: 1 / _erf_over_x(u), mpf(-4), mpf(4), {"half": 8}),
    Fit("half_erfcx", _erfcx, _erfcx_weight, mpf("-0.75"), mpf("1.56"), {"half": 6}),
    Fit("half_exp", _exp, lambda r: r**2 / mpmath.exp(r), -HALF_LN2, HALF_LN2, {"half": 2}),
    _odd("sin", mpmath.sin, QUARTER_PI, {"f32": 2, "f64": 5}),
    Fit("cos", _cos, _cos_weight, mpf(0), QUARTER_PI**2, {"f32": 2, "f64": 5}),
    _odd("tan", mpmath.tan, QUARTER_PI, {"f32": 6, "f64": 14}),
    _odd("sinh", mpmath.sinh, mpf(1), {"f32": 2, "f64": 6}),
    _odd("atan", mpmath.atan, mpf(1), {"f32": 8, "f64": 19}),
    _odd("atan_half", mpmath.atan, mpf("0.5"), {"f64": 11}),
    _odd("asin", mpmath.asin, mpf("0.5"), {"f32": 4, "f64": 12}),
]


def main(wanted: str) -> None:
    """Print the fits whose names contain `wanted`."""
    for item in FITS:
        if wanted not in item.name:
            continue
        for kind, degree in item.degrees.items():
            coefficients, worst = fit(item.function, item.weight, item.low, item.high, degree)
            dtype = np.float64 if kind == "f64" else np.float32
            print(f"# {item.name} {kind}: error {mpmath.nstr(mpmath.log(worst, 2), 4)} bits")
            print("(")
            for coefficient in coefficients:
                print(f"    {float(dtype(float(coefficient)))!r},".replace("np.float64", ""))
            print(")")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
