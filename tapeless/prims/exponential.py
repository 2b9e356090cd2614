"""Exponentials and logarithms, of real and complex numbers.

`expm1` and `log1p` keep their accuracy near 0.  Derivatives use the result where that saves work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.core.trace import Value
from tapeless.prims.accuracy import Accurate, accuracy_params
from tapeless.prims.binary import add, div, mul, sub
from tapeless.prims.common import const

__all__ = [
    "exp",
    "exp2",
    "exp2_p",
    "exp_p",
    "expm1",
    "expm1_p",
    "log",
    "log1p",
    "log1p_p",
    "log2",
    "log2_p",
    "log_p",
    "logistic",
    "logistic_p",
]


class Exp(Accurate):
    """e ** x."""

    name = "exp"
    partials = (lambda t, out, x, **params: mul(t, out),)
    kernel_name = "exp"
    hlo_name = "stablehlo.exponential"
    numpy = np.exp


exp_p = Exp()


def exp(x: Value, *, accuracy: object = None) -> Value:
    """Return e ** x, elementwise.

    >>> lax.exp(jnp.array([0.25, 0.5])).round(3)
    Array([1.284, 1.649], dtype=float32)
    """
    return exp_p.bind(x, **accuracy_params(accuracy))[0]


class Exp2(Accurate):
    """2 ** x."""

    name = "exp2"
    partials = (lambda t, out, x, **params: mul(log(const(x, 2)), mul(t, out)),)
    kernel_name = "exp2"

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Change the base."""
        (x,) = args
        return (exp(mul(const(x, float(np.log(2))), x)),)

    numpy = np.exp2


exp2_p = Exp2()


def exp2(x: Value, *, accuracy: object = None) -> Value:
    """Return 2 ** x, elementwise.

    >>> lax.exp2(jnp.array([0.25, 0.5])).round(3)
    Array([1.189, 1.414], dtype=float32)
    """
    return exp2_p.bind(x, **accuracy_params(accuracy))[0]


class Expm1(Accurate):
    """e ** x - 1, accurate near 0."""

    name = "expm1"
    partials = (lambda t, out, x, **params: mul(t, exp(x)),)
    kernel_name = "expm1"
    hlo_name = "stablehlo.exponential_minus_one"
    numpy = np.expm1


expm1_p = Expm1()


def expm1(x: Value, *, accuracy: object = None) -> Value:
    """Return e ** x - 1, elementwise, accurate near 0.

    >>> lax.expm1(jnp.array([0.25, 0.5])).round(3)
    Array([0.284, 0.649], dtype=float32)
    """
    return expm1_p.bind(x, **accuracy_params(accuracy))[0]


class Log(Accurate):
    """The natural logarithm."""

    name = "log"
    partials = (lambda t, out, x, **params: div(t, x),)
    kernel_name = "log"
    hlo_name = "stablehlo.log"
    numpy = np.log


log_p = Log()


def log(x: Value, *, accuracy: object = None) -> Value:
    """Return the natural logarithm, elementwise.

    >>> lax.log(jnp.array([0.25, 0.5])).round(3)
    Array([-1.386, -0.693], dtype=float32)
    """
    return log_p.bind(x, **accuracy_params(accuracy))[0]


class Log2(Accurate):
    """The logarithm to the base 2."""

    name = "log2"
    partials = (lambda t, out, x, **params: div(t, mul(x, log(const(x, 2)))),)
    kernel_name = "log2"

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Change the base."""
        (x,) = args
        return (mul(log(x), const(x, float(1 / np.log(2)))),)

    numpy = np.log2


log2_p = Log2()


def log2(x: Value, *, accuracy: object = None) -> Value:
    """Return the logarithm to the base 2, elementwise.

    >>> lax.log2(jnp.array([0.25, 0.5])).round(3)
    Array([-2., -1.], dtype=float32)
    """
    return log2_p.bind(x, **accuracy_params(accuracy))[0]


class Log1p(Accurate):
    """log(1 + x), accurate near 0."""

    name = "log1p"
    partials = (lambda t, out, x, **params: div(t, add(x, const(x, 1))),)
    kernel_name = "log1p"
    hlo_name = "stablehlo.log_plus_one"
    numpy = np.log1p


log1p_p = Log1p()


def log1p(x: Value, *, accuracy: object = None) -> Value:
    """Return log(1 + x), elementwise, accurate near 0.

    >>> lax.log1p(jnp.array([0.25, 0.5])).round(3)
    Array([0.223, 0.405], dtype=float32)
    """
    return log1p_p.bind(x, **accuracy_params(accuracy))[0]


class Logistic(Accurate):
    """1 / (1 + e ** -x)."""

    name = "logistic"
    partials = (lambda t, out, x, **params: mul(t, mul(out, sub(const(x, 1), out))),)
    kernel_name = "logistic"
    hlo_name = "stablehlo.logistic"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Evaluate the formula."""
        return 1 / (1 + np.exp(-x))


logistic_p = Logistic()


def logistic(x: Value, *, accuracy: object = None) -> Value:
    """Return 1 / (1 + exp(-x)), elementwise.

    >>> lax.logistic(jnp.array([0.25, 0.5])).round(3)
    Array([0.562, 0.622], dtype=float32)
    """
    return logistic_p.bind(x, **accuracy_params(accuracy))[0]
