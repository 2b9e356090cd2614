"""Derivatives against finite differences (this is ``jax.test_util``).

For a function f at a point x and a random direction v, forward mode must give the slope of
t -> f(x + t v) at 0, and reverse mode must be its adjoint: <w, f'(x) v> = <f'(x)^T w, v>.
Derivatives of order n are checked by checking those of the functions that compute order n-1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.autodiff import jvp, vjp
from tapeless.tree.flatten import tree_leaves
from tapeless.tree.maps import tree_map

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_EPS = 1e-4
# By the bits of a real number.
_TOLERANCE = {16: 5e-2, 32: 2e-2, 64: 1e-5}


def _numpy(x: Any) -> np.ndarray:
    """Return a leaf in the widest dtype of its kind."""
    x = np.asarray(x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return x.astype(np.complex128)
    return x.astype(np.float64) if dtypes.issubdtype(x.dtype, np.floating) else x


def _has_tangents(x: Any) -> bool:
    """Tell whether a leaf can be moved a little."""
    return dtypes.issubdtype(np.asarray(x).dtype, np.inexact)


def _direction(rng: np.random.Generator, x: Any) -> np.ndarray:
    """Return a random tangent for a leaf; zeros of float0 for integers."""
    x = np.asarray(x)
    if not _has_tangents(x):
        return np.zeros(x.shape, dtypes.float0)
    tangent = rng.standard_normal(x.shape)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        tangent = tangent + 1j * rng.standard_normal(x.shape)
    return np.asarray(tangent).astype(x.dtype)


def _moved(x: Any, tangent: Any, step: float) -> Any:
    """Return x + step * tangent, in the dtype of x."""
    if not _has_tangents(x):
        return x
    return np.asarray(_numpy(x) + step * _numpy(tangent)).astype(np.asarray(x).dtype)


def _slope(f: Callable, args: Sequence[Any], tangents: Sequence[Any], eps: float) -> Any:
    """Return the central difference of `f` in a direction."""
    above = f(*tree_map(lambda x, v: _moved(x, v, eps / 2), args, tangents))
    below = f(*tree_map(lambda x, v: _moved(x, v, -eps / 2), args, tangents))

    def quotient(a: Any, b: Any) -> Any:
        """Divide a difference by the step."""
        if not _has_tangents(a):
            return np.zeros(np.shape(a), dtypes.float0)
        return (_numpy(a) - _numpy(b)) / eps

    return tree_map(quotient, above, below)


def _inner(xs: Any, ys: Any) -> Any:
    """Return the real part of the sum of products: transposition does not conjugate."""
    total = 0.0
    for x, y in zip(tree_leaves(xs), tree_leaves(ys), strict=True):
        if np.asarray(x).dtype != dtypes.float0 and np.asarray(y).dtype != dtypes.float0:
            total += np.sum(_numpy(x) * _numpy(y)).real
    return total


def _tolerance(args: Any, given: float | None) -> float:
    """Return the tolerance for arguments of these dtypes."""
    if given is not None:
        return given
    kinds = [np.asarray(x).dtype for x in tree_leaves(args) if _has_tangents(x)]
    return max((_TOLERANCE.get(dtypes.finfo(kind).bits, 5e-2) for kind in kinds), default=1e-5)


def _compare(got: Any, wanted: Any, atol: float, rtol: float, what: str) -> None:
    """Raise AssertionError where two trees of tangents differ."""
    for a, b in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
        if np.asarray(a).dtype == dtypes.float0:
            continue
        np.testing.assert_allclose(_numpy(a), _numpy(b), atol=atol, rtol=rtol, err_msg=what)


def check_jvp(
    f: Callable,
    f_jvp: Callable,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = _EPS,
    err_msg: str = "",
) -> None:
    """Check a forward-mode derivative, `f_jvp(primals, tangents)`, against differences of `f`."""
    rng = np.random.default_rng(0)
    tangents = tree_map(lambda x: _direction(rng, x), tuple(args))
    value, tangent = f_jvp(tuple(args), tangents)
    where = f"{err_msg}: " if err_msg else ""
    tolerances = _tolerance(args, atol), _tolerance(args, rtol)
    _compare(value, f(*args), *tolerances, f"{where}value of the JVP")
    _compare(tangent, _slope(f, args, tangents, eps), *tolerances, f"{where}JVP tangent")


def check_vjp(
    f: Callable,
    f_vjp: Callable,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = _EPS,
    err_msg: str = "",
) -> None:
    """Check a reverse-mode derivative, `f_vjp(*primals)`, against differences of `f`."""
    rng = np.random.default_rng(0)
    value, pullback = f_vjp(*args)
    where = f"{err_msg}: " if err_msg else ""
    tolerances = _tolerance(args, atol), _tolerance(args, rtol)
    _compare(value, f(*args), *tolerances, f"{where}value of the VJP")
    tangents = tree_map(lambda x: _direction(rng, x), tuple(args))
    slope = _slope(f, args, tangents, eps)
    cotangent = tree_map(lambda x: _direction(rng, x), value)
    along = _inner(pullback(cotangent), tangents)
    _compare(along, _inner(cotangent, slope), *tolerances, f"{where}VJP")


def check_grads(
    f: Callable,
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of `f` at `args` up to `order` against finite differences.

    modes: "fwd", "rev", or both; of order 2 and more, all their combinations.  atol, rtol: by
    default as loose as the dtypes need.  Raises AssertionError where a derivative is wrong.

    >>> from tapeless.prims.trig import sin
    >>> check_grads(sin, (0.3,), order=2)
    """
    step = _EPS if eps is None else eps
    if eps is None and _tolerance(args, None) > _TOLERANCE[64]:
        step = 1e-2
    _check(f, tuple(args), order, modes, (atol, rtol, step), f.__class__.__name__)


def _check(
    f: Callable, args: tuple, order: int, modes: Sequence[str], limits: tuple, what: str
) -> None:
    """Check one order, then the derivatives of the functions that computed it."""
    if order < 1:
        return
    if "fwd" in modes:
        forward = functools.partial(jvp, f)
        check_jvp(f, forward, args, *limits, f"JVP of {what}")
        rng = np.random.default_rng(order)
        tangents = tree_map(lambda x: _direction(rng, x), args)
        _check(lambda *a: jvp(f, a, tangents)[1], args, order - 1, modes, limits, f"JVP of {what}")
    if "rev" in modes:
        check_vjp(f, functools.partial(vjp, f), args, *limits, f"VJP of {what}")
        value, _ = vjp(f, *args)
        rng = np.random.default_rng(order)
        cotangent = tree_map(lambda x: _direction(rng, x), value)

        def backward(*a: Any) -> list[Any]:
            """Return the gradients that have a derivative."""
            gradients = tree_leaves(vjp(f, *a)[1](cotangent))
            return [g for g in gradients if g.dtype != dtypes.float0]

        _check(backward, args, order - 1, modes, limits, f"VJP of {what}")
