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

Behind the loop the program calls once more, with the number of iterations that have run, which ends
the bar of a loop that took fewer than its total. When a signal or an exception ends the program,
the bar is left as it is (`util/unfinished.py`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tapeless.control.callback import DebugCallback
from tapeless.core.aval import ShapedArray
from tapeless.core.effects import PROGRESS, Effects
from tapeless.util import lazy
from tapeless.util.apart import in_waiting_thread
from tapeless.util.terminal import required
from tapeless.util.unfinished import closed, opened

__all__ = ["progress", "progress_tick_p"]

tqdm = lazy.load("tqdm")

_COUNT = ShapedArray((), np.dtype(np.int32))
_MOST_CALLS = 100  # of Python, per run of a loop


class ProgressTick(DebugCallback):
    """Tell a bar, the parameter `callback`, that an iteration is done."""

    name = "progress_tick"

    def effects(self, **params: Any) -> Effects:
        """Return the effect, by which loops know that their iterations are to be counted."""
        return frozenset((PROGRESS,))

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the number of iterations."""
        return {"total": params["callback"].total}

    def lower(self, b: Any, args: Any, outs: tuple, *, callback: _Bar, **params: Any) -> tuple:
        """Call Python after a hundredth of the iterations, after the last one, and at the end."""
        bar = callback

        def call(function: Callable, *counts: Any) -> None:
            """Call a method of the bar with numbers."""
            shown = [b.virtual(_COUNT, lambda index, count=count: count) for count in counts]
            b.host_call(functools.partial(_tell, bar, function), shown, ())

        if not b.iterations:
            call(_Bar.tick)
            return ()
        number = b.iterations[-1]
        stride = max(1, bar.total // _MOST_CALLS)
        due = b.eq(b.rem(number, b.const(stride, _COUNT.dtype)), b.const(0, _COUNT.dtype))
        last = b.eq(number, b.const(bar.total - 1, _COUNT.dtype))
        b.when(b.or_(due, last), lambda: call(_Bar.tick, number))
        b.after_loop(lambda n_iterations: call(_Bar.finish, n_iterations))
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

    def tick(self, *numbers: Any) -> None:
        """Show that an iteration is done: the one of the number given, or else the next one."""
        number = int(numbers[0]) if numbers else self.last + 1 if self.bar else 0
        if self.bar is None or self._turns_back(number):
            self._start(number)
        self.last = number
        done = abs(number - self.first) + 1
        self.bar.update(done - self.bar.n)
        if done >= self.total:
            self.end()

    def finish(self, n_iterations: Any) -> None:
        """Show how many iterations a loop has run that is over, and end the bar."""
        if self.bar is not None:
            self.bar.update(int(n_iterations) - self.bar.n)
            self.end()

    def _turns_back(self, number: int) -> bool:
        """Tell whether a number does not go on in the direction of the numbers before."""
        direction = self.last - self.first
        return number == self.last or (number - self.last) * direction < 0

    def _start(self, number: int) -> None:
        """Begin a bar."""
        self.end()
        self.first = number
        self.bar = tqdm.tqdm(total=self.total, **self.options)

    def end(self) -> None:
        """Leave the bar as it is."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _tell(bar: _Bar, method: Callable, *numbers: np.ndarray) -> tuple:
    """Call a method of a bar where the user's program runs; the bar is to be ended in any case."""
    in_waiting_thread(lambda: method(bar, *numbers))
    if bar.bar is None:
        closed(bar)
    else:
        opened(bar, bar.end)
    return ()


def progress(fun: Callable, *, total: int, description: str = "", **options: Any) -> Callable:
    """Return `fun`, the body of a loop, such that its calls move a progress bar.

    total: how many iterations the loop has; 0 makes no bar. description: stands before the bar.
    options: further ones for tqdm, such as `file`, `ncols` or `disable`.

    The body may be that of `scan`, `fori_loop`, `while_loop` or `map`, inside `jit`, `grad` and
    `vmap`; the bar moves while the loop runs, a hundred times at most. It shows the forward pass of
    a gradient. A loop that ends before `total` leaves a bar that says how many iterations it took,
    and one that is interrupted a bar that stands where it was. Raises ImportError without tqdm,
    which the extra `inspect` installs.

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
    if total < 0:
        raise ValueError(f"progress() wants the number of iterations, got {total}; give 0 or more")
    if total == 0:
        return fun
    bar = _Bar(total, {"desc": description or None, **options})

    @functools.wraps(fun)
    def body(*args: Any, **kwargs: Any) -> Any:
        """Call the body, then move the bar."""
        result = fun(*args, **kwargs)
        progress_tick_p.bind(callback=bar)
        return result

    return body
