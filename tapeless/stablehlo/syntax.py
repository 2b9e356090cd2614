"""What a StableHLO module is made of, once its text is read: plain data.

    Module      functions by name
    Function    its arguments' types, its results' types, its body
    Region      names and types of arguments, and operations; the last one returns
    Operation   name, operands, attributes, regions, results; and where it stands in the text

There is one form for an operation, whichever of MLIR's two forms it was written in: attributes have
their full names, and values are names such as `%3` or `%3#1`.  Attributes are Python values:

    1 : i64, true, "text", @f       int, bool, str, Symbol
    [a, b], {a = b}                 list, dict
    array<i64: 1, 2>                list
    dense<...> : tensor<...>        Dense: its text, decoded when asked for
    tensor<2xf32>                   TensorType
    #stablehlo<precision HIGH>      Word: the last word
    #stablehlo.gather<...>          dict
    anything else                   Opaque: its text
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from tapeless.util.records import record

__all__ = [
    "Dense",
    "Function",
    "Module",
    "ModuleError",
    "Opaque",
    "Operation",
    "Place",
    "Region",
    "Symbol",
    "TensorType",
    "TupleType",
    "Type",
    "Word",
]


class ModuleError(ValueError):
    """What is wrong with a module, and where."""


class Place(NamedTuple):
    """A place in a text, counted from one."""

    line: int
    column: int

    def __str__(self) -> str:
        """Return `line 3, column 7`."""
        return f"line {self.line}, column {self.column}"

    def fail(self, message: str) -> NoReturn:
        """Raise ModuleError for what stands here."""
        raise ModuleError(f"StableHLO text, {self}: {message}")


@record
class TensorType:
    """The type of an array: an extent per axis, None where it is not known, and an element type."""

    shape: tuple[int | None, ...]
    element: str

    def __str__(self) -> str:
        """Return the type as it is written."""
        extents = "".join(f"{'?' if n is None else n}x" for n in self.shape)
        return f"tensor<{extents}{self.element}>"


@record
class TupleType:
    """The type of a tuple of values."""

    elements: tuple[Any, ...]


class Opaque(str):
    """A type or an attribute that is kept as its text."""

    __slots__ = ()


Type = TensorType | TupleType | Opaque


class Symbol(str):
    """The name of a function, without the at sign."""

    __slots__ = ()


class Word(str):
    """A word of a fixed set, such as `LT`."""

    __slots__ = ()


@record
class Dense:
    """A constant: what stands between the angle brackets of `dense<...>`, and its type.

    value: nested lists of elements, one element for all, or the hexadecimal digits of the bytes.
    An element is a bool, an int, a float, the bits of a float as `Opaque`, or a pair of these.
    """

    value: Any
    type: TensorType
    place: Place


@record
class Region:
    """Operations in order, over named arguments."""

    arguments: tuple[tuple[str, Type], ...]
    operations: tuple[Operation, ...]
    place: Place

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the arguments."""
        return tuple(kind for _, kind in self.arguments)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    operand_types: None where the text does not say.
    """

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    operand_types: tuple[Type, ...] | None
    result_types: tuple[Type, ...]
    place: Place
    attributes: Mapping[str, Any] = field(default_factory=dict)
    regions: Sequence[Region] = ()


@record
class Function:
    """A function of a module."""

    name: str
    public: bool
    body: Region
    result_types: tuple[Type, ...]
    place: Place


@record
class Module:
    """A module: its name, and its functions in the order of the text."""

    name: str
    functions: Mapping[str, Function]
    attributes: Mapping[str, Any]
