"""Linear systems by iteration: conjugate gradients and its relatives, on trees.

A is a function from trees to trees like `b`, or a matrix; M approximates its inverse.  Iteration
ends where |b - A x| <= max(tol |b|, atol).

Results are differentiated by `custom_linear_solve`: the derivative of x is the solution of another
system, found by the same method, and the steps of the iteration are not differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.linear_solve import custom_linear_solve
from tapeless.core.trace import Value
from tapeless.tree.flatten import tree_leaves, tree_structure
from tapeless.tree.maps import tree_map

__all__ = ["bicgstab", "cg", "gmres"]


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
    if not hasattr(A, "shape"):
        raise TypeError(f"linear operator must be either a function or ndarray: {A}")
    matrix = jnp.asarray(A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {matrix.shape}")
    return lambda x: jnp.matmul(matrix, x, precision=lax.Precision.HIGHEST)


def _solved(
    solver: Callable,
    A: Any,  # noqa: N803
    b: Any,
    x0: Any,
    maxiter: Any,
    M: Any,  # noqa: N803
    symmetric: bool = False,
) -> Any:
    """Return the solution by solver(apply, precondition, b, x0, maxiter), differentiable."""
    b = tree_map(jnp.asarray, b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    shapes = [[x.shape for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}"
        )
    if not all(jnp.issubdtype(x.dtype, jnp.inexact) for x in tree_leaves(b)):
        raise TypeError(
            "iterative solvers need a floating or complex right side b, got dtypes "
            f"{[str(x.dtype) for x in tree_leaves(b)]}: convert it, as by b.astype(float)"
        )
    x0 = tree_map(lambda x, y: x.astype(y.dtype), x0, b)
    if not tree_leaves(b) or not any(x.size for x in tree_leaves(b)):
        return x0
    apply = _as_function(A)
    precondition = (lambda x: x) if M is None else _as_function(M)
    most = 10 * sum(x.size for x in tree_leaves(b)) if maxiter is None else maxiter

    def checked(x: Any) -> Any:
        """Apply A and check its result."""
        image = apply(x)
        if tree_structure(image) != tree_structure(b):
            raise TypeError(
                "matvec() output pytree structure must match b, got "
                f"{tree_structure(image)} and {tree_structure(b)}."
            )
        found, wanted = ([y.shape for y in tree_leaves(tree)] for tree in (image, b))
        if found != wanted:
            raise ValueError(f"matvec() output shapes must match b, got {found} and {wanted}")
        return image

    def solve(product: Callable, right: Any) -> Any:
        """Solve with a map, A's or its transpose."""
        return solver(product, precondition, right, x0, most)

    return custom_linear_solve(checked, b, solve=solve, transpose_solve=solve, symmetric=symmetric)


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

    A: (n, n), or a function (n,) -> (n,), of arrays or of trees, b: (n,) -> x: (n,)

    >>> cg(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 4.0]))[0].round(3)
    Array([1., 1.], dtype=float32)
    """
    solver = functools.partial(_conjugate_gradients, tol=tol, atol=atol, is_plain=M is None)
    is_real = not any(jnp.iscomplexobj(x) for x in tree_leaves(b))
    return _solved(solver, A, b, x0, maxiter, M, symmetric=is_real), None


def _conjugate_gradients(
    apply: Callable,
    precondition: Callable,
    b: Any,
    x0: Any,
    most: Any,
    tol: Any,
    atol: Any,
    is_plain: bool,
) -> Any:
    """Return the solution by conjugate gradients; is_plain: nothing is preconditioned."""
    limit = jnp.maximum(tol**2 * _square(b), atol**2)

    def goes_on(carry: tuple) -> Value:
        """Go on while the residual is large."""
        _, residual, gamma, _, step = carry
        size = gamma.real if is_plain else _square(residual)
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
    return lax.while_loop(goes_on, body, start)[0]


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

    A: (n, n), or a function (n,) -> (n,), of arrays or of trees, b: (n,) -> x: (n,)
    The iteration also ends where it breaks down, with what it has.

    >>> bicgstab(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))[0].round(3)
    Array([1., 1.], dtype=float32)
    """
    solver = functools.partial(_stabilised_gradients, tol=tol, atol=atol)
    return _solved(solver, A, b, x0, maxiter, M), None


