"""Linear systems by iteration: conjugate gradients and its relatives, on trees.

A is a function from trees to trees like `b`, or a matrix; M approximates its inverse.  Iteration
ends where |b - A x| <= max(tol |b|, atol).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.tree.flatten import tree_leaves
from tapeless.tree.maps import tree_map

__all__ = ["bicgstab", "cg"]


def _dot(x: Any, y: Any) -> Value:
    """Return the inner product of two trees; the first is conjugated."""
    pairs = zip(tree_leaves(x), tree_leaves(y), strict=True)
    return sum(jnp.vdot(a, b, precision=lax.Precision.HIGHEST) for a, b in pairs)


def _square(x: Any) -> Value:
    """Return the square of the norm of a tree."""
    return jnp.real(_dot(x, x))


def _plus(
    x: Any,
    factor: Any,
    y: Any,
) -> Any:
    """Return x + factor y."""
    return tree_map(lambda a, b: a + factor * b, x, y)


def _as_function(A: Any) -> Callable:  # noqa: N803
    """Return the map of a matrix or function."""
    if callable(A):
        return A
    matrix = jnp.asarray(A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {matrix.shape}")
    return lambda x: jnp.matmul(matrix, x, precision=lax.Precision.HIGHEST)


def _prepared(
    A: Any,
    b: Any,
    x0: Any,
    maxiter: Any,
    M: Any,
) -> tuple:  # noqa: N803
    """Return the maps, the right side, the start and the most steps."""
    b = tree_map(jnp.asarray, b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    if [x.shape for x in tree_leaves(x0)] != [x.shape for x in tree_leaves(b)]:
        raise ValueError("arrays in x0 and b must have matching shapes")
    size = sum(x.size for x in tree_leaves(b))
    precondition = (lambda x: x) if M is None else _as_function(M)
    return _as_function(A), precondition, b, x0, 10 * size if maxiter is None else maxiter


def cg(
    A: Any,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
) -> tuple[Any, None]:
    """Return x with A x = b, and None, for a Hermitian positive definite A: by conjugate gradients.

    >>> cg(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 4.0]))[0].round(3)
    Array([1., 1.], dtype=float32)
    """
    apply, precondition, b, x0, most = _prepared(A, b, x0, maxiter, M)
    limit = jnp.maximum(tol**2 * _square(b), atol**2)

    def goes_on(carry: tuple) -> Value:
        """Go on while the residual is large."""
        _, residual, gamma, _, step = carry
        size = gamma.real if M is None else _square(residual)
        return (size > limit) & (step < most)

    def body(carry: tuple) -> tuple:
        """Take one step along the direction p."""
        x, r, gamma, p, step = carry
        image = apply(p)
        alpha = gamma / _dot(p, image).astype(gamma.dtype)
        x, r = _plus(x, alpha, p), _plus(r, -alpha, image)
        z = precondition(r)
        next_gamma = _dot(r, z).astype(gamma.dtype)
        return x, r, next_gamma, _plus(z, next_gamma / gamma, p), step + 1

    r = _plus(b, -1, apply(x0))
    z = precondition(r)
    dtype = jnp.result_type(*tree_leaves(z))
    start = (x0, r, _dot(r, z).astype(dtype), z, 0)
    return lax.while_loop(goes_on, body, start)[0], None


def bicgstab(
    A: Any,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
) -> tuple[Any, None]:
    """Return x with A x = b, and None, for any A: by stabilised biconjugate gradients.

    The iteration also ends where it breaks down, with what it has.
    """
    apply, precondition, b, x0, most = _prepared(A, b, x0, maxiter, M)
    limit = jnp.maximum(tol**2 * _square(b), atol**2)
    shadow = _plus(b, -1, apply(x0))

    def goes_on(carry: tuple) -> Value:
        """Go on while the residual is large, up to a breakdown."""
        _, r, *_, step = carry
        return (_square(r) > limit) & (step < most) & (step >= 0)

    def body(carry: tuple) -> tuple:
        """Take one step along p, and one that makes the residual smallest."""
        x, r, alpha, omega, rho, p, q, step = carry
        next_rho = _dot(shadow, r).astype(rho.dtype)
        factor = next_rho / rho * alpha / omega
        next_p = _plus(r, factor, _plus(p, -omega, q))
        direction = precondition(next_p)
        next_q = apply(direction)
        next_alpha = next_rho / _dot(shadow, next_q).astype(rho.dtype)
        s = _plus(r, -next_alpha, next_q)
        other = precondition(s)
        t = apply(other)
        next_omega = _dot(t, s).astype(rho.dtype) / _dot(t, t).astype(rho.dtype)
        is_early = _square(s) < limit
        next_omega = jnp.where(is_early, 0, next_omega)
        next_x = _plus(_plus(x, next_alpha, direction), next_omega, other)
        next_r = _plus(s, -next_omega, t)
        broken = (next_rho == 0) | (next_alpha == 0) | ((next_omega == 0) & ~is_early)
        step = jnp.where(broken, -10, step + 1)
        return next_x, next_r, next_alpha, next_omega, next_rho, next_p, next_q, step

    one = jnp.ones((), jnp.result_type(*tree_leaves(b)))
    zeros = tree_map(jnp.zeros_like, shadow)
    start = (x0, shadow, one, one, one, zeros, zeros, jnp.zeros((), int))
    return lax.while_loop(goes_on, body, start)[0], None
