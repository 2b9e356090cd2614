"""The names of values in a module's text, given as MLIR's printer gives them.

A value is written under a provisional name, `%<stem number>`, and gets its name when its function
is complete, since names depend on the whole block that a value stands in:

    %0, %1, ...          results, in the order of their operations
    %cst, %cst_0, ...    constants; a name that is taken gets the next number of one common count
    %arg0, %arg1, ...    arguments of a function and of the regions in it

A block names its own values first, and then those of the regions inside, each of which goes on from
the block's counts; so regions that stand side by side use the same names, and none of those around.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["named_lines", "provisional"]

_RESULT, _ARGUMENT = "", "arg"
_NAME = re.compile(r"%<(\w*) \d+>")
_DEFINED = re.compile(r"\s*(%<\w* \d+>)(:\d+)? = ")
_CARRY = re.compile(r"%<\w+ \d+>(?= = %)")


def provisional(stem: str, number: int) -> str:
    """Return a provisional name; stem: "" for a result, "arg" for an argument, or the word used.

    number: its own in the function.
    """
    return f"%<{stem} {number}>"


class _Block:
    """The values that a block defines, in order, and the blocks of the regions inside."""

    def __init__(self, defined: Iterable[str] = ()) -> None:
        """defined: its arguments."""
        self.defined = list(defined)
        self.regions: list[_Block] = []

    def region(self, arguments: Iterable[str] = ()) -> _Block:
        """Return a new block inside."""
        self.regions.append(_Block(arguments))
        return self.regions[-1]


def named_lines(lines: Sequence[str], n_arguments: int) -> list[str]:
    """Return the lines of a function of so many arguments with the names of its values."""
    names: dict[str, str] = {}
    _name(_blocks(lines), names, frozenset(), (0, n_arguments, 0))
    return [_NAME.sub(lambda match: names[match[0]], line) for line in lines]


def _blocks(lines: Sequence[str]) -> _Block:
    """Return the block of a function: what its lines define, by the braces that end them."""
    outermost = _Block()
    open_blocks = [outermost]
    carry: list[str] = []
    for line in lines:
        text = line.strip()
        if text.startswith("}"):
            open_blocks.pop()
        elif text.startswith("^bb0("):
            open_blocks[-1].defined += [match[0] for match in _NAME.finditer(text)]
        elif defined := _DEFINED.match(line):
            open_blocks[-1].defined.append(defined[1])
        if " = stablehlo.while(" in text:
            carry = [match[0] for match in _CARRY.finditer(text)]
        if text.endswith("{"):
            arguments = carry if text in ("cond {", "} do {") else ()
            open_blocks.append(open_blocks[-1].region(arguments))
    return outermost


def _name(
    block: _Block, names: dict[str, str], around: frozenset[str], counts: tuple[int, int, int]
) -> None:
    """Name the values of a block and of its regions.

    around: the words that are taken.  counts: of results, of arguments, and of words taken twice.
    """
    results, arguments, conflicts = counts
    taken = set(around)
    for value in block.defined:
        stem = _stem(value)
        if stem == _RESULT:
            names[value] = f"%{results}"
            results += 1
        elif stem == _ARGUMENT:
            names[value] = f"%arg{arguments}"
            arguments += 1
        else:
            word = stem
            while word in taken:
                word, conflicts = f"{stem}_{conflicts}", conflicts + 1
            taken.add(word)
            names[value] = f"%{word}"
    for region in block.regions:
        _name(region, names, frozenset(taken), (results, arguments, conflicts))


def _stem(value: str) -> str:
    """Return the stem of a provisional name."""
    return value[2 : value.index(" ")]
