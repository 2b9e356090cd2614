"""A limit of time for what would never end if it were compiled badly."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["within"]


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError if the body takes longer; native loops poll for signals."""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError(f"not done within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    rest = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *rest)
        signal.signal(signal.SIGALRM, before)
