"""Where the user was: source positions for equations, warnings and errors, and clean tracebacks.

A traced operation is reached through many frames of this package; the one that matters to a reader
is the last frame of *user* code. A frame is *internal* if its file lies in this package, or is one
of a few modules of the standard library that only pass calls on.

A function of this package that is traced once for all of its callers has no user frame:
``call_shared`` hides those below it, and what uses its program tells its own.

``user_frame()`` runs once per equation, so it does little: it walks to the first user frame. A
``FrameMark`` keeps its code object and instruction offset. File, line and column are worked out
from these when somebody asks, which is seldom.

``api_boundary`` marks a function that users call, as all of a public module are. When an exception
leaves one towards the user, the internal frames are taken out of its traceback, so that what
remains are the user's own lines. Calls that raise nothing cost as much as without it.
``show_filtered`` makes the interpreter do so for an exception that nobody caught, wherever it came
from. ``jax_traceback_filtering="off"`` leaves everything in place.

With the internal frames goes what they knew: the function that the user called, and its arguments.
Where a message lacks that, a *note* below it tells it: ``in add(x: float32[2,3], y: float32[7])``.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from tapeless import config
from tapeless.util.chains import HAPPENED, PACKAGE, transformations
from tapeless.util.handlers import has_handler, with_handler

__all__ = [
    "FrameMark", "api_boundary", "call_shared", "filter_traceback", "hide_file", "is_internal",
    "name_function", "show_filtered", "user_frame", "user_mark", "user_marks", "warn",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")

_LIBRARIES = (f"{os.sep}opt_einsum{os.sep}",)  # that report the user's mistakes for us
_PASSING = (
    contextlib.__file__,
    functools.__file__,
    "<frozen runpy>",
    "<frozen importlib._bootstrap>",
)

# Modules whose functions users call; what their arguments are is told in the notes of errors.
_CALLED = tuple(
    f"tapeless.{name}" for name in ("numpy", "scipy", "nn", "image", "ops", "random", "lax")
)
_OF_LAX = ("tapeless.prims", "tapeless.control")  # the functions in them; methods nobody calls
_COMPILED = "tapeless.api.jit"  # some of them are compiled, and fail before they are entered
# What tells of a mistake in a call, so that the call is told; of RuntimeErrors, no subclasses do.
_MISTAKES = (
    ValueError, TypeError, IndexError, NameError, OverflowError, AssertionError,
)  # fmt: skip
_NOTE = "in "
_AROUND = "inside "
_LOOKED = "_transformations_are_told"  # attribute of an error
_SHARED = "<shared>"  # the file of the frame that `user_frame` does not look behind
_MOST_PARTS = 8
_MOST_LETTERS = 40

# File name -> whether its frames are internal. Filled as files are met.
_internal: dict[str, bool] = dict.fromkeys(_PASSING, True)


def is_internal(filename: str) -> bool:
    """Whether frames of the file are none of the user's business."""
    answer = _internal.get(filename)
    if answer is None and filename == _SHARED:
        return True
    if answer is None:
        answer = _internal[filename] = filename.startswith(PACKAGE) or any(
            library in filename for library in _LIBRARIES
        )
    return answer


def hide_file(filename: str) -> None:
    """Declare a file internal: a library built on this one may hide its own frames."""
    _internal[filename] = True


