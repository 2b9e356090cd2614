"""The words of a StableHLO text, and a reader that walks over them.

    value   %arg0  %3#1              string  "..."             symbol  @main  @"f.0"
    block   ^bb0                     tensor  tensor<3xf32>     name    stablehlo.add  i64  x
    hash    #stablehlo.gather        bang    !stablehlo.token  number  -1.5e3  0x7FC00000
    dots    ...                      mark    -> : , = ( ) [ ] { } < > and so on

A tensor type is one word: its `3x4xf32` would fall apart otherwise.  Comments and white space are
dropped.  The place of a word is worked out when a message needs it.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple, NoReturn

from tapeless.stablehlo.syntax import Place

__all__ = ["Reader", "Token", "unquoted"]

_WORDS = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<tensor>tensor<[^<>"\n]*(?:<[^<>"\n]*>[^<>"\n]*)*>)
  | (?P<value>%[A-Za-z0-9_$.\-]+(?:\#\d+)?)
  | (?P<symbol>@(?:[A-Za-z_][\w$.]*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))
  | (?P<block>\^[\w$.\-]+)
  | (?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*")
  | (?P<hash>\#[A-Za-z_]?[\w$.]*)
  | (?P<bang>![A-Za-z_][\w$.]*)
  | (?P<number>0x[0-9A-Fa-f]+|-?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?)
  | (?P<name>[A-Za-z_][\w$.]*)
  | (?P<mark>->|::|\.\.\.|[-:,=()\[\]{}<>?*+|/])
    """,
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_DEEPEST = 200


class Token(NamedTuple):
    """A word: its kind, its text, where it begins."""

    kind: str
    text: str
    offset: int


class Reader:
    """Walks over the words of a text; `take...` methods move on, and fail where they cannot."""

    def __init__(self, text: str) -> None:
        """Split the text into words."""
        self.text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._tokens = list(self._split())
        self._next = 0
        self._depth = 0

    def _split(self) -> Iterator[Token]:
        """Yield the words, and at last an empty one."""
        offset = 0
        while offset < len(self.text):
            match = _WORDS.match(self.text, offset)
            if match is None or match.lastgroup is None:
                self.place(offset).fail(f"unexpected character {self.text[offset]!r}")
            if match.lastgroup != "space":
                yield Token(match.lastgroup, match.group(), offset)
            offset = match.end()
        yield Token("end", "", offset)

    def place(self, offset: int | None = None) -> Place:
        """Return the line and the column of an offset, or of the next word."""
        at = self.peek.offset if offset is None else offset
        line = bisect.bisect_right(self._lines, at)
        return Place(line, at - self._lines[line - 1] + 1)

    @property
    def peek(self) -> Token:
        """The next word."""
        return self._tokens[self._next]

    def fail(self, wanted: str) -> NoReturn:
        """Raise ValueError: something else is wanted here."""
        found = repr(self.peek.text[:40]) if self.peek.text else "the end of the text"
        self.place().fail(f"expected {wanted}, found {found}")

    def at(self, text: str) -> bool:
        """Tell whether the next word is this one."""
        return self.peek.text == text

    def at_kind(self, kind: str) -> bool:
        """Tell whether the next word is of this kind."""
        return self.peek.kind == kind

    def after(self, text: str) -> bool:
        """Tell whether the word after the next one is this one."""
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        return following.text == text

    def advance(self) -> Token:
        """Return the next word and move on."""
        token = self.peek
        if token.kind != "end":
            self._next += 1
        return token

    def skip(self, text: str) -> bool:
        """Move on if the next word is this one, and tell whether it was."""
        found = self.peek.text == text
        if found:
            self._next += 1
        return found

    def take(self, text: str) -> None:
        """Move on over this word."""
        if not self.skip(text):
            self.fail(repr(text))

    def take_kind(self, kind: str, wanted: str) -> str:
        """Return the next word, which must be of this kind; wanted: what to call it."""
        if self.peek.kind != kind:
            self.fail(wanted)
        return self.advance().text

    def take_integer(self) -> int:
        """Return the next word as an integer."""
        if self.at_kind("number") and re.fullmatch(r"-?\d{1,19}", self.peek.text):
            return int(self.advance().text)
        self.fail("an integer")

    @contextmanager
    def nested(self) -> Generator[None]:
        """Count how deep brackets are nested, and refuse what Python's stack does not hold."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self.place().fail(f"nested more than {_DEEPEST} deep")
        yield
        self._depth -= 1


def unquoted(text: str) -> str:
    r"""Return what a quoted string says.

    >>> unquoted(r'"a\22b\n"')
    'a"b\n'
    """

    def decoded(match: re.Match) -> str:
        """Return the character of an escape."""
        code = match.group(1)
        return _ESCAPES[code] if code in _ESCAPES else chr(int(code, 16))

    if "\\" not in text:
        return text[1:-1]
    return re.sub(r'\\([0-9A-Fa-f]{2}|["\\nt])', decoded, text[1:-1])
