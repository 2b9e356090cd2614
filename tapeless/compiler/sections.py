"""Sections: long programs are written as several functions.

LLVM's time for one function grows faster than its length, so that a program of a thousand unrolled
steps would take minutes.  The body is therefore cut into sections of some dozens of statements,
each a function of its own that the entry calls in order.  What earlier sections computed is in the
buffers and the arena, where any later statement finds it.

Invariant: a local buffer, which is a stack slot of its function, is used in one section only.
"""

from __future__ import annotations

from tapeless.compiler.plan import local_buffers
from tapeless.kernel.ir import Block, Buffer

__all__ = ["sections_of"]

_LENGTH = 48  # statements


def sections_of(body: Block) -> list[Block]:
    """Cut a body where it is long enough and no local buffer is in use; short ones stay whole."""
    if len(body) < 2 * _LENGTH:
        return [body]
    locals_used = [local_buffers((statement,)) for statement in body]
    last: dict[Buffer, int] = {}
    for number, used in enumerate(locals_used):
        last.update(dict.fromkeys(used, number))
    found: list[Block] = []
    start = end = 0
    for number, used in enumerate(locals_used):
        end = max([end, *(last[buffer] for buffer in used)])
        if end <= number and number + 1 - start >= _LENGTH:
            found.append(body[start : number + 1])
            start = number + 1
    return [*found, body[start:]] if start < len(body) else found
