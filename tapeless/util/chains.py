"""Which transformations a line of the user's is under, in the user's terms: for messages.

A line may be traced inside of `jit`, `vmap`, `grad`, the body of a `scan`, and so on.  Each of them
calls the user's function, so that its own frame is on the stack as long as the line runs.  Nothing
is noted while a function is traced: when there is something to tell, the stack is gone through;
`_CALLERS` says which frames are of transformations, and where they have the function.

    inside grad of loss at train.py:3, inside vmap, inside jit of step at train.py:9

The innermost comes first; `of loss` holds until another function is named.  What a library function
of this package transforms on its own account is none of the user's business, and is left out.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["HAPPENED", "PACKAGE", "function_name", "source_name", "transformations", "users_name"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Of frames that call the user's function: module and name; what users call them, where it is no
# variable; and where the function is, or its name.
_CALLERS: dict[tuple[str, str], tuple[str, str]] = {
    ("api.jit", "JitFunction.__call__"): ("jit", "self.__wrapped__"),
    ("api.jit", "trace_program"): ("", "function"),
    ("control.bodies", "trace_body"): ("", "function"),
    ("api.vmap", "vmap.<locals>.mapped"): ("vmap", "fun"),
    ("api.autodiff", "jvp"): ("jvp", "fun"),
    ("api.autodiff", "vjp"): ("vjp", "fun"),
    ("api.autodiff", "linearize"): ("linearize", "fun"),
    ("api.autodiff", "linear_transpose"): ("linear_transpose", "fun"),
    ("api.autodiff", "value_and_grad.<locals>.wrapped"): ("value_and_grad", "fun"),
    ("api.autodiff", "grad.<locals>.wrapped"): ("grad", "both"),
    ("api.autodiff", "VJP.__call__"): ("the backward pass", "self.program.name"),
    ("api.autodiff", "LinearProgram.push"): ("the forward pass", "self.name"),
    ("api.jacobian", "jacfwd.<locals>.jacobian_of"): ("jacfwd", "fun"),
    ("api.jacobian", "jacrev.<locals>.jacobian_of"): ("jacrev", "fun"),
    ("api.custom", "FlatJVP.__call__"): ("the custom_jvp rule", "self.rule"),
    ("api.custom", "FlatVJP.forward"): ("the custom_vjp forward rule", "self.fwd"),
    ("api.custom", "FlatVJP.backward"): ("the custom_vjp backward rule", "self.bwd"),
    ("api.functional_errors", "checkify.<locals>.checked"): ("checkify", "f"),
    ("api.sharding", "shard_map.<locals>.mapped"): ("shard_map", "f"),
    ("api.sharding", "pmap.<locals>.mapped"): ("pmap", "fun"),
    ("control.loops", "scan"): ("scan", "f"),
    ("control.loops", "map"): ("map", "f"),
    ("control.loops", "fori_loop"): ("fori_loop", "body_fun"),
    ("control.associative_scan", "associative_scan"): ("associative_scan", "fn"),
    ("numpy.vectorization", "vectorize.<locals>.vectorized"): ("vectorize", "pyfunc"),
}
_PURPOSES = {
    "make_jaxpr": "jit",
    "checkpoint / remat": "checkpoint",
    "while_cond": "while_loop",
    "while_body": "while_loop",
}
HAPPENED = "This happened "  # how messages begin a sentence with such words
_MOST = 3


def function_name(function: Callable) -> str:
    """Return the bare name of a function; partials and callables are looked through."""
    while hasattr(function, "func") and not hasattr(function, "__name__"):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _code(function: Callable) -> types.CodeType | None:
    """Return the code of the function behind a transformed or partly applied one."""
    inner: Any = inspect.unwrap(function)
    while hasattr(inner, "func") and not hasattr(inner, "__code__"):
        inner = inner.func
    return getattr(inner, "__code__", None)


def source_name(function: Callable) -> str:
    """Return `name at file:line`, or the name alone where there is no Python source."""
    code, name = _code(function), function_name(function)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code else name


def users_name(function: Any) -> str:
    """Return `name at file:line` of a user's function, or "" of one of this package."""
    code = None if function is None else _code(function)
    is_users = code is not None and not code.co_filename.startswith(PACKAGE)
    return source_name(inspect.unwrap(function)) if is_users else ""


def transformations(frame: types.FrameType | None, own: tuple[str, str] | None = None) -> str:
    """Return words on the transformations that a frame, or what it called, is inside of; or "".

    own: the innermost one and its function, if the message tells them already.
    """
    found = list(_chain(frame))
    if own is not None and found[:1] == [own]:
        del found[0]
    name = own and own[1]
    words: list[str] = []
    for purpose, function in found[:_MOST]:
        words.append(purpose if function == name else f"{purpose} of {function}")
        name = function
    if len(found) > _MOST:
        words.append(f"{len(found) - _MOST} more")
    return ", ".join(f"inside {word}" for word in words)


def _chain(frame: types.FrameType | None) -> Iterator[tuple[str, str]]:
    """Yield the transformations around, the innermost first, each with its function's name."""
    last: tuple[str, Any] | None = None
    while frame is not None:
        found = _entry(frame)
        # A transformation may have two frames, with one function.
        if found is not None and not (last and found[0] == last[0] and found[1] is last[1]):
            last = found
            purpose, function = found
            named = function if isinstance(function, str) else source_name(function)
            yield _PURPOSES.get(purpose, purpose), named
        frame = frame.f_back


def _entry(frame: types.FrameType) -> tuple[str, Any] | None:
    """Return what a frame is of: a transformation, and its function or the name of it."""
    known = _known(frame)
    if known is None or (frame.f_back is not None and _known(frame.f_back)):
        return None  # `grad` calls `value_and_grad`; the user called `grad`
    purpose, path = known
    name, *attributes = path.split(".")
    values = frame.f_locals
    function = values.get(name)
    for attribute in attributes:
        function = getattr(function, attribute, None)
    if function is None:  # the call is about to begin
        return None
    code = None if isinstance(function, str) else _code(function)
    if code is not None and code.co_filename.startswith(PACKAGE):
        return None
    return purpose or values["purpose"], function


def _known(frame: types.FrameType) -> tuple[str, str] | None:
    """Return what is known of a frame of a transformation."""
    code = frame.f_code
    if not code.co_filename.startswith(PACKAGE):
        return None
    module = frame.f_globals.get("__name__", "").partition(".")[2]
    return _CALLERS.get((module, code.co_qualname))
