"""`jax.interpreters.ad`: rules of differentiation for primitives of libraries.

The tables hold the rules; the functions fill them for common kinds of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Zero, zero_tangent
from tapeless.core.trace import Value
from tapeless.extend.rules import Primitive, UndefinedPrimal, primitive_jvps, primitive_transposes
from tapeless.prims.common import add_tangents, apply, instantiate, zeros_like
from tapeless.transforms.jvp import JVPTrace, JVPTracer
from tapeless.util.names import close_module

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]


def is_undefined_primal(x: object) -> bool:
    """Tell whether an argument of a transpose rule is one to transpose by."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Value:
    """Return a tangent, zeros where it is a `Zero`.

    >>> instantiate_zeros(Zero(ShapedArray((2,), "float32")))
    Array([0., 0.], dtype=float32)
    """
    return instantiate(tangent)


def zeros_like_aval(aval: ShapedArray) -> Value:
    """Return an array of zeros of a type."""
    return zeros_like(aval)


def add_jaxvals(x: Value, y: Value) -> Value:
    """Return the sum of two values of one type."""
    return apply("add_any", x, y)


def get_primitive_transpose(prim: Primitive) -> Callable[..., Any]:
    """Return the transpose rule of a primitive, or raise NotImplementedError."""
    if prim not in primitive_transposes:
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{prim}' not implemented"
        )
    return primitive_transposes[prim]


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Say that an operation is linear; `transpose_rule(ct, *args, **params)` gives cotangents."""

    def jvp(primals: Sequence[Value], tangents: Sequence[Any], **params: Any) -> tuple:
        """Apply the operation to the tangents."""
        out = primitive.bind(*primals, **params)
        if all(type(tangent) is Zero for tangent in tangents):
            if primitive.multiple_results:
                return out, [zero_tangent(x) for x in out]
            return out, zero_tangent(out)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose_rule


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """As `deflinear2`, for a rule that looks at the cotangent alone."""
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Give one rule per argument, `rule(tangent, *primals, **params)`; None for constant ones."""
    rules = [_without_result(rule) for rule in jvprules]
    defjvp2(primitive, *rules)


def _without_result(rule: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a rule that does not look at the result."""
    if rule is None:
        return None
    return lambda tangent, out, *primals, **params: rule(tangent, *primals, **params)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Give one rule per argument, `rule(tangent, result, *primals, **params)`."""

    def jvp(primals: Sequence[Value], tangents: Sequence[Any], **params: Any) -> tuple:
        """Add up the contributions."""
        out = primitive.bind(*primals, **params)
        moved = [
            rule(tangent, out, *primals, **params)
            for rule, tangent in zip(jvprules, tangents, strict=True)
            if rule is not None and type(tangent) is not Zero
        ]
        return out, reduce(add_tangents, moved, zero_tangent(out))

    primitive_jvps[primitive] = jvp


def defbilinear(
    prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Say that an operation is linear in each of two operands; a rule gives one's cotangent.

    lhs_rule: `(ct, x, y, **params)`, where x is undefined; rhs_rule: the same, where y is.
    """
    defjvp(
        prim,
        lambda tangent, x, y, **params: prim.bind(tangent, y, **params),
        lambda tangent, x, y, **params: prim.bind(x, tangent, **params),
    )

    def transpose(ct: Value, x: Any, y: Any, **params: Any) -> tuple:
        """Call the rule of the operand that is undefined."""
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    primitive_transposes[prim] = transpose


close_module("jax.interpreters.ad", globals())
