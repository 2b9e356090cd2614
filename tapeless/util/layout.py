"""A document printer: text that is laid out on one line if it fits, on several if not.

A *document* is a tree of text, breaks, groups and indents. A *break* prints as a space (or other
text) or as a new line. A *group* is the unit of decision: if all of it fits in what is left of the
line, each of its breaks prints flat; otherwise each prints as a new line, and groups within decide
for themselves. ``nest`` indents the lines that begin inside it. The programs of this package print
so::

    { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }      fits

    { lambda ; a:f32[3]. let                                 does not
        b:f32[3] = sin a
      in (b,) }

The algorithm is Wadler's. Documents know their flat width when they are made, so that "does it fit"
is one comparison, and printing takes time linear in the document. Text that follows a group is not
looked at: a comma may hang over the edge, as it does in JAX's texts. So a list that fills lines is
one in which each entry with the break before it is a group of its own.

``style`` marks text with terminal colours, which have no width. A group in which a new line is
forced (``hard_line``) is never flat. ``note`` hangs a remark on the line on which a document
begins; remarks stand in a column of their own, to the right of the longest line.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "Document", "brk", "concat", "group", "hard_line", "join", "nest", "note", "pretty", "style",
    "text",
]  # fmt: skip

# The flat width of what cannot be flat.
_NEVER = 1 << 40

_COLOURS = {
    "black": 30, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36,
    "white": 37,
}  # fmt: skip


class Document:
    """Something to be printed. ``width`` is what it takes on one line, in columns.

    ``+`` puts documents, or a document and a string, next to each other.
    """

    __slots__ = ("width",)

    width: int

    def __add__(self, other: Document | str) -> Document:
        """Return this document followed by another."""
        return concat((self, other))

    def __radd__(self, other: str) -> Document:
        """Return a text followed by this document."""
        return concat((other, self))

    def __str__(self) -> str:
        """Lay the document out on lines of 80 columns."""
        return pretty(self)


class _Text(Document):
    """Text without line ends."""

    __slots__ = ("string",)

    def __init__(self, string: str) -> None:
        """Keep the string."""
        self.string = string
        self.width = len(string)


class _Break(Document):
    """A new line, or ``flat`` when its group is flat."""

    __slots__ = ("flat",)

    def __init__(self, flat: str, width: int) -> None:
        """Keep the text that replaces the new line."""
        self.flat = flat
        self.width = width


class _Concat(Document):
    """Documents one after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Document, ...]) -> None:
        """Keep the parts and add up their widths."""
        self.parts = parts
        self.width = min(_NEVER, sum(part.width for part in parts))


class _Group(Document):
    """A document that is flat or broken as a whole."""

    __slots__ = ("body",)

    def __init__(self, body: Document) -> None:
        """Keep the body."""
        self.body = body
        self.width = body.width


class _Nest(Document):
    """A document whose new lines are indented further."""

    __slots__ = ("body", "columns")

    def __init__(self, columns: int, body: Document) -> None:
        """Keep the body and its indent."""
        self.body = body
        self.columns = columns
        self.width = body.width


class _Style(Document):
    """A document printed in a colour, or bold."""

    __slots__ = ("body", "bold", "colour")

    def __init__(self, body: Document, colour: str | None, bold: bool) -> None:
        """Keep the body and how it looks."""
        self.body = body
        self.colour = colour
        self.bold = bold
        self.width = body.width


class _Note(Document):
    """Nothing, with a remark on it."""

    __slots__ = ("remark",)

    def __init__(self, remark: str) -> None:
        """Keep the remark."""
        self.remark = remark
        self.width = 0


hard_line: Document = _Break("", _NEVER)


def text(string: str) -> Document:
    """Return a document for a string; line ends in it become forced breaks."""
    if "\n" not in string:
        return _Text(string)
    return join(hard_line, [_Text(line) for line in string.split("\n")])


def brk(flat: str = " ") -> Document:
    """Return a break that prints as ``flat`` on a line that is not broken."""
    return _Break(flat, len(flat))


def concat(parts: Iterable[Document | str]) -> Document:
    """Return documents and strings one after the other."""
    documents = tuple(part if isinstance(part, Document) else text(part) for part in parts)
    return documents[0] if len(documents) == 1 else _Concat(documents)


def join(separator: Document | str, parts: Iterable[Document | str]) -> Document:
    """Return the parts with a separator between each two.

    >>> print(join(", ", ["a", "b", "c"]))
    a, b, c
    """
    woven: list[Document | str] = []
    for part in parts:
        if woven:
            woven.append(separator)
        woven.append(part)
    return concat(woven)