class FrameMark:
    """A place in user code: a code object and an instruction in it, resolved when asked."""

    __slots__ = ("code", "lasti")

    def __init__(self, code: types.CodeType, lasti: int) -> None:
        """Keep the code object and the instruction's offset in bytes."""
        self.code = code
        self.lasti = lasti

    def __eq__(self, other: object) -> bool:
        """Tell whether this is the same instruction of the same code object."""
        if type(other) is not FrameMark:
            return NotImplemented
        return self.code is other.code and self.lasti == other.lasti

    def __hash__(self) -> int:
        """Hash by the identity of the code."""
        return hash((id(self.code), self.lasti))

    @property
    def filename(self) -> str:
        """The file's path."""
        return self.code.co_filename

    @property
    def function(self) -> str:
        """The function's name."""
        return self.code.co_name

    @property
    def position(self) -> tuple[int, int]:
        """The line, counted from one, and the column, counted from zero, as Python counts them."""
        positions = self.code.co_positions()
        found = next(itertools.islice(positions, self.lasti // 2, None), (None,) * 4)
        line, _, column, _ = found
        return line or self.code.co_firstlineno, column or 0

    @property
    def line(self) -> int:
        """The line, counted from one."""
        return self.position[0]

    @property
    def column(self) -> int:
        """The column, counted from zero."""
        return self.position[1]

    def __str__(self) -> str:
        """Print as ``file:line:column (qualified name)``, with the column counted from zero."""
        line, column = self.position
        return f"{self.filename}:{line}:{column} ({self.code.co_qualname})"

    def __repr__(self) -> str:
        """Print with the class's name."""
        return f"FrameMark({self})"


def user_frame(skip: int = 1) -> types.FrameType | None:
    """Return the innermost user frame of this call, or None outside user code.

    skip: the number of callers of this function that are passed over: they are internal.
    """
    frame: types.FrameType | None = sys._getframe(skip)
    known = _internal.get
    while frame is not None:
        filename = frame.f_code.co_filename
        internal = known(filename)
        if not internal:
            if filename == _SHARED:
                return None
            if internal is False or not is_internal(filename):
                return frame
        frame = frame.f_back
    return None


def call_shared(function: Callable[..., R], args: Sequence, kwargs: dict) -> R:
    """Call a function; if it is internal, its operations are none of the caller's lines."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not is_internal(code.co_filename):
        return function(*args, **kwargs)
    return _behind(function, args, kwargs)


def _behind(function: Callable[..., R], args: Sequence, kwargs: dict) -> R:
    """Call a function, by a frame that `user_frame` does not look behind."""
    return function(*args, **kwargs)


_behind.__code__ = _behind.__code__.replace(co_filename=_SHARED)


def user_mark() -> FrameMark | None:
    """Return the place of the innermost user frame of this call, or None outside user code."""
    frame = user_frame()
    return None if frame is None else FrameMark(frame.f_code, frame.f_lasti)


def user_marks(limit: int | None = None) -> tuple[FrameMark, ...]:
    """Return the user frames of this call, innermost first, at most ``limit``."""
    found: list[FrameMark] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (limit is None or len(found) < limit):
        if not is_internal(frame.f_code.co_filename):
            found.append(FrameMark(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the user's line, however deep the call."""
    depth = 2
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
        depth += 1
    warnings.warn(message, category, stacklevel=depth if frame is not None else 2)


def filter_traceback(error: BaseException) -> None:
    """Take the internal frames out of the traceback that ``error`` carries, if filtering is on.

    What it was raised from, or while, is treated likewise.
    """
    if config.current.jax_traceback_filtering == "off":
        return
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        _filter_one(link)
        link = link.__cause__ or link.__context__


def _filter_one(error: BaseException) -> None:
    """Take the internal frames out of one traceback."""
    entries: list[types.TracebackType] = []
    called: list[types.FrameType] = []  # internal ones, since the last of the user's
    innermost = entry = error.__traceback__
    while entry is not None:
        innermost = entry
        if is_internal(entry.tb_frame.f_code.co_filename):
            called.append(entry.tb_frame)
        else:
            entries.append(entry)
            called.clear()
        entry = entry.tb_next
    if isinstance(error, _MISTAKES) or type(error) is RuntimeError:
        _tell_call(error, called)
    if isinstance(error, Exception) and innermost is not None:
        _tell_transformations(error, innermost.tb_frame)
    kept: types.TracebackType | None = None
    for entry in reversed(entries):
        kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = kept


def _tell_call(error: BaseException, frames: Sequence[types.FrameType]) -> None:
    """Add a note on the function that failed and its arguments, unless the message tells them."""
    inside = next(filter(_is_of_a_library, frames), None)
    frame = inside or next(filter(_is_compiled, frames), None)
    if frame is None:
        return
    # What a function inside of this one said of its own arguments is no news to its user.
    error.__notes__ = [x for x in getattr(error, "__notes__", ()) if not x.startswith(_NOTE)]
    code, values = frame.f_code, frame.f_locals
    n_named = code.co_argcount + code.co_kwonlyargcount
    named = (key for key in code.co_varnames[:n_named] if not key.startswith("_"))
    name, given = code.co_name, {key: values.get(key) for key in named}
    if name == "__call__":
        name = getattr(given.pop("self", None), "__name__", name)
    if code.co_flags & inspect.CO_VARARGS:
        rest = values.get(code.co_varnames[n_named], ())
        given.update((f"argument {i}", x) for i, x in enumerate(rest, 1))
    kinds = {key: _kind(x) for key, x in given.items() if x is not None}
    told = str(error).replace(" ", "")
    shapes = [kind[kind.index("[") :] for kind in kinds.values() if kind.endswith("]")]
    known = all(x in told or f"({x[1:-1]}" in told for x in shapes)
    if name.startswith("_") or (name in told and known):
        return
    error.add_note(f"{_NOTE}{name}({', '.join(f'{key}: {kind}' for key, kind in kinds.items())})")


def _tell_transformations(error: Exception, frame: types.FrameType) -> None:
    """Add a note on the transformations around, unless the message tells them, or there is one.

    frame: the innermost that the error left; the boundary nearest to it knows the most, and those
    after it need not go through the stack again.
    """
    if hasattr(error, _LOOKED):
        return
    setattr(error, _LOOKED, True)
    around = transformations(frame)
    if around and not _tells(str(error), around):
        error.add_note(around)


def _tells(message: str, around: str) -> bool:
    """Tell whether a message has the words on the transformations, or on the only one."""
    first, _, others = around.partition(", ")
    purpose, _, function = first.removeprefix(_AROUND).partition(" of ")
    return f"{HAPPENED}{_AROUND}" in message or (
        f"{function} for {purpose}." in message and not others
    )


def _is_of_a_library(frame: types.FrameType) -> bool:
    """Tell whether a frame is of a function that users call."""
    module = frame.f_globals.get("__name__", "")
    name = frame.f_code.co_name
    if module.startswith(_OF_LAX):
        return name == frame.f_code.co_qualname and not name.startswith("_")
    return module.startswith(_CALLED) and (name == "__call__" or not name.startswith(("_", "<")))


def _is_compiled(frame: types.FrameType) -> bool:
    """Tell whether a frame is the call of a compiled function."""
    return frame.f_globals.get("__name__") == _COMPILED and frame.f_code.co_name == "__call__"


@functools.lru_cache(64)
def _dtype_name(dtype: object) -> str:
    """Return a dtype's name: NumPy takes long for it."""
    return str(dtype)


def _kind(x: object) -> str:
    """Return a type with a shape, such as float32[2,3], or a short value."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{_dtype_name(dtype)}[{','.join(map(str, shape))}]"
    if isinstance(x, (list, tuple)) and any(hasattr(y, "shape") for y in x):
        return f"{type(x).__name__} of {', '.join(map(_kind, x[:_MOST_PARTS]))}"
    text = x._kind_text() if hasattr(x, "_kind_text") else repr(x)
    return text if len(text) <= _MOST_LETTERS else type(x).__name__


def show_filtered() -> None:
    """Let the interpreter filter the tracebacks of uncaught exceptions before it shows them."""
    if getattr(sys.excepthook, "shows_filtered", False):
        return
    show = sys.excepthook

    def filtered(
        kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None
    ) -> None:
        """Filter, then do what was done before."""
        filter_traceback(error)
        show(kind, error, error.__traceback__ or traceback)

    filtered.shows_filtered = True  # pyrefly: ignore[missing-attribute]  # functions may have any
    sys.excepthook = filtered


def name_function(function: Callable, name: str, inside: str = "") -> None:
    """Let a function that another one made bear a name, also in tracebacks.

    inside: the class or module that is named before it, with a dot.
    """
    function.__name__, function.__qualname__ = name, inside + name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=inside + name)


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Let the errors of a function that users call show user code only; return it."""
    if isinstance(function, types.FunctionType):
        with_handler(function, _leave)
    return function


def _leave() -> None:
    """Filter the traceback of what leaves a boundary, unless it will meet another before the user.

    The caller of this function is the boundary.
    """
    error = sys.exception()
    if not isinstance(error, Exception):
        return
    frame = sys._getframe(1).f_back
    while frame is not None and is_internal(frame.f_code.co_filename):
        if has_handler(frame.f_code, _leave):
            return
        frame = frame.f_back
    filter_traceback(error)
