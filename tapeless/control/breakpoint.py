"""Breakpoints in programs: a prompt at the terminal while the compiled program stands still.

When the function is traced, `breakpoint` records the frames of the user: file, line, and local
variables.  Those that are tracers become operands of a debug callback; when the program gets there,
they have values, and the callback reads commands from `sys.stdin` until one lets it go on.

Frames are numbered from the innermost, as in pdb.
"""

from __future__ import annotations

import cmd
import linecache
import sys
import types
from collections.abc import Sequence
from typing import Any

from tapeless.control.callback import debug_callback
from tapeless.core.trace import Tracer
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.util import lazy
from tapeless.util.frames import is_internal
from tapeless.util.records import record

__all__ = ["Frame", "breakpoint"]

pprint = lazy.load("pprint")
traceback = lazy.load("traceback")
_CONTEXT_LINES = 5


@record
class Frame:
    """One frame of the user's: where it is, and what its names mean."""

    filename: str
    function: str
    line: int
    names: dict[str, Any]
    globals: dict[str, Any]

    def summary(self) -> str:
        """Return the file, the line, and its text."""
        text = linecache.getline(self.filename, self.line).strip()
        return f'  File "{self.filename}", line {self.line}\n    {text}'

    def listing(self) -> str:
        """Return the lines around the place."""
        rows = [f"> {self.filename}({self.line})"]
        for number in range(max(1, self.line - _CONTEXT_LINES), self.line + _CONTEXT_LINES + 1):
            text = linecache.getline(self.filename, number)
            if text:
                rows.append(("->  " if number == self.line else "    ") + text.rstrip("\n"))
        return "\n".join(rows)


class _Prompt(cmd.Cmd):
    """Reads commands and carries them out."""

    prompt = "(jdb) "

    def __init__(self, frames: Sequence[Frame]) -> None:
        """Stand at the innermost of `frames`."""
        super().__init__(stdin=sys.stdin, stdout=sys.stdout)
        terminal = sys.__stdin__
        self.use_rawinput = sys.stdin is terminal and terminal is not None and terminal.isatty()
        self.frames = frames
        self.depth = 0

    def write(self, text: str) -> None:
        """Write a line."""
        self.stdout.write(text + "\n")

    def evaluate(self, text: str) -> Any:
        """Return the value of an expression in the frame."""
        frame = self.frames[self.depth]
        return eval(text, {**frame.globals, **frame.names})  # noqa: S307 - it is what users ask for

    def show(self, text: str, form: Any) -> None:
        """Write the value of an expression, or why it has none."""
        try:
            self.write(form(self.evaluate(text)))
        except Exception as error:  # noqa: BLE001 - the user's expression may raise anything
            self.write("*** " + traceback.format_exception_only(type(error), error)[-1].strip())

    def default(self, line: str) -> None:
        """Evaluate an expression."""
        self.show(line, repr)

    def do_p(self, line: str) -> None:
        """p EXPRESSION: print its value."""
        self.show(line, repr)

    def do_pp(self, line: str) -> None:
        """pp EXPRESSION: print its value over several lines."""
        self.show(line, pprint.pformat)

    def do_up(self, line: str) -> None:
        """u(p): go to the caller."""
        self.move(1, "topmost")

    def do_down(self, line: str) -> None:
        """d(own): go back to the callee."""
        self.move(-1, "bottommost")

    def move(self, step: int, end: str) -> None:
        """Go to another frame and show it."""
        if not 0 <= self.depth + step < len(self.frames):
            self.write(f"At {end} frame.")
        else:
            self.depth += step
            self.write(self.frames[self.depth].listing())

    def do_list(self, line: str) -> None:
        """l(ist): show the lines around the place."""
        self.write(self.frames[self.depth].listing())

    def do_bt(self, line: str) -> None:
        """bt, w(here): show all frames."""
        self.write("Traceback:")
        for frame in reversed(self.frames):
            self.write(frame.summary())

    def do_continue(self, line: str) -> bool:
        """c(ont(inue)): let the program go on."""
        return True

    def do_quit(self, line: str) -> None:
        """q(uit): leave Python."""
        sys.exit(0)

    def emptyline(self) -> bool:
        """Do nothing."""
        return False

    do_u, do_d, do_l, do_w, do_where = do_up, do_down, do_list, do_bt, do_bt
    do_c = do_cont = do_EOF = do_continue
    do_q = do_exit = do_quit


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Stop here when the program runs, and read commands from the terminal: `help` lists them.

    backend: None or "cli".  filter_frames: leave out the frames of this package.  num_frames: the
    most frames to keep.
    """
    if backend not in (None, "cli"):
        raise ValueError(f"No debugger registered for {backend}: there is only 'cli'")
    frames = _user_frames(filter_frames)[:num_frames]
    leaves, tree = tree_flatten([frame.names for frame in frames])
    traced = [isinstance(leaf, Tracer) for leaf in leaves]

    def stop(*values: Any) -> None:
        """Read commands."""
        rest = iter(values)
        full = [next(rest) if flag else leaf for leaf, flag in zip(leaves, traced, strict=True)]
        names = tree_unflatten(tree, full)
        known = [
            Frame(f.filename, f.function, f.line, given, f.globals)
            for f, given in zip(frames, names, strict=True)
        ]
        _Prompt(known).cmdloop("Entering jdb:")

    operands = [leaf for leaf, flag in zip(leaves, traced, strict=True) if flag]
    leaves = [None if flag else leaf for leaf, flag in zip(leaves, traced, strict=True)]
    debug_callback(stop, *operands, ordered=ordered)


def _user_frames(filtered: bool) -> list[Frame]:
    """Return the frames of this call, the innermost first."""
    found: list[Frame] = []
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not (filtered and is_internal(code.co_filename)):
            names = {name: _kept(value) for name, value in frame.f_locals.items()}
            found.append(
                Frame(code.co_filename, code.co_name, frame.f_lineno, names, frame.f_globals)
            )
        frame = frame.f_back
    return found


def _kept(value: Any) -> Any:
    """Return a local variable, or its text if no program could have it as an operand."""
    try:
        leaves, _ = tree_flatten(value)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
    dead = any(isinstance(leaf, Tracer) and not leaf.tag.alive for leaf in leaves)
    return repr(value) if dead else value