def group(body: Document) -> Document:
    """Return a document that is on one line if it fits, with all its breaks taken if not.

    >>> print(pretty(group(text("let") + nest(4, brk() + "b = sin a") + brk() + "in b"), width=12))
    let
        b = sin a
    in b
    """
    return body if isinstance(body, _Group) else _Group(body)


def nest(columns: int, body: Document) -> Document:
    """Return a document whose new lines begin ``columns`` further to the right."""
    return _Nest(columns, body)


def style(body: Document | str, colour: str | None = None, bold: bool = False) -> Document:
    """Return a document printed in a colour or bold where the printer is told to use colours."""
    return _Style(body if isinstance(body, Document) else text(body), colour, bold)


def note(remark: str) -> Document:
    """Return a document without text that hangs a remark on its line.

    >>> print(pretty(note("one") + "a" + brk() + note("two") + "bcd"))
    a   # one
    bcd # two
    """
    return _Note(remark)


# The terminal's codes for colour and weight. These are the ones of plain text.
_Look = tuple[int, int]
_PLAIN: _Look = (39, 22)

# What remains to be printed: an indent, whether breaks are flat, and a document; or, to end a
# style, the look to return to in the place of the document.
_Task = tuple[int, bool, "Document | _Look"]


def pretty(document: Document, width: int = 80, colour: bool = False) -> str:
    """Return the text of ``document`` for lines of ``width`` columns, with colours if wanted."""
    page = _Page(colour)
    tasks: list[_Task] = [(0, False, document)]
    while tasks:
        indent, flat, item = tasks.pop()
        if isinstance(item, _Text):
            page.write(item.string)
        elif isinstance(item, _Concat):
            tasks.extend((indent, flat, part) for part in reversed(item.parts))
        elif isinstance(item, _Group):
            tasks.append((indent, flat or page.column + item.width <= width, item.body))
        elif isinstance(item, _Nest):
            tasks.append((indent + item.columns, flat, item.body))
        elif isinstance(item, _Break):
            if flat:
                page.write(item.flat)
            else:
                page.new_line(indent)
        elif isinstance(item, _Style):
            tasks.append((indent, flat, page.look))
            tasks.append((indent, flat, item.body))
            page.restyle(item)
        elif isinstance(item, _Note):
            page.remarks.append(item.remark)
        elif isinstance(item, tuple):
            page.look = item
    return page.text()


class _Page:
    """The lines written so far, and the place and the look of what comes next.

    The terminal is told of a new look when text follows that has it, not before.
    """

    __slots__ = ("colour", "column", "lines", "look", "pieces", "remarks", "shown")

    def __init__(self, colour: bool) -> None:
        """Start with an empty line of plain text."""
        self.colour = colour
        self.column = 0
        self.look = self.shown = _PLAIN
        self.pieces: list[str] = []
        self.remarks: list[str] = []
        # Finished lines: text, width, remarks.
        self.lines: list[tuple[str, int, list[str]]] = []

    def write(self, string: str) -> None:
        """Add text to the line; an empty one makes a new look begin here."""
        if self.look != self.shown:
            self._switch()
        self.pieces.append(string)
        self.column += len(string)

    def new_line(self, indent: int) -> None:
        """Finish the line and begin another."""
        self.lines.append(("".join(self.pieces), self.column, self.remarks))
        self.pieces = [" " * indent]
        self.remarks = []
        self.column = indent

    def restyle(self, style: _Style) -> None:
        """Take on the look of a styled document within text of the present look."""
        if self.colour:
            colour, weight = self.look
            self.look = (
                _COLOURS[style.colour] if style.colour else colour,
                1 if style.bold else weight,
            )

    def text(self) -> str:
        """Return all lines, with the remarks beside them."""
        if self.look != self.shown:
            self._switch()
        self.new_line(0)
        margin = max(width for _, width, _ in self.lines)
        written = []
        for line, width, remarks in self.lines:
            for number, remark in enumerate(remarks):
                room = " " * (margin if number else margin - width)
                beside = f"{room} # {remark}"
                if self.colour:
                    beside = f"\x1b[2m{beside}\x1b[22m"
                written.append(beside if number else line + beside)
            if not remarks:
                written.append(line)
        return "\n".join(written)

    def _switch(self) -> None:
        """Write what gives the terminal the present look."""
        pairs = zip(self.look, self.shown, strict=True)
        codes = [str(code) for code, old in pairs if code != old]
        self.pieces.append(f"\x1b[{';'.join(codes)}m")
        self.shown = self.look
