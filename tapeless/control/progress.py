"""A progress bar for loops of compiled programs.

    step = progress(step, total=10_000, description="train")
    lax.scan(step, carry, xs)

The wrapped function ends in one more operation, `progress_tick`, a debug callback without operands:
it says nothing of the values, so that under `vmap` it runs once for the whole batch, and under
`grad` in the forward pass. The compiler knows the number of the iteration that runs; the tick looks
at it and calls Python only when a hundredth of the loop is done, so that what it costs otherwise is
one comparison per iteration.

A bar counts from where its loop started, upwards or, for a scan in reverse, downwards. When the
numbers turn back a new run has begun, and gets a new bar.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.control.callback import DebugCallback
from tapeless.core.aval import ShapedArray
from tapeless.core.effects import PROGRESS, Effects
from tapeless.util import lazy
from tapeless.util.terminal import required

__all__ = ["progress", "progress_tick_p"]

tqdm = lazy.load("tqdm")

_COUNT = ShapedArray((), np.dtype(np.int32))
_MOST_CALLS = 100  # of Python, per run of a loop


class ProgressTick(DebugCallback):
    """Tell a bar that an iteration is done.

    callback: takes the number of the iteration, or nothing outside of loops.
    """

    name = "progress_tick"

    def effects(self, **params: Any) -> Effects:
        """Return the effect, by which loops know that their iterations are to be counted."""
        return frozenset((PROGRESS,))

    def lower(
        self, b: Any, args: Any, outs: tuple, *, callback: Callable, total: int = 1, **params: Any
    ) -> tuple:
        """Call Python after a hundredth of the iterations, and after the last one."""
        call = functools.partial(super().lower, b, outs=outs, callback=callback)
        if not b.iterations:
            return call(())
        number = b.iterations[-1]
        count = b.virtual(_COUNT, lambda index: number)
        stride = max(1, total // _MOST_CALLS)
        due = b.eq(b.rem(number, b.const(stride, _COUNT.dtype)), b.const(0, _COUNT.dtype))
        last = b.eq(number, b.const(total - 1, _COUNT.dtype))
        b.when(b.or_(due, last), lambda: call((count,)))
        return ()


progress_tick_p = ProgressTick()


class _Bar:
    """A bar on the standard error stream, from the first tick of a run of a loop to its last.

    first, last: the numbers of the iterations of the first and the latest tick.
    """

    def __init__(self, total: int, options: dict[str, Any]) -> None:
        """options: for tqdm."""
        self.total = total
        self.options = options
        self.bar: Any = None
        self.first = self.last = 0

    def tick(self, *numbers: Any) -> list[Any]:
        """Show that an iteration is done: the one of the number given, or else the next one."""
        number = int(numbers[0]) if numbers else self.last + 1 if self.bar else 0
        if self.bar is None or self._turns_back(number):
            self._start(number)
        self.last = number
        done = abs(number - self.first) + 1
        self.bar.update(done - self.bar.n)
        if done >= self.total:
            self._end()
        return []

    def _turns_back(self, number: int) -> bool:
        """Tell whether a number does not go on in the direction of the numbers before."""
        direction = self.last - self.first
        return number == self.last or (number - self.last) * direction < 0

    def _start(self, number: int) -> None:
        """Begin a bar."""
        self._end()
        self.first = number
        self.bar = tqdm.tqdm(total=self.total, **self.options)

    def _end(self) -> None:
        """Leave the bar as it is."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def progress(fun: Callable, *, total: int, description: str = "", **options: Any) -> Callable:
    """Return `fun`, the body of a loop, such that its calls move a progress bar.

    total: how many iterations the loop has, at least 1. description: stands before the bar.
    options: further ones for tqdm, such as `file`, `ncols` or `disable`.

    The body may be that of `scan`, `fori_loop`, `while_loop` or `map`, inside `jit`, `grad` and
    `vmap`; the bar moves while the loop runs, a hundred times at most. It shows the forward pass of
    a gradient. Raises ImportError without tqdm, which the extra `inspect` installs.

    >>> import io
    >>> import tapeless as jax
    >>> text = io.StringIO()
    >>> def step(total, x):
    ...     return total + x, None
    >>> short = "{desc}: {n_fmt} of {total_fmt}"
    >>> body = progress(step, total=1000, description="sum", file=text, bar_format=short)
    >>> float(jax.lax.scan(body, 0.0, jax.numpy.ones(1000))[0])
    1000.0
    >>> text.getvalue().split("\\r")[-1].strip()
    'sum: 1000 of 1000'
    """
    required("tqdm", "progress()")
    if not callable(fun):
        raise TypeError(
            f"progress() wants the body of a loop, a function, got {type(fun).__name__}. Pass the "
            "body, and what comes back to the loop: lax.scan(progress(body, total=n), ...)."
        )
    try:
        total = operator.index(total)
    except TypeError:
        raise TypeError(
            f"progress() wants the number of iterations as an integer, got {total!r}. It must be "
            "known when the loop is traced; for a while loop give the most that it may run."
        ) from None
    if total < 1:
        raise ValueError(f"progress() wants a total of at least 1, got {total}")
    bar = _Bar(total, {"desc": description or None, **options})

    @functools.wraps(fun)
    def body(*args: Any, **kwargs: Any) -> Any:
        """Call the body, then move the bar."""
        result = fun(*args, **kwargs)
        progress_tick_p.bind(callback=bar.tick, total=total)
        return result

    return body
