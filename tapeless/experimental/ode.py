"""`jax.experimental.ode`: initial value problems, by steps of the right size.

    y' = func(y, t),  y(t_0) = y0    ->    y(t_0), ..., y(t_n)

A step is the fifth-order method of Dormand and Prince; the difference to its fourth-order method
estimates the error, from which the size of the next step follows.  Steps are not cut at the times
asked for: there a polynomial of degree 4 through both ends and the middle is evaluated.

Derivatives solve another problem, backwards in time (the adjoint method): y again, and the
cotangents of y and of the arguments,

    ybar' = -ybar df/dy        argsbar' = -ybar df/dargs

so memory does not grow with the number of steps.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.autodiff import vjp
from tapeless.api.custom import closure_convert, custom_vjp
from tapeless.api.jit import jit
from tapeless.api.vmap import vmap
from tapeless.core.trace import Value
from tapeless.flatten_util import ravel_pytree
from tapeless.numpy.common import asarray, is_arraylike, narrowed, promote_dtypes_inexact
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.util.names import close_module

__all__ = [
    "abs2",
    "fit_4th_order_polynomial",
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "odeint",
    "optimal_step_size",
    "ravel_first_arg",
    "runge_kutta_step",
]

# The tableau of Dormand and Prince (1980): times, slopes to use, the solution; and for the error
# the method of fourth order of Shampine (1986), whose is also the solution in the middle of a step.
_TIMES = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
_SLOPES = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    ]
)
_SOLUTION = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0])
_FOURTH = np.array([1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60])
# Twice the weights for the middle of a step.
_MIDDLE = (
    np.array(
        [
            6025192743 / 30085553152,
            0,
            51252292925 / 65400821598,
            -2691868925 / 45128329728,
            187940372067 / 1594534317056,
            -1776094331 / 19743644256,
            11237099 / 235043384,
        ]
    )
    / 2
)


def abs2(x: Any) -> Value:
    """Return |x|^2, elementwise.

    >>> abs2(jnp.array([3.0 + 4.0j]))
    Array([25.], dtype=float32)
    """
    if jnp.iscomplexobj(x):
        return x.real**2 + x.imag**2
    return x**2


def ravel_first_arg(
    f: Callable,
    unravel: Callable,
) -> Callable:
    """Return `f` as a function of a vector: it unravels its first argument, ravels its result."""

    def flat(vector: Value, *args: Any) -> Value:
        """Call f."""
        return ravel_pytree(f(unravel(vector), *args))[0]

    return flat


def fit_4th_order_polynomial(
    y0: Value,
    y1: Value,
    y_mid: Value,
    dy0: Value,
    dy1: Value,
    dt: Value,
) -> tuple[Value, Value, Value, Value, Value]:
    """Return the coefficients, highest first, of a polynomial on [0, 1].

    It has these values at 0, 1 and 1/2, and at 0 and 1 these derivatives, by a time of which the
    interval is dt.
    """
    a = -2 * dt * dy0 + 2 * dt * dy1 - 8 * y0 - 8 * y1 + 16 * y_mid
    b = 5 * dt * dy0 - 3 * dt * dy1 + 18 * y0 + 14 * y1 - 32 * y_mid
    c = -4 * dt * dy0 + dt * dy1 - 11 * y0 - 5 * y1 + 16 * y_mid
    return a, b, c, dt * dy0, y0


def _weighted(
    weights: np.ndarray,
    k: Value,
) -> Value:
    """Return a weighted sum of slopes: (7), (7, n) -> (n)."""
    return jnp.dot(jnp.asarray(weights.astype(k.dtype)), k, precision=lax.Precision.HIGHEST)


def interp_fit_dopri(
    y0: Value,
    y1: Value,
    k: Value,
    dt: Value,
) -> Value:
    """Return the coefficients of the polynomial of a step: k (7, n), its slopes -> (5, n)."""
    y_mid = y0 + dt.astype(y0.dtype) * _weighted(_MIDDLE, k)
    return jnp.asarray(fit_4th_order_polynomial(y0, y1, y_mid, k[0], k[-1], dt))


def initial_step_size(
    fun: Callable,
    t0: Value,
    y0: Value,
    order: int,
    rtol: float,
    atol: float,
    f0: Value,
) -> Value:
    """Return a first step (Hairer, Norsett and Wanner, 1993, section II.4): y0, f0 (n) -> ()."""
    y0, f0 = promote_dtypes_inexact(y0, f0)
    dtype = y0.dtype
    scale = atol + jnp.abs(y0) * rtol
    d0 = jnp.linalg.norm(y0 / scale.astype(dtype))
    d1 = jnp.linalg.norm(f0 / scale.astype(dtype))
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    f1 = fun(y0 + h0.astype(dtype) * f0, t0 + h0)
    d2 = jnp.linalg.norm((f1 - f0) / scale.astype(dtype)) / h0
    is_flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    bound = (0.01 / jnp.maximum(d1, d2)) ** (1.0 / (order + 1.0))
    h1 = jnp.where(is_flat, jnp.maximum(1e-6, h0 * 1e-3), bound)
    return jnp.minimum(100.0 * h0, h1)


def runge_kutta_step(
    func: Callable,
    y0: Value,
    f0: Value,
    t0: Value,
    dt: Value,
) -> tuple[Value, Value, Value, Value]:
    """Return a step: y1 (n), the slope there (n), the estimated error (n), all slopes (7, n)."""
    slopes = jnp.zeros((7, f0.shape[0]), f0.dtype).at[0].set(f0)

    def stage(
        i: Value,
        k: Value,
    ) -> Value:
        """Compute slope number i."""
        weights = jnp.asarray(_SLOPES.astype(f0.dtype))[i - 1]
        moment = t0 + dt * jnp.asarray(_TIMES.astype(jnp.result_type(dt)))[i - 1]
        change = dt.astype(f0.dtype) * jnp.dot(weights, k, precision=lax.Precision.HIGHEST)
        return k.at[i].set(func(y0 + change, moment))

    k = lax.fori_loop(1, 7, stage, slopes)
    y1 = dt.astype(f0.dtype) * _weighted(_SOLUTION, k) + y0
    error = dt.astype(f0.dtype) * _weighted(_SOLUTION - _FOURTH, k)
    return y1, k[-1], error, k


def mean_error_ratio(
    error_estimate: Value,
    rtol: float,
    atol: float,
    y0: Value,
    y1: Value,
) -> Value:
    """Return the root of the mean square of error over tolerance: (n), (n), (n) -> ()."""
    tolerance = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    ratio = error_estimate / tolerance.astype(error_estimate.dtype)
    return jnp.sqrt(jnp.mean(abs2(ratio)))


def optimal_step_size(
    last_step: Value,
    mean_error_ratio: Value,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Value:
    """Return the next step, between dfactor and ifactor times the last one: (), () -> ().

    An accepted step, of a ratio below 1, is not followed by a smaller one.

    >>> optimal_step_size(jnp.float32(1.0), jnp.float32(0.0))
    Array(10., dtype=float32)
    """
    least = jnp.where(mean_error_ratio < 1, 1.0, dfactor)
    wanted = mean_error_ratio ** (-1.0 / order) * safety
    factor = jnp.minimum(ifactor, jnp.maximum(wanted, least))
    factor = jnp.where(mean_error_ratio == 0, ifactor, factor)
    return last_step * factor.astype(jnp.result_type(last_step))


class _State(NamedTuple):
    """The state of the solver: y and slope (n) at t, the next step; the last t and polynomial."""

    y: Value
    slope: Value
    t: Value
    step: Value
    last_t: Value
    polynomial: Value


def _advance(
    func: Callable,
    rtol: float,
    atol: float,
    hmax: float,
    state: _State,
) -> _State:
    """Try one step: take it, or make it smaller."""
    y1, slope, error, k = runge_kutta_step(func, state.y, state.slope, state.t, state.step)
    ratio = mean_error_ratio(error, rtol, atol, state.y, y1)
    polynomial = interp_fit_dopri(state.y, y1, k, state.step)
    step = jnp.clip(optimal_step_size(state.step, ratio), 0.0, hmax).astype(state.step.dtype)
    taken = _State(y1, slope, state.t + state.step, step, state.t, polynomial)
    stayed = state._replace(step=step)
    return tree_map(lambda a, b: jnp.where(ratio <= 1.0, a, b), taken, stayed)


def _solve(
    func: Callable,
    y0: Value,
    ts: Value,
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
) -> Value:
    """Return the solution at all times: y0 (n), ts (m) -> (m, n)."""

    def slope(
        y: Value,
        t: Value,
    ) -> Value:
        """Evaluate the right side in the dtype of y."""
        return func(y, t).astype(y.dtype)

    f0 = slope(y0, ts[0])
    dtype = ts.dtype
    first = jnp.clip(initial_step_size(slope, ts[0], y0, 4, rtol, atol, f0), 0.0, hmax)
    constant = jnp.concatenate([jnp.zeros((4, y0.size), y0.dtype), y0[None]])
    state = _State(y0, f0, ts[0], first.astype(dtype), ts[0], constant)

    def reach(
        state: _State,
        target: Value,
    ) -> tuple[_State, Value]:
        """Step until the target lies behind, and read the polynomial there."""

        def goes_on(carry: tuple) -> Value:
            """Go on while the target is ahead, and steps are not too many or too small."""
            n_steps, state = carry
            return (state.t < target) & (n_steps < mxstep) & (state.step > 0)

        def body(carry: tuple) -> tuple:
            """Try one step."""
            n_steps, state = carry
            return n_steps + 1, _advance(slope, rtol, atol, hmax, state)

        _, state = lax.while_loop(goes_on, body, (0, state))
        width = state.t - state.last_t
        share = (target - state.last_t) / jnp.where(width != 0, width, 1)
        return state, jnp.polyval(state.polynomial, share.astype(y0.dtype))

    _, ys = lax.scan(reach, state, ts[1:])
    return jnp.concatenate([y0[None], ys])


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _flat_odeint(
    func: Callable,
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    y0: Value,
    ts: Value,
    args: Sequence[Value],
    fixed: Sequence[Value],
) -> Value:
    """Solve for a vector; derivatives are taken by y0, ts and args, not by fixed."""
    return _solve(lambda y, t: func(y, t, args, fixed), y0, ts, rtol, atol, mxstep, hmax)


def _forward(
    func: Callable,
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    *operands: Any,
) -> tuple[Value, tuple]:
    """Solve, and keep the solution."""
    ys = _flat_odeint(func, rtol, atol, mxstep, hmax, *operands)
    return ys, (ys, *operands[1:])


def _backward(
    func: Callable,
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    residuals: tuple,
    ct: Value,
) -> tuple[Value, Value, Sequence[Value], tuple]:
    """Solve the adjoint problem, from the last time to the first, interval by interval."""
    ys, ts, args, fixed = residuals

    def adjoint(
        state: tuple,
        minus_t: Value,
    ) -> tuple:
        """Return the slopes of y, ybar and argsbar, by time running backwards."""
        y, y_bar, _ = state
        slope, pull = vjp(lambda y, args: func(y, -minus_t, args, fixed), y, args)
        by_y, by_args = pull(y_bar)
        return -slope, by_y, by_args

    def interval(
        carry: tuple,
        position: Value,
    ) -> tuple[tuple, Value]:
        """Go back over one interval; return the cotangent of its last time."""
        y_bar, args_bar = carry
        slope = func(ys[position], ts[position], args, fixed)
        t_bar = jnp.real(jnp.dot(slope, ct[position])).astype(ts.dtype)
        flat, unravel = ravel_pytree((ys[position], y_bar, args_bar))
        ends = -jnp.stack([ts[position], ts[position - 1]])
        moved = ravel_first_arg(adjoint, unravel)
        _, y_bar, args_bar = unravel(_solve(moved, flat, ends, rtol, atol, mxstep, hmax)[1])
        return (y_bar + ct[position - 1], args_bar), t_bar

    start = (ct[-1], tree_map(lambda x: narrowed(jnp.zeros_like(x)), args))
    (y_bar, args_bar), rest = lax.scan(interval, start, jnp.arange(ts.size - 1, 0, -1))
    # To start later from the same y0 is to start now from one that is behind.
    slope = func(ys[0], ts[0], args, fixed)
    first = -jnp.real(jnp.dot(slope, y_bar - ct[0])).astype(ts.dtype)
    return y_bar, jnp.concatenate([first[None], rest[::-1]]), args_bar, tuple(None for _ in fixed)


_flat_odeint.defvjp(_forward, _backward)


@functools.partial(jit, static_argnums=(0, 1, 2, 3, 4))
def _odeint(
    func: Callable,
    rtol: float,
    atol: float,
    mxstep: float,
    hmax: float,
    y0: Any,
    t: Value,
    args: tuple,
) -> Any:
    """Solve for a tree; derivatives are taken by the arguments that are floating or complex."""
    vector, unravel = ravel_pytree(y0)
    leaves, structure = tree_flatten(args)
    is_moving = [jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in leaves]

    def flat(
        y: Value,
        t: Value,
        given: Sequence[Value],
        fixed: Sequence[Value],
    ) -> Value:
        """Call func with trees."""
        sources = iter(given), iter(fixed)
        values = [next(sources[0] if flag else sources[1]) for flag in is_moving]
        return ravel_pytree(func(unravel(y), t, *tree_unflatten(structure, values)))[0]

    values = [jnp.asarray(x) for x in leaves]
    given = tuple(itertools.compress(values, is_moving))
    fixed = tuple(itertools.compress(values, (not flag for flag in is_moving)))
    ys = _flat_odeint(flat, rtol, atol, mxstep, hmax, vector, t, given, fixed)
    return vmap(unravel)(ys)


def odeint(
    func: Callable,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> Any:
    """Return the solution of y' = func(y, t, *args), y(t[0]) = y0: a tree like y0, over time.

    y0: a tree of arrays (...).  t: (m), ascending.  The result: a tree of arrays (m, ...).
    args: trees of arrays.  rtol, atol: a step is accepted where the error is below
    atol + rtol max(|y|).  mxstep: the most steps from one time to the next.  hmax: the longest.

    Derivatives in reverse mode, by y0, t, args and what func closes over, are solutions of the
    adjoint problem; there is no forward mode.

    Unlike SciPy's `odeint` it takes no Jacobian, and is for problems that are not stiff.

    >>> odeint(lambda y, t: -y, jnp.array(1.0), jnp.array([0.0, 1.0]), rtol=1e-5).round(3)
    Array([1.   , 0.368], dtype=float32)
    """
    for arg in tree_leaves(args):
        if not is_arraylike(arg):
            raise TypeError(
                "The contents of odeint *args must be arrays or scalars, but got\n"
                f"{arg!r} of type {type(arg)}: pass it by functools.partial(func, ...)"
            )
    times = narrowed(asarray(t))
    if not jnp.issubdtype(times.dtype, np.floating):
        raise TypeError(f"odeint needs times t of a floating dtype, got {times.dtype}")
    if times.ndim != 1 or not times.size:
        raise ValueError(f"odeint needs a vector of at least one time, got shape {times.shape}")
    start = tree_map(lambda leaf: promote_dtypes_inexact(narrowed(asarray(leaf)))[0], y0)
    args = tree_map(narrowed, args)
    converted, consts = closure_convert(func, start, times[0], *args)
    # A function that closes over nothing that moves is compiled once.
    target = converted if consts else func
    return _odeint(target, rtol, atol, mxstep, hmax, start, times, (*args, *consts))


close_module("jax.experimental.ode", globals())
