"""`jax.experimental.jet`: higher derivatives along a curve.

    x(t) = x_0 + x_1 t + x_2 t^2 / 2! + ...    ->    f(x(t)) = y_0 + y_1 t + y_2 t^2 / 2! + ...

The derivatives y_k of f along the curve are those of a function of one number, t, at 0.  They are
found by forward differentiation, nested as often as there are orders, in which each level returns
all derivatives below it too: one evaluation in all, and every operation has its rule already.

Unlike in JAX there are no series rules of operations.  So every function has higher derivatives,
loops and solvers included; but K orders cost up to 2^K evaluations of f, where series rules cost
K^2: many orders are dear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.autodiff import jvp
from tapeless.core.trace import Value
from tapeless.numpy.common import is_arraylike, promote_dtypes_inexact
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.util.names import close_module

__all__ = ["fact", "jet"]


def fact(n: Any) -> Value:
    """Return n!, as a floating-point number.

    >>> print(fact(5).round(3))
    120.0
    """
    return jnp.exp(_log_factorial(n))


def _log_factorial(n: Any) -> Value:
    """Return log n!."""
    (x,) = promote_dtypes_inexact(n)
    return lax.lgamma(x + 1.0)


def _curve(primal: Value, derivatives: Sequence[Value], t: Value) -> Value:
    """Return the point of a curve: x_0 + t (x_1 + t/2 (x_2 + ...))."""
    total: Any = None
    for k in range(len(derivatives), 0, -1):
        inner = derivatives[k - 1] if total is None else derivatives[k - 1] + total
        total = (t / k) * inner
    return primal if total is None else primal + total


def _with_derivative(function: Callable) -> Callable:
    """Return a function of t: the lists of `function`, and the derivative of the last one."""

    def longer(t: Value) -> list[list[Value]]:
        """Differentiate once."""
        values, tangents = jvp(function, (t,), (1.0,))
        return [*values, tangents[-1]]

    return longer


def _checked(primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> int:
    """Return the number of orders, or refuse what does not fit."""
    for position, primal in enumerate(primals):
        if not is_arraylike(primal):
            raise ValueError(f"primal value at position {position} is not an array")
    lengths = {len(terms) for terms in series}
    if len(lengths) > 1:
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    if len(primals) != len(series):
        raise TypeError(
            f"jet needs a series for each argument, got {len(primals)} primals and {len(series)} "
            "series"
        )
    for position, (primal, terms) in enumerate(zip(primals, series, strict=True)):
        for order, term in enumerate(terms, 1):
            if not is_arraylike(term) or jnp.shape(term) != jnp.shape(primal):
                raise TypeError(
                    f"term {order} of the series of argument {position} must be an array of shape "
                    f"{jnp.shape(primal)}, as the primal value is, got {term!r}"
                )
    return lengths.pop() if lengths else 0


def jet(
    fun: Callable, primals: Any, series: Any, factorial_scaled: bool = True, **_: Any
) -> tuple[Any, Any]:
    """Return fun(*primals), and its derivatives along a curve.

    primals: a sequence of arrays, x_0 of each argument.  series: for each a list of the derivatives
    x_1, ..., x_K of the curve.  factorial_scaled: False, if the terms of `series` and of the result
    are coefficients instead, x_k / k!.

    The second result is a tree like the first, with a list [y_1, ..., y_K] for each array.

    >>> value, (first, second) = jet(jnp.sin, (0.5,), ([1.0, 0.0],))
    >>> print(value.round(3), first.round(3), second.round(3))
    0.479 0.878 -0.479
    """
    primals, series = list(primals), [list(terms) for terms in series]
    order = _checked(primals, series)
    scales = [1.0 if factorial_scaled else float(math.factorial(k + 1)) for k in range(order)]
    points = [promote_dtypes_inexact(jnp.asarray(primal))[0] for primal in primals]
    slopes = [
        [term if scale == 1.0 else term * scale for term, scale in zip(terms, scales, strict=True)]
        for terms in series
    ]
    leaves, tree = tree_flatten(fun(*points))
    moving = [i for i, leaf in enumerate(leaves) if _is_moving(leaf)]

    def along(t: Value) -> list[list[Value]]:
        """Return the results that have derivatives, at a point of the curve."""
        operands = [_curve(x, terms, t) for x, terms in zip(points, slopes, strict=True)]
        found = tree_flatten(fun(*operands))[0]
        return [[found[i] for i in moving]]

    function = along
    for _level in range(order):
        function = _with_derivative(function)
    values = function(0.0)
    terms = {i: [level[k] for level in values[1:]] for k, i in enumerate(moving)}
    out = [
        [y / scale for y, scale in zip(terms[i], scales, strict=True)]
        if i in terms
        else [jnp.zeros(jnp.shape(leaf), jnp.result_type(float))] * order
        for i, leaf in enumerate(leaves)
    ]
    return tree_unflatten(tree, leaves), tree_unflatten(tree, out)


def _is_moving(leaf: Any) -> bool:
    """Tell whether a result has derivatives."""
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


close_module("jax.experimental.jet", globals())
