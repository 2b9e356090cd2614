"""Minima of functions of a vector: the method of Broyden, Fletcher, Goldfarb and Shanno.

    direction  p = -H g     H: an estimate of the inverse of the second derivatives, at first I
    step       x + a p      a by `line_search`
    update     with s, the step, and y, the change of the gradient, rho = 1 / (y . s):
               H <- (I - rho s y^T) H (I - rho y s^T) + rho s s^T

The whole is one loop, so that it can be compiled and mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.autodiff import value_and_grad
from tapeless.core.trace import Value
from tapeless.numpy.common import check_arraylike
from tapeless.scipy.optimize.line_search import DONE, Point, choose, line_search

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    x: the place.  success: whether the gradient is small there.  fun: the value.  jac: the
    gradient.  hess_inv: the estimate of the inverse of the second derivatives.  nfev, njev, nit:
    how many values and gradients were computed, and steps taken.  status: 0 success, 1 too many
    steps, 3 or 5 no good step along the last direction.
    """

    x: Value
    success: bool | Value
    status: int | Value
    fun: Value
    jac: Value
    hess_inv: Value | None
    nfev: int | Value
    njev: int | Value
    nit: int | Value


class _State(NamedTuple):
    """The state of the loop: x and gradient (n), inverse (n, n), the rest numbers."""

    x: Value
    value: Value
    gradient: Value
    inverse: Value
    last_value: Value
    n_steps: Value
    n_evaluations: Value
    status: Value
    is_converged: Value


def _updated(inverse: Value, s: Value, y: Value) -> Value:
    """Return the estimate after a step; unchanged where the curvature is not positive."""
    curvature = jnp.dot(y, s, precision=lax.Precision.HIGHEST)
    rho = 1.0 / jnp.where(curvature > 0, curvature, 1)
    left = jnp.eye(s.size, dtype=s.dtype) - rho * jnp.outer(s, y)
    product = jnp.matmul(left, inverse, precision=lax.Precision.HIGHEST)
    product = jnp.matmul(product, left.T, precision=lax.Precision.HIGHEST)
    return jnp.where(curvature > 0, product + rho * jnp.outer(s, s), inverse)


def _here(state: _State, direction: Value) -> Point:
    """Return the point of step 0."""
    slope = jnp.dot(state.gradient, direction)
    return Point(jnp.zeros_like(slope), state.value, slope, state.gradient)


def _step_along(
    function: Callable, state: _State, maxiter: Any
) -> tuple[Point, Value, Value, Value]:
    """Search along the direction: return the point, the direction, status and evaluations."""
    direction = -jnp.matmul(state.inverse, state.gradient, precision=lax.Precision.HIGHEST)
    slope = jnp.dot(state.gradient, direction)

    def evaluate(step: Value) -> Point:
        """Return the point of a step."""
        value, gradient = function(state.x + step * direction)
        return Point(step, value, jnp.dot(gradient, direction), gradient)

    fall = 1.01 * 2 * (state.value - state.last_value) / jnp.where(slope != 0, slope, 1)
    is_good = (slope != 0) & (fall > 0)
    first = jnp.where(is_good, jnp.minimum(1.0, fall), 1.0).astype(state.x.dtype)
    start = _here(state, direction)
    point, status, n_trials = line_search(evaluate, start, first, maxiter)
    return point, direction, status, n_trials


def _start(x0: Value, value: Value, gradient: Value, is_converged: Value) -> _State:
    """Return the state before the first step."""
    zero = jnp.asarray(0)
    last_value = value + jnp.linalg.norm(gradient) / 2
    inverse = jnp.eye(x0.size, dtype=x0.dtype)
    return _State(
        x0, value, gradient, inverse, last_value, zero, zero + 1, zero + DONE, is_converged
    )


def _bfgs(
    function: Callable,
    x0: Value,
    maxiter: int | None = None,
    norm: Any = jnp.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """Minimise a function of a vector, which comes with its gradient."""
    most = 200 * x0.size if maxiter is None else maxiter
    value, gradient = function(x0)

    def is_small(gradient: Value) -> Value:
        """Tell whether the gradient is small."""
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def goes_on(state: _State) -> Value:
        """Go on until it converges, fails, or takes too long."""
        return ~state.is_converged & (state.status == DONE) & (state.n_steps < most)

    def body(state: _State) -> _State:
        """Take one step."""
        point, direction, status, n_trials = _step_along(function, state, line_search_maxiter)
        # Without a good step it stays where it is.
        point = choose(status == DONE, point, _here(state, direction))
        s = point.step * direction
        inverse = _updated(state.inverse, s, point.gradient - state.gradient)
        return _State(
            state.x + s,
            point.value,
            point.gradient,
            inverse,
            state.value,
            state.n_steps + 1,
            state.n_evaluations + n_trials,
            status,
            is_small(point.gradient),
        )

    start = _start(x0, value, gradient, is_small(gradient))
    end = lax.while_loop(goes_on, body, start)
    failed = jnp.where(end.n_steps >= most, 1, jnp.where(end.status != DONE, end.status + 2, -1))
    return OptimizeResults(
        x=end.x,
        success=end.is_converged,
        status=jnp.where(end.is_converged, 0, failed),
        fun=end.value,
        jac=end.gradient,
        hess_inv=end.inverse,
        nfev=end.n_evaluations,
        njev=end.n_evaluations,
        nit=end.n_steps,
    )


def minimize(
    fun: Callable,
    x0: Any,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Return a minimum of fun(x, *args), a real number for every x: x0 (n).

    fun: (n,) -> (), x0: (n,) -> x: (n,) of the result.
    method: "BFGS".  tol: how small the gradient must be, where `gtol` of the options does not say.
    options: maxiter, the most steps; gtol; norm, the order of the norm of the gradient;
    line_search_maxiter.

    Unlike in SciPy there are no other methods, gradients are always exact, and x0 is a vector.  As
    the number of steps is open, the result has a forward-mode derivative but no reverse-mode one.

    >>> result = minimize(lambda x: jnp.sum((x - 3.0) ** 2), jnp.zeros(2), method="BFGS")
    >>> result.x.round(3), bool(result.success)
    (Array([3., 3.], dtype=float32), True)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}")
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized")
    check_arraylike("minimize", x0)
    x = jnp.asarray(x0)
    if x.ndim != 1:
        raise TypeError(f"minimize needs a vector x0, got an array of shape {x.shape}")
    given = dict(options or {})
    if tol is not None:
        given.setdefault("gtol", tol)
    unknown = set(given) - {"maxiter", "norm", "gtol", "line_search_maxiter"}
    if unknown:
        raise TypeError(
            f"minimize does not know the options {sorted(unknown)}; it knows maxiter, norm, gtol "
            "and line_search_maxiter"
        )
    return _bfgs(value_and_grad(lambda x: fun(x, *args)), x, **given)
