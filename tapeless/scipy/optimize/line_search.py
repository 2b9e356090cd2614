"""How far to go along a direction: the strong conditions of Wolfe.

On phi(a) = f(x + a p), which falls at first, a step is accepted where

    phi(a) <= phi(0) + c1 a phi'(0)      it falls enough, and
    |phi'(a)| <= c2 |phi'(0)|            it has become flat.

One loop finds it (Nocedal and Wright, 2006, section 3.5).  `low` is the best point so far that
falls enough.  Steps double until some point is too high or rises again; that point and `low` then
bracket a good step, and the next trial is the minimum of the cubic through both, or their middle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value

__all__ = ["BRACKETED", "DONE", "UNBOUNDED", "Point", "choose", "line_search"]

DONE, BRACKETED, UNBOUNDED = 0, 1, 3
_FALL = 1e-4
_FLATNESS = 0.9
_MAX_ZOOM = 20


class Point(NamedTuple):
    """A step, the function's value and slope there, and its gradient: (), (), (), (n)."""

    step: Value
    value: Value
    slope: Value
    gradient: Value


class _Search(NamedTuple):
    """The state of the loop."""

    n_trials: Value
    trial: Value
    low: Point
    high: Point
    is_bracketed: Value
    is_done: Value


def choose(condition: Value, yes: Point, no: Point) -> Point:
    """Return one of two points: `yes` where the condition holds."""
    pairs = zip(yes, no, strict=True)
    return Point(*(jnp.where(condition, a, b) for a, b in pairs))


def _trial_between(low: Point, high: Point) -> Value:
    """Return the minimum of the cubic through two points; their middle, if that is at an end."""
    width = high.step - low.step
    safe = jnp.where(width != 0, width, 1)
    d1 = low.slope + high.slope - 3 * (high.value - low.value) / safe
    square = d1 * d1 - low.slope * high.slope
    d2 = jnp.sign(safe) * jnp.sqrt(jnp.maximum(square, 0))
    divisor = high.slope - low.slope + 2 * d2
    share = 1 - (high.slope + d2 - d1) / jnp.where(divisor != 0, divisor, 1)
    is_good = (square >= 0) & (divisor != 0) & (share > 0.1) & (share < 0.9)
    return low.step + width * jnp.where(is_good, share, 0.5)


def line_search(
    evaluate: Callable[[Value], Point], start: Point, first: Value, maxiter: Any
) -> tuple[Point, Value, Value]:
    """Return the accepted point, the status, and how many points were evaluated.

    evaluate: from a step to the point there.  start: the point of step 0.  first: the first trial.
    maxiter: the most trials before there is a bracket.
    The status is DONE, or BRACKETED or UNBOUNDED: how far the search came.
    """

    def goes_on(search: _Search) -> Value:
        """Go on until a point is accepted."""
        limit = jnp.where(search.is_bracketed, maxiter + _MAX_ZOOM, maxiter)
        return ~search.is_done & (search.n_trials < limit)

    def body(search: _Search) -> _Search:
        """Evaluate one point."""
        low, high = search.low, search.high
        now = evaluate(search.trial)
        falls = now.value <= start.value + _FALL * now.step * start.slope
        is_high = ~(falls & (now.value < low.value))
        is_flat = jnp.abs(now.slope) <= -_FLATNESS * start.slope
        onward = jnp.where(search.is_bracketed, high.step - low.step, 1.0)
        turned = ~is_high & (now.slope * onward >= 0)
        next_high = choose(is_high, now, choose(turned, low, high))
        next_low = choose(is_high, low, now)
        is_bracketed = search.is_bracketed | is_high | turned
        between = _trial_between(next_low, next_high)
        further = 2 * search.trial
        trial = jnp.where(is_bracketed, between, further)
        is_done = ~is_high & is_flat
        n_trials = search.n_trials + 1
        return _Search(n_trials, trial, next_low, next_high, is_bracketed, is_done)

    no = jnp.zeros((), bool)
    begin = _Search(jnp.asarray(0), first, start, start, no, no)
    search = lax.while_loop(goes_on, body, begin)
    progressed = search.is_bracketed & (search.low.step > 0)
    failure = jnp.where(search.is_bracketed, BRACKETED, UNBOUNDED)
    status = jnp.where(search.is_done | progressed, DONE, failure)
    return search.low, status, search.n_trials
