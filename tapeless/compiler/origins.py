"""Which lines of the user a kernel comes from: lowering, with a record of the equations on the way.

After fusion a kernel computes what many equations asked for, and says of none. The builder here
notes the equation that is being lowered

    for each virtual value    whose expressions some later consumer will pull
    for each buffer           that the equation makes
    for each host call        which may have no result, and then no buffer tells where it is from

and, when a value is stored, adds to the buffer all equations that its expressions pass through:
those of the virtual values below it, down to what is in memory. The kernel that writes the buffer
has these origins.

The record costs time and memory, so programs that only run are lowered without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapeless.compiler.lower import ProgramBuilder
from tapeless.core.aval import ShapedArray
from tapeless.core.source import Source
from tapeless.kernel.carry import Carries
from tapeless.kernel.ir import Buffer
from tapeless.kernel.value import KernelValue, Pull

__all__ = ["Origin", "RecordingBuilder"]

Origin = tuple[str, Source]  # the name of a primitive, and where the user called for it


class RecordingBuilder(ProgramBuilder):
    """A program builder that knows the origins of buffers.

    origins: per buffer, the equations behind its contents, in the order in which they were met;
    per symbol of a host call, the equation that asks for it.
    """

    def __init__(self) -> None:
        """Start an empty program without arguments."""
        super().__init__()
        self.origins: dict[Buffer | str, dict[Origin, None]] = {}
        self._made_by: dict[KernelValue, Origin] = {}
        self._current: list[Origin] = []

    def notes(self) -> dict[Buffer, str]:
        """Return the origins of each buffer in words: operations, and the user's line of them."""
        return {
            buffer: _words(origins)
            for buffer, origins in self.origins.items()
            if isinstance(buffer, Buffer)
        }

    def _equation(self, frame: Any, plan: Any, eqn: Any, dying: Sequence) -> None:
        """Lower one equation, of which what is made meanwhile comes."""
        self._current.append((eqn.primitive.name, eqn.source))
        try:
            super()._equation(frame, plan, eqn, dying)
        finally:
            self._current.pop()

    def virtual(self, aval: ShapedArray, pull: Pull) -> KernelValue:
        """Make a virtual value of the current equation."""
        value = super().virtual(aval, pull)
        if self._current:
            self._made_by[value] = self._current[-1]
        return value

    def new_buffer(self, aval: ShapedArray, space: str = "") -> Buffer:
        """Make a buffer of the current equation."""
        buffer = super().new_buffer(aval, space)
        self.origins[buffer] = dict.fromkeys(self._current[-1:])
        return buffer

    def store_in(self, value: KernelValue, buffer: Buffer) -> None:
        """Store a virtual value; its equations, not the one that wants it, are the origins."""
        if self._equations(value):
            self.origins[buffer] = {}
        self._note(buffer, value)
        super().store_in(value, buffer)

    def assign(self, target: KernelValue, value: KernelValue, *args: Any, **kwargs: Any) -> None:
        """Copy a value to memory; its equations are origins of that memory."""
        self._note(target.memory, value)
        super().assign(target, value, *args, **kwargs)

    def assign_row(self, target: KernelValue, i: Any, value: KernelValue) -> None:
        """Store a row; its equations are origins of the memory."""
        self._note(target.memory, value)
        super().assign_row(target, i, value)

    def update_carries(self, carries: Carries, new: Sequence[KernelValue]) -> None:
        """Replace the carries of a loop; the equations of the new values are origins of them."""
        for buffer, value in zip(carries.buffers, new, strict=True):
            self._note(buffer, value)
        super().update_carries(carries, new)

    def _host_call(
        self,
        symbol: str,
        function: Callable,
        operands: Sequence[KernelValue],
        results: Sequence[KernelValue],
    ) -> tuple[KernelValue, ...]:
        """Call a Python function; the current equation is the origin of the call."""
        self.origins[symbol] = dict.fromkeys(self._current[-1:])
        return super()._host_call(symbol, function, operands, results)

    def _note(self, buffer: Buffer, value: KernelValue) -> None:
        """Add the equations of a value to those of a buffer."""
        self.origins.setdefault(buffer, {}).update(self._equations(value))

    def _equations(self, value: KernelValue) -> dict[Origin, None]:
        """Return the equations of a value and of the virtual values below it."""
        found: dict[Origin, None] = {}
        seen: set[KernelValue] = set()
        stack = [value]
        while stack:
            below = stack.pop()
            if below in seen or below.is_stored:
                continue
            seen.add(below)
            if below in self._made_by:
                found[self._made_by[below]] = None
            stack.extend(below.sources)
        return found


def _words(origins: Iterable[Origin]) -> str:
    """Return origins in words, `tanh, add file:line:column (function)`, the lines in order."""
    lines: dict[str, list[str]] = {}
    for name, source in origins:
        lines.setdefault(source.summary(), []).append(name)
    return "; ".join(f"{', '.join(names)} {line}" for line, names in lines.items())
