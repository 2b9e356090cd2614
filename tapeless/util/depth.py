"""Room on Python's stack for programs within programs.

Python bounds how deep calls nest, by 1,000 frames unless told otherwise. A function that is
compiled and calls another one that is compiled, and so on a thousand times, needs more, and so do
branches and loops within each other: each level is ten to thirty frames of ours
while it is traced, and a few in each pass over the program. Most take no room on the stack of C, so
that the bound may be higher while they are there.

Two ways lead to it. `nested` counts the levels of user code within user code, and raises the bound
every so many of them; a function that calls itself for ever ends, by RecursionError. `deeply`
makes a call again that has met the bound, which is for calls without effects, such as passes.

The bound is that of all threads. It is raised and lowered by steps, so that threads can do both in
any order.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

__all__ = ["deeply", "nested"]

R = TypeVar("R")
P = ParamSpec("P")

_STEP = 16  # levels
_FRAMES_OF_STEP = 40 * _STEP
_MOST_LEVELS = 1100  # C has room for more
_FRAMES_OF_CALL = 1 << 14

_lock = threading.Lock()


class _Here(threading.local):
    """How many levels this thread is in, and whether a call is made again."""

    level = 0
    is_again = False


_here = _Here()


@contextmanager
def _room(n_frames: int) -> Generator[None, None, None]:
    """Let calls nest deeper by `n_frames`."""
    with _lock:
        sys.setrecursionlimit(sys.getrecursionlimit() + n_frames)
    try:
        yield
    finally:
        with _lock:
            sys.setrecursionlimit(sys.getrecursionlimit() - n_frames)


@contextmanager
def nested() -> Generator[None, None, None]:
    """Be one level of user code deeper, or raise RecursionError."""
    if _here.level == _MOST_LEVELS:
        raise RecursionError(
            f"functions that are traced call each other at most {_MOST_LEVELS} deep, and one was "
            "called deeper. Does a function call itself without an end? Its recursion must end for "
            "arguments that are known while it is traced"
        )
    _here.level += 1
    try:
        if _here.level % _STEP:
            yield
        else:
            with _room(_FRAMES_OF_STEP):
                yield
    finally:
        _here.level -= 1


def deeply(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function without effects, if need be with more room."""
    try:
        return function(*args, **kwargs)
    except RecursionError as error:
        if _here.is_again or hasattr(error, "was_deep"):
            raise
    with _room(_FRAMES_OF_CALL):
        _here.is_again = True
        try:
            return function(*args, **kwargs)
        except RecursionError as error:
            error.was_deep = True  # type: ignore[attr-defined]
            raise
        finally:
            _here.is_again = False
