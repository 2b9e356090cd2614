"""`checks`: what is silent by default becomes an error with a line.

Array programs do not stop at an index out of bounds, a division by zero or a value that is no
number: that is what they promise.  A program that is being debugged may ask for these checks, all
of which are flags of the configuration under one name here:

    index     gather, scatter, dynamic_slice: `tapeless_out_of_bounds`
    nan       results that are no numbers: `jax_debug_nans`
    shift     amounts of shifts: `tapeless_check_shifts`
    div       divisors that are zero: `tapeless_check_divisions`
    switch    the index of `lax.switch`: `tapeless_check_switches`
    segment   ids of segments: `tapeless_check_segments`
    reuse     keys that are used twice: `jax_debug_key_reuse`
    stale     captured variables that have changed: `tapeless_stale_captures`

The flags are part of what keys compiled programs: each setting has programs of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tapeless import config

__all__ = ["Checks", "checks", "checks_named"]

P = ParamSpec("P")
R = TypeVar("R")

_FLAGS: dict[str, tuple[str, object, object]] = {
    "index": ("tapeless_out_of_bounds", "raise", "fill"),
    "nan": ("jax_debug_nans", True, False),
    "shift": ("tapeless_check_shifts", True, False),
    "div": ("tapeless_check_divisions", True, False),
    "switch": ("tapeless_check_switches", True, False),
    "segment": ("tapeless_check_segments", True, False),
    "reuse": ("jax_debug_key_reuse", True, False),
    "stale": ("tapeless_stale_captures", "raise", "ignore"),
}


class Checks:
    """A context manager, or decorator, under which some checks are on or off."""

    def __init__(self, wanted: dict[str, bool]) -> None:
        """wanted: by the names of the table above."""
        self._overrides = []
        for name, on in wanted.items():
            flag, yes, no = _FLAGS[name]
            self._overrides.append(config.Option(flag)(yes if on else no))

    def __enter__(self) -> None:
        """Put the settings in place."""
        for override in self._overrides:
            override.__enter__()

    def __exit__(self, *exception: object) -> None:
        """Restore what was there."""
        for override in reversed(self._overrides):
            override.__exit__(*exception)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Run `function` under the settings."""
        for override in self._overrides:
            function = override(function)
        return function


def checks(
    *,
    index: bool | None = None,
    nan: bool | None = None,
    shift: bool | None = None,
    div: bool | None = None,
    switch: bool | None = None,
    segment: bool | None = None,
    reuse: bool | None = None,
    stale: bool | None = None,
) -> Checks:
    """Return a context manager (or decorator) under which the checks that are named are on.

    True turns a check on, False off, None leaves it as it is; `checks()` turns all on.  What a
    check finds is raised from the call that ran the program: OutOfBoundsError (an IndexError) for
    index, switch and segment, FloatingPointError for nan, ZeroDivisionError for div, ValueError for
    shift, KeyReuseError, StaleCaptureError.  The message has the line and, in a loop, the number of
    the iteration.

    >>> from tapeless import numpy as jnp
    >>> with checks(index=True):
    ...     try:
    ...         jnp.arange(3)[jnp.array(5)]
    ...     except IndexError as error:
    ...         print(str(error).partition(",")[0])
    index 5 is out of bounds for axis 0 with size 3
    """
    given = {
        "index": index,
        "nan": nan,
        "shift": shift,
        "div": div,
        "switch": switch,
        "segment": segment,
        "reuse": reuse,
        "stale": stale,
    }
    if all(value is None for value in given.values()):
        return Checks(dict.fromkeys(_FLAGS, True))
    return Checks({name: bool(value) for name, value in given.items() if value is not None})


def checks_named(names: str) -> Checks:
    """Return the checks of a list such as `"index,div"`; `"all"` stands for every one."""
    listed = [name.strip() for name in names.split(",")]
    if listed == ["all"]:
        listed = list(_FLAGS)
    unknown = [name for name in listed if name not in _FLAGS]
    if unknown:
        raise ValueError(
            f"compiler option checks must be 'all' or a list of {', '.join(_FLAGS)}, separated by "
            f"commas; got {names!r}"
        )
    return Checks(dict.fromkeys(listed, True))
