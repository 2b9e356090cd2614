"""`apart`: a long call of a library, during which signal handlers run.

Python runs signal handlers in its main thread, between bytecodes.  A call of a library has none for
as long as it takes, and a library cannot be stopped.  So the main thread lets another one make the
call, and waits; waiting can be interrupted.  If a handler raises, the exception leaves at once; the
call goes on, and what it works on stays alive until it ends, since the function holds it.

What the call wants from the thread that waits, which has the state that Python keeps by thread, it
asks for by `in_waiting_thread`.  A call that was left is told so at its next question, by an
exception, and by `leave`, for calls that do not ask.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from tapeless.util import lazy

__all__ = ["apart", "in_waiting_thread", "not_apart"]

queue = lazy.load("queue")
Outcome = tuple[Any, BaseException | None]


class _LeftError(BaseException):
    """Nobody waits for this call any more."""


class _Call:
    """A call that another thread makes.

    asked: what to run in the thread that waits; None when the call is over.  answers: what came of
    it.  leave: called with the thread's identity and True when the call is left, and with False
    when a call that was left is over.
    """

    def __init__(self, function: Callable[[], Any], leave: Callable[[int, bool], None]) -> None:
        """Remember the function."""
        self.function = function
        self.leave = leave
        self.asked: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.is_left = self.is_over = False
        self.outcome: Outcome = (None, None)

    def run(self) -> None:
        """Make the call, in a thread of its own."""
        _here.call = self
        self.outcome = _outcome(self.function)
        with self.lock:
            self.is_over = True
            if self.is_left:
                self.leave(threading.get_ident(), False)
        self.asked.put(None)

    def wait(self) -> Any:
        """Return what the call returns; run what it asks for."""
        thread = 0
        try:
            try:
                thread = _thread.start_new_thread(self.run, ())
            except RuntimeError:  # the interpreter ends, or the system has no more threads
                return self.function()
            while (function := self.asked.get()) is not None:
                self.answers.put(_outcome(function))
        except BaseException:  # of a handler
            with self.lock:
                self.is_left = True
                if not self.is_over:
                    self.leave(thread, True)
            self.answers.put((None, _LeftError()))
            raise
        outcome, self.outcome = self.outcome, (None, None)  # the other thread may end later
        return _unpacked(outcome)

    def ask(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns in the thread that waits."""
        if self.is_left:
            raise _LeftError
        self.asked.put(function)
        return _unpacked(self.answers.get())


class _Here(threading.local):
    """The call that this thread makes for another one, and whether it makes all calls itself."""

    call: _Call | None = None
    is_alone = False


_here = _Here()


def _outcome(function: Callable[[], Any]) -> Outcome:
    """Return the result of a function, or its exception."""
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - it is raised again by the other thread
        return None, error


def _unpacked(outcome: Outcome) -> Any:
    """Return a result, or raise the exception."""
    value, error = outcome
    if error is not None:
        raise error
    return value


def _nothing(thread: int, is_left: bool) -> None:
    """Tell nobody."""


def apart(
    function: Callable[[], Any],
    leave: Callable[[int, bool], None] = _nothing,
) -> Any:
    """Return what `function` returns; see the module's docstring.

    function: releases the interpreter lock, uses no state of the thread, and holds what it uses.
    leave: see `_Call`.
    """
    if _here.is_alone or threading.get_ident() != threading.main_thread().ident:
        return function()
    return _Call(function, leave).wait()


@contextmanager
def not_apart() -> Generator[None, None, None]:
    """Let this thread make all calls in the block itself: it holds a lock that they need."""
    before, _here.is_alone = _here.is_alone, True
    try:
        yield
    finally:
        _here.is_alone = before


def in_waiting_thread(function: Callable[[], Any]) -> Any:
    """Return what `function` returns in the thread that waits for this call, or in this one."""
    return function() if _here.call is None else _here.call.ask(function)
