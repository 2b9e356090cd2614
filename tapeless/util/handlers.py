"""A handler for what leaves a function by an exception, which costs nothing where none does.

A wrapper would take a tenth of the time of the fastest functions that users call.  Python's own
`try` is free: a table beside the instructions of a function says where an exception goes.  So the
handler is written there: `with_handler` gives a function the instructions that Python compiles for
`finally: handler()`, behind its own, and an entry of the table for every instruction that had none.

The table (CPython's *exception table*) is a row of entries: first instruction, number of
instructions, target, and twice the depth of the stack there, plus one if the position of the
instruction is kept.  Numbers are written six bits to a byte, most significant first; 64 marks the
bytes that are followed by another, 128 the first byte of an entry.  Positions count instructions
of two bytes.  Functions that are made again and again, as those inside of others, share their code,
with the handler and without.
"""

from __future__ import annotations

import functools
import opcode
import sys
import types
from collections.abc import Callable, Iterator

__all__ = ["has_handler", "with_handler"]

Entry = tuple[int, int, int, int]  # start, length, target, depth and flag

_FIRST, _MORE, _BITS = 128, 64, 6
_NOT_PLAIN = 0x20 | 0x80 | 0x200  # generators and coroutines leave off in the middle
_SAME_LINE = 128 | 13 << 3  # of the table of lines: no columns
_MOST_ALIKE = 8  # instructions that an entry of the table of lines is for
_LATEST = (3, 13)  # the last version that this was tried on
_MOST_KNOWN = 1024
_handled: dict[int, tuple[types.CodeType, types.CodeType]] = {}  # by identity; equal is not enough


def _model(handler: Callable[[], None]) -> None:
    """Show how Python compiles a handler."""
    try:
        handler()
    finally:
        handler()


def _written(entries: list[Entry]) -> bytes:
    """Write a table."""
    out = bytearray()
    for entry in entries:
        first = len(out)
        for value in entry:
            out += _digits(value)
        out[first] |= _FIRST
    return bytes(out)


@functools.lru_cache(_MOST_KNOWN)
def _digits(value: int) -> bytes:
    """Write a number."""
    shift = max(value.bit_length() - 1, 0) // _BITS * _BITS
    more = [value >> i & (_MORE - 1) | _MORE for i in range(shift, 0, -_BITS)]
    return bytes([*more, value & (_MORE - 1)])


def _read(table: bytes) -> Iterator[Entry]:
    """Read a table."""
    numbers: list[int] = []
    goes_on = False
    for byte in table:
        digit = byte & (_MORE - 1)
        if goes_on:
            numbers[-1] = numbers[-1] << _BITS | digit
        else:
            numbers.append(digit)
        goes_on = bool(byte & _MORE)
    for i in range(0, len(numbers), 4):
        start, length, target, depth = numbers[i : i + 4]
        yield start, length, target, depth


def _handling() -> tuple[bytes, bytes, list[Entry]]:
    """Return a handler's instructions before and after the one that loads it, and its entries.

    Positions are counted from the first of them.
    """
    code = _model.__code__
    table = list(_read(code.co_exceptiontable))
    start = min(entry[2] for entry in table if entry[3] == 0)
    own = [(first - start, n, to - start, depth) for first, n, to, depth in table if first >= start]
    text = code.co_code[2 * start :]
    loads = [i for i in range(0, len(text), 2) if opcode.opname[text[i]].startswith("LOAD_FAST")]
    (load,) = loads
    return text[:load], text[load + 2 :], own


def _load(index: int) -> bytes:
    """Return the instructions that load a constant."""
    load, extended = opcode.opmap["LOAD_CONST"], opcode.opmap["EXTENDED_ARG"]
    if index < 256:
        return bytes([load, index])
    return bytes([extended, index >> 8, load, index & 255])


@functools.cache
def _tail(count: int) -> tuple[bytes, bytes]:
    """Return a handler's instructions, and their lines, in code of so many constants."""
    text = _before + _load(count) + _after
    return text, _positions(len(text) // 2)


def _positions(count: int) -> bytes:
    """Return the entries of the table of lines for instructions of the line before them."""
    whole, rest = divmod(count, _MOST_ALIKE)
    counts = [_MOST_ALIKE] * whole + [rest] * (rest > 0)
    return b"".join(bytes([_SAME_LINE | n - 1, 0]) for n in counts)


_before, _after, _own = _handling() if sys.version_info[:2] <= _LATEST else (b"", b"", [])


def has_handler(code: types.CodeType, handler: Callable[[], None]) -> bool:
    """Tell whether the code of a function has been given the handler."""
    return code.co_consts[-1:] == (handler,)


def with_handler(function: types.FunctionType, handler: Callable[[], None]) -> None:
    """Let `handler()` be called when an exception leaves `function`; `sys.exception()` is it then.

    The exception goes on afterwards.  Generators and coroutines stay as they are, and so do all
    functions under a version of Python that is not known here.
    """
    code = function.__code__
    if not _before or code.co_flags & _NOT_PLAIN or has_handler(code, handler):
        return
    known = _handled.get(id(code))
    if known is None or known[1].co_consts[-1] is not handler:
        if len(_handled) >= _MOST_KNOWN:
            _handled.clear()
        known = _handled[id(code)] = code, _with_handler(code, handler)
    function.__code__ = known[1]


def _with_handler(code: types.CodeType, handler: Callable[[], None]) -> types.CodeType:
    """Return the code of a function with a handler."""
    constants, instructions = code.co_consts, code.co_code
    text, lines = _tail(len(constants))
    target, longer = len(instructions) // 2, (len(text) - len(_before) - len(_after)) // 2 - 1
    entries: list[Entry] = []
    here = 0
    for entry in (*_read(code.co_exceptiontable), (target, 0, 0, 0)):
        if entry[0] > here:
            entries.append((here, entry[0] - here, target, 0))
        if entry[1]:
            entries.append(entry)
        here = entry[0] + entry[1]
    entries += [
        (target + first, n + longer, target + to + longer, depth) for first, n, to, depth in _own
    ]
    return code.replace(
        co_code=instructions + text,
        co_consts=(*constants, handler),
        co_exceptiontable=_written(entries),
        co_linetable=code.co_linetable + lines,
        co_stacksize=max(code.co_stacksize, _model.__code__.co_stacksize) + 1,
    )
