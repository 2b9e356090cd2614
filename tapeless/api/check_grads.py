"""Checks of derivatives against finite differences, and of reverse mode against forward mode.

    check_jvp   f'(x) v         is  (f(x + eps v) - f(x - eps v)) / 2 eps
    check_vjp   <f'(x)* w, v>   is  <w, f'(x) v>
    check_grads applies both, and then to the derivatives themselves, up to an order

Directions are random and the same in every call.  Tolerances are those of the coarser of the two
dtypes compared, times the number of elements, since errors of a random direction add up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.autodiff import jvp, vjp
from tapeless.core.aval import typeof
from tapeless.runtime.array import as_array
from tapeless.tree.flatten import tree_leaves
from tapeless.tree.maps import tree_map

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_EPS = 1e-4
_TOLERANCES = {
    "bfloat16": 1e-1,
    "float16": 1e-2,
    "float32": 2e-3,
    "float64": 1e-5,
    "complex64": 1e-3,
    "complex128": 1e-5,
}


def check_jvp(
    f: Callable,
    f_jvp: Callable,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = _EPS,
    err_msg: str = "",
) -> None:
    """Raise AssertionError unless `f_jvp(args, tangents)` is the derivative of `f`.

    f_jvp: returns (f(*args), tangent of it).  eps: the step of the finite differences.

    >>> check_jvp(lambda x: x * x, lambda p, t: (p[0] * p[0], 2.0 * p[0] * t[0]), (1.5,))
    """
    random = np.random.RandomState(0)
    tangents = tree_map(functools.partial(_direction, random), tuple(args))
    value, tangent = f_jvp(tuple(args), tangents)
    wanted = _numerical_tangent(f, args, tangents, eps)
    _check_dtypes(value, tangent)
    where = f"{err_msg} " if err_msg else ""
    _check_close(value, f(*args), atol, rtol, f"{where}primal")
    _check_close(tangent, wanted, atol, rtol, f"{where}tangent")


def check_vjp(
    f: Callable,
    f_vjp: Callable,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = _EPS,
    err_msg: str = "",
) -> None:
    """Raise AssertionError unless `f_vjp(*args)` is the transposed derivative of `f`.

    f_vjp: returns (f(*args), its pullback).

    >>> check_vjp(lambda x: x * x, lambda x: (x * x, lambda ct: (2.0 * x * ct,)), (1.5,))
    """
    random = np.random.RandomState(0)
    value, pullback = f_vjp(*args)
    where = f"{err_msg} " if err_msg else ""
    _check_close(value, f(*args), atol, rtol, f"{where}primal")
    tangents = tree_map(functools.partial(_direction, random), tuple(args))
    pushed = _numerical_tangent(f, args, tangents, eps)
    cotangent = tree_map(functools.partial(_direction, random), pushed)
    pulled = pullback(tree_map(_cotangent, value, cotangent))
    found, wanted = _inner(tangents, pulled), _inner(pushed, cotangent)
    _check_close(found, wanted, atol, rtol, f"{where}cotangent projection")


def check_grads(
    f: Callable,
    args: Sequence[Any],
    order: int,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Raise AssertionError unless the derivatives of `f` up to `order` are right.

    modes: "fwd", "rev" or both; all mixtures are checked.

    >>> check_grads(lambda x: x * x * x, (1.5,), order=2)
    """
    step = eps or _EPS

    def check(
        function: Callable,
        at: tuple,
        depth: int,
        where: str,
    ) -> None:
        """Check one function and, if `depth` allows, its derivatives."""
        suffix = f" of {where}" if where else ""
        if "fwd" in modes:
            name = f"JVP{suffix}"
            check_jvp(function, functools.partial(jvp, function), at, atol, rtol, step, name)
            if depth > 1:
                check(functools.partial(jvp, function), (at, at), depth - 1, name)
        if "rev" in modes:
            name = f"VJP{suffix}"
            check_vjp(function, functools.partial(vjp, function), at, atol, rtol, step, name)
            if depth > 1:
                random = np.random.RandomState(0)
                value = function(*at)
                draw = functools.partial(_direction, random)
                cotangent = tree_map(_cotangent, value, tree_map(draw, value))
                pull = functools.partial(_pulled, function, cotangent)
                check(pull, at, depth - 1, name)

    check(f, tuple(args), order, "")


