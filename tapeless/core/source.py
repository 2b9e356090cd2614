"""Where an equation comes from: the user's frame, and the names of the scopes around it.

Recording must cost next to nothing while tracing, so that a `Source` keeps the code object and the
instruction offset of the first frame outside the package, and turns them into file, line, column
and function only when somebody prints them.  A loop in Python comes by the same instruction again
and again: `Sources`, which belongs to one trace, gives equal sources as one object.

The name stack is kept per thread.  `named_scope` pushes the user's names.  Functions that users
call to transform push a `Transformation`, which is shown around the scope that it found inside:

    vmap(outer)/inner          a function that opens `outer`, and `inner` in it, under vmap

A program that is staged begins a stack of its own, for it may be shared, and what walks over a
program puts the names of each equation on top of the stack that it finds.  So the names of a whole
are those of the equations around, then those of the equation.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import final

from tapeless.util import frames
from tapeless.util.records import record

__all__ = [
    "JVP",
    "TRANSPOSE",
    "UNKNOWN_SOURCE",
    "VMAP",
    "Names",
    "Source",
    "Sources",
    "Transformation",
    "Walk",
    "current_source",
    "name_scope",
    "names_text",
    "new_stack",
    "override_source",
    "stack_depth",
]


@final
class Transformation:
    """A transformation on the name stack; compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """name: what programs print."""
        self.name = name

    def __repr__(self) -> str:
        """Return the name, as a function's."""
        return f"{self.name}()"


JVP, TRANSPOSE, VMAP = map(Transformation, ("jvp", "transpose", "vmap"))
Names = tuple[str | Transformation, ...]


class _State(threading.local):
    """The name stack of this thread, and the source whose frame takes the place of the user's."""

    names: Names = ()
    origin: Source | None = None


_state = _State()


@record
class Source:
    """The user frame (None when there is none) and the name stack of an equation."""

    frame: frames.FrameMark | None
    names: Names = ()

    @property
    def name_stack(self) -> str:
        """The names as text, by JAX's name."""
        return names_text(self.names)

    def summary(self) -> str:
        """Return `file:line:column (function)`, or `unknown`."""
        return "unknown" if self.frame is None else str(self.frame)


UNKNOWN_SOURCE = Source(None)


def names_text(names: Names) -> str:
    """Return a name stack as text.

    >>> names_text((VMAP, "outer", "inner")), names_text(("outer", JVP))
    ('vmap(outer)/inner', 'outer/jvp()')
    """
    scopes: list[str] = []  # the innermost first
    for name in reversed(names):
        if isinstance(name, str):
            scopes.append(name)
        else:
            inside = scopes.pop() if scopes else ""
            scopes.append(f"{name.name}({inside})")
    return "/".join(reversed(scopes))


def current_source() -> Source:
    """Return the source of an operation that is being bound now."""
    origin = _state.origin
    if origin is not None:
        return _renamed(origin, _state.names)
    return Source(frames.user_mark(), _state.names)


def _renamed(source: Source, names: Names) -> Source:
    """Return the source with another name stack."""
    return source if source.names == names else Source(source.frame, names)


class Sources:
    """The sources that one trace has met; equal ones are one object."""

    __slots__ = ("_depth", "_known")

    def __init__(self, depth: int = 0) -> None:
        """Start with none; depth: how many names of the stack are those of what is around."""
        self._depth = depth
        # The sources keep the code objects alive, so that their ids stay their own.
        self._known: dict[tuple[int, int, Names], Source] = {}

    def current(self) -> Source:
        """Return the source of an operation that is being bound now; called by a trace's method."""
        names = _state.names[self._depth :]
        origin = _state.origin
        if origin is not None:
            return _renamed(origin, names)
        frame = frames.user_frame(3)  # this method, that of the trace, and what called it
        if frame is None:
            return Source(None, names)
        code, lasti = frame.f_code, frame.f_lasti
        key = (id(code), lasti, names)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Source(frames.FrameMark(code, lasti), names)
        return found


@final
class Walk:
    """Attributes what is traced in a `with` block to the equations of a program, one by one."""

    __slots__ = ("_names", "_origin")

    def __enter__(self) -> Walk:
        """Keep what was attributed so far."""
        self._origin, self._names = _state.origin, _state.names
        return self

    def reach(self, source: Source) -> None:
        """Attribute what follows to an equation from `source`, inside the scopes around."""
        known = source.frame is not None or self._origin is None
        _state.origin = source if known else self._origin
        _state.names = self._names + source.names

    def reach_names(self, source: Source) -> None:
        """Give what follows the names of an equation; it comes from where the caller is."""
        _state.names = self._names + source.names

    def __exit__(self, *error: object) -> None:
        """Attribute as before."""
        _state.origin, _state.names = self._origin, self._names


@contextmanager
def override_source(source: Source) -> Generator[None, None, None]:
    """Attribute what is traced inside to `source`: rules work on behalf of an older equation."""
    with Walk() as walk:
        walk.reach(source)
        yield


@contextmanager
def new_stack() -> Generator[None, None, None]:
    """Begin a name stack: what is staged inside is a program of its own."""
    previous = _state.names
    _state.names = ()
    try:
        yield
    finally:
        _state.names = previous


def stack_depth() -> int:
    """Return how many names are on the stack."""
    return len(_state.names)


@contextmanager
def name_scope(name: str | Transformation) -> Generator[None, None, None]:
    """Push `name` on the name stack."""
    previous = _state.names
    _state.names = (*previous, name)
    try:
        yield
    finally:
        _state.names = previous
