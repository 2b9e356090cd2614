"""Comparisons: two values of one dtype -> bool.  They have no tangents.

NaN is unequal to everything and neither below nor above it.  Complex numbers and keys may be tested
for equality only; keys are equal if their words are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.trace import Value
from tapeless.prims.common import (
    ANY,
    REAL,
    Avals,
    Elementwise,
    stretched_hlo,
)
from tapeless.util import lazy

__all__ = [
    "Comparison",
    "eq",
    "eq_p",
    "ge",
    "ge_p",
    "gt",
    "gt_p",
    "le",
    "le_p",
    "lt",
    "lt_p",
    "ne",
    "ne_p",
]

kernel_parts = lazy.load("tapeless.kernel.parts")


class Comparison(Elementwise):
    """An elementwise test of two operands; `name` is StableHLO's direction in small letters."""

    accepts = (REAL, REAL)
    partials = (None, None)

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return bool."""
        return np.dtype(np.bool_)

    def hlo(self, b: Any, args: Any, outs: Avals, **params: Any) -> tuple:
        """Write `compare` with the direction and the kind of comparison."""
        dtype = args[0].aval.dtype
        kind = "SIGNED"
        if dtypes.issubdtype(dtype, np.inexact):
            kind = "FLOAT"
        elif dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
            kind = "UNSIGNED"
        attributes = {
            "comparison_direction": f"#stablehlo<comparison_direction {self.name.upper()}>",
            "compare_type": f"#stablehlo<comparison_type {kind}>",
        }
        args = [stretched_hlo(b, arg, outs[0].shape) for arg in args]
        return b.op("stablehlo.compare", args, outs, attributes)


class Equality(Comparison):
    """A test for equality or its opposite: `kernel_name` of the parts, joined by `joined_by`."""

    accepts = (ANY, ANY)
    joined_by: str

    def _check_kinds(self, avals: Sequence[ShapedArray]) -> None:
        """Allow keys of one generator, too."""
        if not isinstance(avals[0].dtype, dtypes.KeyDtype) or avals[0].dtype != avals[1].dtype:
            super()._check_kinds(avals)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Test the parts, if there are any, and join the answers."""
        if not isinstance(scalars[0], kernel_parts.Parts):
            return super().scalar(b, *scalars, **params)
        tests = map(getattr(b, self.kernel_name), *scalars)
        return functools.reduce(getattr(b, self.joined_by), tests)


class Eq(Equality):
    """x == y."""

    name = "eq"
    joined_by = "and_"
    tip = "equal"
    kernel_name = "eq"
    numpy = np.equal


eq_p = Eq()


def eq(x: Value, y: Value) -> Value:
    """Return x == y, elementwise.

    >>> lax.eq(jnp.array([1, 2, 3]), jnp.array([2, 2, 2]))
    Array([False,  True, False], dtype=bool)
    """
    return eq_p.bind(x, y)[0]


class Ne(Equality):
    """x != y."""

    name = "ne"
    joined_by = "or_"
    tip = "not_equal"
    kernel_name = "ne"
    numpy = np.not_equal


ne_p = Ne()


def ne(x: Value, y: Value) -> Value:
    """Return x != y, elementwise.

    >>> lax.ne(jnp.array([1, 2, 3]), jnp.array([2, 2, 2]))
    Array([ True, False,  True], dtype=bool)
    """
    return ne_p.bind(x, y)[0]


class Lt(Comparison):
    """x < y."""

    name = "lt"
    kernel_name = "lt"
    numpy = np.less


lt_p = Lt()


def lt(x: Value, y: Value) -> Value:
    """Return x < y, elementwise.

    >>> lax.lt(jnp.array([1, 2, 3]), jnp.array([2, 2, 2]))
    Array([ True, False, False], dtype=bool)
    """
    return lt_p.bind(x, y)[0]


class Le(Comparison):
    """x <= y."""

    name = "le"
    kernel_name = "le"
    numpy = np.less_equal


le_p = Le()


def le(x: Value, y: Value) -> Value:
    """Return x <= y, elementwise.

    >>> lax.le(jnp.array([1, 2, 3]), jnp.array([2, 2, 2]))
    Array([ True,  True, False], dtype=bool)
    """
    return le_p.bind(x, y)[0]


class Gt(Comparison):
    """x > y."""

    name = "gt"
    kernel_name = "gt"
    numpy = np.greater


gt_p = Gt()


def gt(x: Value, y: Value) -> Value:
    """Return x > y, elementwise.

    >>> lax.gt(jnp.array([1, 2, 3]), jnp.array([2, 2, 2]))
    Array([False, False,  True], dtype=bool)
    """
    return gt_p.bind(x, y)[0]


class Ge(Comparison):
    """x >= y."""

    name = "ge"
    kernel_name = "ge"
    numpy = np.greater_equal


ge_p = Ge()


def ge(x: Value, y: Value) -> Value:
    """Return x >= y, elementwise.

    >>> lax.ge(jnp.array([1, 2, 3]), jnp.array([2, 2, 2]))
    Array([False,  True,  True], dtype=bool)
    """
    return ge_p.bind(x, y)[0]