def _pulled(
    function: Callable,
    cotangent: Any,
    *args: Any,
) -> Any:
    """Return the cotangents of the arguments."""
    return vjp(function, *args)[1](cotangent)


def _direction(random: np.random.RandomState, x: Any) -> Any:
    """Return a random array of the type of `x`."""
    aval = typeof(x)
    values = random.randn(*aval.shape)
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        values = values + 1j * random.randn(*aval.shape)
    return as_array(np.asarray(values, aval.dtype))


def _cotangent(like: Any, direction: Any) -> Any:
    """Return a direction as a cotangent of `like`; float0 for integers."""
    aval = typeof(like).tangent()
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return as_array(np.asarray(direction, aval.dtype))


def _wide(x: Any) -> np.ndarray:
    """Return a NumPy array that is precise enough for sums."""
    array = np.asarray(x)
    if dtypes.issubdtype(array.dtype, np.complexfloating):
        return array.astype(np.complex128)
    return array.astype(np.float64)


def _numerical_tangent(
    f: Callable,
    args: Sequence[Any],
    tangents: Any,
    eps: float,
) -> Any:
    """Return the central difference of `f` in a direction."""

    def moved(sign: float) -> Any:
        """Return `f` at a shifted point."""

        def shift(x: Any, t: Any) -> Any:
            """Shift one array, in its own dtype."""
            return as_array((_wide(x) + sign * eps * _wide(t)).astype(typeof(x).dtype))

        return f(*tree_map(shift, tuple(args), tangents))

    def slope(high: Any, low: Any) -> np.ndarray:
        """Return the difference quotient, in the dtype of the result."""
        return ((_wide(high) - _wide(low)) / (2 * eps)).astype(typeof(high).dtype)

    return tree_map(slope, moved(1.0), moved(-1.0))


def _inner(a: Any, b: Any) -> Any:
    """Return the inner product of two trees, without conjugation, in the dtype of their values."""
    pairs = list(zip(tree_leaves(a), tree_leaves(b), strict=True))
    pairs = [(x, y) for x, y in pairs if getattr(y, "dtype", None) != dtypes.float0]
    total = sum(np.sum(_wide(x) * _wide(y)).real for x, y in pairs)
    kinds = [np.zeros((), typeof(x).dtype).real.dtype for x, _ in pairs]
    return np.asarray(total, np.result_type(*kinds) if kinds else np.float32)


def _check_dtypes(value: Any, tangent: Any) -> None:
    """Raise AssertionError unless each tangent has the dtype that its value wants."""
    for x, t in zip(tree_leaves(value), tree_leaves(tangent), strict=True):
        wanted, got = typeof(x).tangent().dtype, t.dtype if hasattr(t, "dtype") else typeof(t).dtype
        assert wanted == got, f"tangent of dtype {got} for a value whose tangents are {wanted}"


def _check_close(
    a: Any,
    b: Any,
    atol: float | None,
    rtol: float | None,
    what: str,
) -> None:
    """Raise AssertionError unless two trees agree within the tolerances."""
    for x, y in zip(tree_leaves(a), tree_leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if dtypes.float0 in (x.dtype, y.dtype):
            continue
        size = max(x.size, 1)
        default = max(_TOLERANCES.get(v.dtype.name, 0.0) for v in (x, y))
        absolute = (default if atol is None else atol) * size
        relative = (default if rtol is None else rtol) * size
        np.testing.assert_allclose(
            _comparable(x), _comparable(y), atol=absolute, rtol=relative, err_msg=what
        )


def _comparable(x: np.ndarray) -> np.ndarray:
    """Return an array in a dtype that NumPy can compare."""
    return x.astype(np.float32) if x.dtype.name in ("bfloat16", "float16") else x
