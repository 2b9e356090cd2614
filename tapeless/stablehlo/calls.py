"""What a rule is given to evaluate one operation: the `Call`.

A rule is a function of the call and the values of the operands; it returns one value, or a sequence
of values.  Attributes are read through methods that check their kind, so that a rule can trust
them; an attribute that is missing or of another kind is an error of the text.

Regions are functions: `call.region(0)` takes and returns values, under the trace that is current.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.core.trace import Tracer, Value
from tapeless.stablehlo.syntax import Dense, Operation
from tapeless.stablehlo.types import dense_array
from tapeless.util.records import record

__all__ = ["Call", "Rule", "Rules", "concrete", "known_integers"]

_MISSING = object()


@record
class Call:
    """One operation that is being evaluated.

    outs: the types of its results, as the text has them.  regions: its regions as functions.
    function: finds a function of the module by name.
    """

    operation: Operation
    outs: tuple[ShapedArray, ...]
    regions: Sequence[Callable[..., tuple[Value, ...]]]
    function: Callable[[str], Callable[..., tuple[Value, ...]]]
    environment: Mapping[str, Value]

    @property
    def out(self) -> ShapedArray:
        """The type of the first result."""
        if not self.outs:
            self.fail("a result is wanted")
        return self.outs[0]

    def region(self, number: int) -> Callable[..., tuple[Value, ...]]:
        """Return a region as a function."""
        if number >= len(self.regions):
            self.fail(f"region {number} is missing")
        return self.regions[number]

    def fail(self, message: str) -> NoReturn:
        """Raise ModuleError about this operation."""
        self.operation.place.fail(f"{self.operation.name}: {message}")

    def refuse(self, message: str) -> NoReturn:
        """Raise NotImplementedError: the text is right, but this cannot be done."""
        operation = self.operation
        raise NotImplementedError(f"StableHLO text, {operation.place}: {operation.name}: {message}")

    # Attributes

    def get(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute."""
        found = self.operation.attributes.get(name, default)
        if found is _MISSING:
            self.fail(f"the attribute {name} is missing")
        return found

    def integer(self, name: str, default: Any = _MISSING) -> int:
        """Return an attribute that is an integer."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(f"{name} must be an integer, got {value!r}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an attribute that is true or false."""
        value = self.get(name, default)
        if not isinstance(value, bool):
            self.fail(f"{name} must be true or false, got {value!r}")
        return value

    def word(self, name: str, default: str) -> str:
        """Return an attribute that is a word."""
        value = self.get(name, default)
        return str(value.get("mode", default)) if isinstance(value, dict) else str(value)

    def integers(self, name: str, default: Any = _MISSING) -> tuple[int, ...]:
        """Return an attribute that is a list of integers."""
        value = self.get(name, default)
        if isinstance(value, Dense):
            value = dense_array(value).reshape(-1).tolist()
        return self._integers(name, value)

    def pairs(self, name: str, count: int) -> list[tuple[int, int]]:
        """Return an attribute that holds two integers per axis; zeros where it is missing."""
        value = self.get(name, [[0, 0]] * count)
        if isinstance(value, Dense):
            value = dense_array(value).tolist()
        if not isinstance(value, list) or len(value) != count:
            self.fail(f"{name} must hold a pair for each of {count} axes, got {value!r}")
        rows = [self._integers(name, row) for row in value]
        if not all(len(row) == 2 for row in rows):
            self.fail(f"{name} must hold pairs of integers, got {value!r}")
        return [(row[0], row[1]) for row in rows]

    def axes(self, name: str, *keys: str) -> list[tuple[int, ...]]:
        """Return lists of axes out of an attribute such as the dimension numbers of a gather."""
        value = self.get(name)
        if not isinstance(value, dict):
            self.fail(f"{name} must name axes, got {value!r}")
        return [self._integers(key, value.get(key, [])) for key in keys]

    def _integers(self, name: str, value: Any) -> tuple[int, ...]:
        """Return a list as integers, if it is one."""
        whole = isinstance(value, (list, tuple)) and all(type(n) is int for n in value)
        if not whole:
            self.fail(f"{name} must be a list of integers, got {value!r}")
        return tuple(value)


Rule = Callable[..., Any]
Rules = dict[str, Rule]


def known_integers(value: Any) -> list[int] | None:
    """Return a vector that is known while the module is read as Python integers, else None."""
    if isinstance(value, Tracer) or np.ndim(value) != 1:
        return None
    return [int(n) for n in np.asarray(value)]


def concrete(value: Any) -> Any:
    """Return a scalar that is known while the module is read as a Python number, else None."""
    known = isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0
    return value.item() if known else None
