"""Tables for people, in a terminal: columns of text and of figures, by the package `rich`.

A table is a title, headings, rows of strings. Headings that end in a space are of figures, which
stand at the right; the last column takes the width that is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.util import lazy

__all__ = ["counted", "print_table", "quantity", "required", "telling_line"]

rich_console = lazy.load("rich.console")
rich_table = lazy.load("rich.table")
rich_text = lazy.load("rich.text")

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits, a prefix and its unit.

    >>> quantity(0.0000123, "s"), quantity(4_096, "B"), quantity(0, "s")
    ('12.3 µs', '4.1 kB', '0 s')
    """
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.{1 if value < 100 * scale else 0}f} {prefix}{unit}"
    return f"0 {unit}"


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "kernel"), counted(3, "kernel")
    ('1 kernel', '3 kernels')
    """
    return f"{number} {what}{'s' if number != 1 else ''}"


def telling_line(listing: str) -> str:
    """Return the line of a kernel's listing that says most: the longest that opens no loop.

    >>> telling_line("for i < 9:\\n  t1[i] = tanh(t0[i] + 1.0)\\n  t0[i] = t1[i]")
    't1[i] = tanh(t0[i] + 1.0)'
    """
    lines = [line.strip() for line in listing.splitlines()]
    return max([line for line in lines if not line.endswith(":")] or lines, key=len)


def required(package: str, what: str) -> None:
    """Raise ImportError unless a package of the extra `inspect` is installed."""
    if not lazy.exists(package):
        raise ImportError(
            f"{what} needs the package {package}, which is not installed. "
            'Install it: pip install "tapeless[inspect]".'
        )


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to standard output, in colours if that is a terminal."""
    required("rich", "a table")
    table = rich_table.Table(title=title, title_justify="left", header_style="bold")
    for heading in headings:
        right: Any = "right" if heading.endswith(" ") else "left"
        is_last = heading is headings[-1]  # which takes the width that is left, and wraps
        table.add_column(heading.strip(), justify=right, overflow="fold", no_wrap=not is_last)
    for row in rows:
        table.add_row(*map(rich_text.Text, row))
    rich_console.Console().print(table)