def _stabilised_gradients(
    apply: Callable,
    precondition: Callable,
    b: Any,
    x0: Any,
    most: Any,
    tol: Any,
    atol: Any,
) -> Any:
    """Return the solution by stabilised biconjugate gradients."""
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
    return lax.while_loop(goes_on, body, start)[0]


def gmres(
    A: Any,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
    solve_method: str = "batched",
) -> tuple[Any, Value]:
    """Return x with A x = b, for any A, and 0: by generalised minimal residuals.

    A: (n, n), or a function (n,) -> (n,), of arrays or of trees, b: (n,) -> x: (n,)
    restart: after how many steps the space that is searched is built anew.  maxiter: how often at
    most.  solve_method: "batched" takes all these steps; "incremental" looks after each whether the
    residual is small.  The second result is -1 where x is not a number.

    >>> gmres(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([3.0, 4.0]))[0].round(3)
    Array([1., 1.], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    if restart < 1:
        raise IndexError(f"gmres needs at least one step before a restart, got restart={restart}")
    solver = functools.partial(
        _minimal_residuals,
        tol=tol,
        atol=atol,
        restart=restart,
        is_patient=solve_method == "batched",
    )
    x = _solved(solver, A, b, x0, maxiter, M)
    is_nan = jnp.isnan(_square(x)) if tree_leaves(x) else False
    return x, jnp.where(is_nan, -1, 0)


def _minimal_residuals(
    apply: Callable,
    precondition: Callable,
    b: Any,
    x0: Any,
    most: Any,
    tol: Any,
    atol: Any,
    restart: int,
    is_patient: bool,
) -> Any:
    """Return the solution by generalised minimal residuals; is_patient: all steps are taken."""
    restart = min(restart, sum(x.size for x in tree_leaves(b)))
    size = jnp.sqrt(_square(b))
    limit = jnp.maximum(tol * size, atol)
    # Residuals are seen through the preconditioner.
    share = jnp.where(size > 0, jnp.minimum(1.0, limit / jnp.where(size > 0, size, 1)), 1.0)
    limit = jnp.sqrt(_square(precondition(b))) * share

    def residual(x: Any) -> Any:
        """Return the preconditioned residual."""
        return precondition(_plus(b, -1, apply(x)))

    def goes_on(carry: tuple) -> Value:
        """Go on while the residual is large."""
        _, rest, n_cycles = carry
        return (jnp.sqrt(_square(rest)) > limit) & (n_cycles < most)

    def cycle(carry: tuple) -> tuple:
        """Search one space."""
        x, rest, n_cycles = carry
        stop = -1.0 if is_patient else limit
        x = _plus(
            x, 1, _best_in_krylov_space(lambda v: precondition(apply(v)), rest, restart, stop)
        )
        return x, residual(x), n_cycles + 1

    return lax.while_loop(goes_on, cycle, (x0, residual(x0), 0))[0]


class _Krylov(NamedTuple):
    """A space and the equations in it, after k steps.

    basis: k + 1 orthonormal trees, in front axes of m + 1.  triangle: (m + 1, m), what rotations
    have made of the coefficients of A in the basis.  rotations: (m, 2).  right: (m + 1), the
    rotated right side, whose element k is the residual.
    """

    k: Value
    basis: Any
    triangle: Value
    rotations: Value
    right: Value


def _coefficients(basis: Any, v: Any) -> Value:
    """Return the inner products of a tree with those of a basis: (m + 1)."""
    pairs = zip(tree_leaves(basis), tree_leaves(v), strict=True)
    return sum(
        jnp.matmul(
            jnp.conj(rows.reshape(rows.shape[0], -1)), x.ravel(), precision=lax.Precision.HIGHEST
        )
        for rows, x in pairs
    )


def _combined(basis: Any, weights: Value) -> Any:
    """Return a sum of the trees of a basis."""
    highest = lax.Precision.HIGHEST
    return tree_map(lambda rows: jnp.tensordot(weights, rows, 1, precision=highest), basis)


def _rotated(pair: Value, p: Value, q: Value) -> tuple[Value, Value]:
    """Apply the rotation that takes (a, b), of norm 1 and with b real, to (1, 0)."""
    a, b = pair
    return jnp.conj(a) * p + b * q, a * q - b * p


def _krylov_step(apply: Callable, state: _Krylov) -> _Krylov:
    """Add one vector to the basis, and one column to the equations."""
    k, basis = state.k, state.basis
    image = apply(tree_map(lambda rows: rows[k], basis))
    size = jnp.sqrt(_square(image))
    column = _coefficients(basis, image)
    rest = _plus(image, -1, _combined(basis, column))
    again = _coefficients(basis, rest)
    rest = _plus(rest, -1, _combined(basis, again))
    column = (column + again).astype(state.triangle.dtype)
    length = jnp.sqrt(_square(rest))
    is_new = length > 10 * jnp.finfo(column.dtype).eps * size
    length = jnp.where(is_new, length, 0).astype(length.dtype)
    scale = jnp.where(is_new, 1 / jnp.where(is_new, length, 1), 0)
    basis = tree_map(
        lambda rows, x: rows.at[k + 1].set((x * scale).astype(rows.dtype)), basis, rest
    )
    column = column.at[k + 1].set(length.astype(column.dtype))

    def rotate(j: Value, column: Value) -> Value:
        """Apply an earlier rotation to the new column."""
        upper, lower = _rotated(state.rotations[j], column[j], column[j + 1])
        return column.at[j].set(upper).at[j + 1].set(lower)

    column = lax.fori_loop(0, k, rotate, column)
    norm = jnp.sqrt(jnp.abs(column[k]) ** 2 + length**2)
    is_regular = norm > 0
    pair = jnp.stack([column[k], column[k + 1]]) / jnp.where(is_regular, norm, 1)
    pair = jnp.where(is_regular, pair, jnp.array([1, 0])).astype(column.dtype)
    upper, lower = _rotated(pair, state.right[k], state.right[k + 1])
    column = column.at[k].set(norm.astype(column.dtype)).at[k + 1].set(0)
    return _Krylov(
        k + 1,
        basis,
        state.triangle.at[:, k].set(column),
        state.rotations.at[k].set(pair),
        state.right.at[k].set(upper).at[k + 1].set(lower),
    )


def _best_in_krylov_space(apply: Callable, rest: Any, m: int, stop: Any) -> Any:
    """Return the x in a space of m dimensions for which |rest - A x| is least.

    stop: it ends before that dimension where the residual is as small as this.
    """
    length = jnp.sqrt(_square(rest))
    safe = jnp.where(length > 0, length, 1)
    dtype = jnp.result_type(*tree_leaves(rest))
    zeros = tree_map(lambda x: jnp.zeros((m + 1, *x.shape), x.dtype), rest)
    state = _Krylov(
        jnp.asarray(0),
        tree_map(lambda rows, x: rows.at[0].set(x / safe.astype(x.dtype)), zeros, rest),
        jnp.zeros((m + 1, m), dtype),
        jnp.zeros((m, 2), dtype),
        jnp.zeros(m + 1, dtype).at[0].set(length.astype(dtype)),
    )

    def goes_on(state: _Krylov) -> Value:
        """Go on while there are dimensions left and the residual is large."""
        return (state.k < m) & (jnp.abs(state.right[state.k]) > stop)

    state = lax.while_loop(goes_on, functools.partial(_krylov_step, apply), state)
    is_used = jnp.arange(m) < state.k
    diagonal = jnp.diagonal(state.triangle)
    is_solvable = is_used & (diagonal != 0)
    triangle = state.triangle[:m] + jnp.diag(jnp.where(is_solvable, 0, 1).astype(dtype))
    right = jnp.where(is_solvable, state.right[:m], 0)
    weights = lax.linalg.triangular_solve(triangle, right[:, None], left_side=True)[:, 0]
    basis = tree_map(lambda rows: rows[:m], state.basis)
    return tree_map(lambda x, y: y.astype(x.dtype), rest, _combined(basis, weights))
