"""Where an equation comes from: the user's frame, and the names of the scopes around it.

Recording must cost next to nothing while tracing, so that a `Source` keeps the code object and the
instruction offset of the first frame outside the package, and turns them into file, line, column
and function only when somebody prints them.  A loop in Python comes by the same instruction again
and again: `Sources`, which belongs to one trace, gives equal sources as one object.

The name stack is a tuple of strings kept per thread: `named_scope` pushes user names,
transformations push `jvp`, `transpose`, `vmap`.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from tapeless.util import frames
from tapeless.util.records import record

__all__ = [
    "UNKNOWN_SOURCE",
    "Source",
    "Sources",
    "current_source",
    "name_scope",
    "override_source",
    "swap_override",
]


class _State(threading.local):
    """The name stack of this thread, and the source that overrides the frame, if any."""

    names: tuple[str, ...] = ()
    override: Source | None = None


_state = _State()


@record
class Source:
    """The user frame (None when there is none) and the name stack of an equation."""

    frame: frames.FrameMark | None
    names: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return `file:line:column (function)`, or `unknown`."""
        return "unknown" if self.frame is None else str(self.frame)


UNKNOWN_SOURCE = Source(None)


def current_source() -> Source:
    """Return the source of an operation that is being bound now."""
    if _state.override is not None:
        return _state.override
    return Source(frames.user_mark(), _state.names)


class Sources:
    """The sources that one trace has met; equal ones are one object."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """Start with none."""
        # The sources keep the code objects alive, so that their ids stay their own.
        self._known: dict[tuple[int, int, tuple[str, ...]], Source] = {}

    def current(self) -> Source:
        """Return the source of an operation that is being bound now; called by a trace's method."""
        override = _state.override
        if override is not None:
            return override
        frame = frames.user_frame(3)  # this method, that of the trace, and what called it
        if frame is None:
            return Source(None, _state.names)
        code, lasti, names = frame.f_code, frame.f_lasti, _state.names
        key = (id(code), lasti, names)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Source(frames.FrameMark(code, lasti), names)
        return found


def swap_override(source: Source | None) -> Source | None:
    """Attribute what is traced from now on to `source`; return what it was attributed to before."""
    previous = _state.override
    _state.override = source
    return previous


@contextmanager
def override_source(source: Source) -> Generator[None, None, None]:
    """Attribute what is traced inside to `source`: rules work on behalf of an older equation."""
    previous = swap_override(source)
    try:
        yield
    finally:
        _state.override = previous


@contextmanager
def name_scope(name: str) -> Generator[None, None, None]:
    """Push `name` on the name stack."""
    previous = _state.names
    _state.names = (*previous, name)
    try:
        yield
    finally:
        _state.names = previous
