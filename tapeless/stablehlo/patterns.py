"""What a region does, read off its text: known folds, and orders.

A region is a program; but reductions, scatters and sorts are faster, and have derivatives, where
they are known to be a sum, a maximum, an order by a key.  So a region is first written as an
expression in its arguments:

    ("stablehlo.add", (0, 1))               the sum of both arguments
    ("stablehlo.compare", (0, 1), "LT", "TOTALORDER")

where a number is an argument, and matched against what is known.  What matches nothing is None, and
the caller runs the region as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tapeless.stablehlo.syntax import Dense, ModuleError, Operation, Region
from tapeless.stablehlo.types import dense_array

__all__ = ["Expression", "Key", "Number", "expressions_of", "folded_by", "ignores", "sorted_by"]


class Number(NamedTuple):
    """A constant scalar."""

    value: Any


class Expression(NamedTuple):
    """An operation on expressions; words: what else tells it apart, such as a direction."""

    name: str
    operands: tuple[Any, ...]
    words: tuple[str, ...] = ()


class Key(NamedTuple):
    """What a sort goes by: the number of an operand, and how.

    canonical: whether all NaNs are equal, and zeros too.  total: whether NaNs have a place.
    """

    operand: int
    descending: bool
    canonical: bool
    total: bool


def expressions_of(region: Region) -> list[Any] | None:
    """Return the results of a region as expressions; None if it reads what is outside of it."""
    known: dict[str, Any] = {name: i for i, (name, _) in enumerate(region.arguments)}
    for operation in region.operations[:-1]:
        if operation.regions or len(operation.results) != 1:
            return None
        if operation.name == "stablehlo.constant":
            known[operation.results[0]] = _number(operation)
        elif all(name in known for name in operation.operands):
            operands = tuple(known[name] for name in operation.operands)
            known[operation.results[0]] = Expression(operation.name, operands, _words(operation))
        else:
            return None
    returned = region.operations[-1].operands
    return [known[name] for name in returned] if all(x in known for x in returned) else None


def _number(operation: Operation) -> Number:
    """Return a constant; NaN for what is no scalar."""
    value = operation.attributes.get("value")
    if not isinstance(value, Dense) or value.type.shape:
        return Number(math.nan)
    try:
        return Number(dense_array(value).item())
    except ModuleError:
        return Number(None)


def _words(operation: Operation) -> tuple[str, ...]:
    """Return the words that tell an operation apart."""
    return tuple(str(word) for key, word in sorted(operation.attributes.items()) if "comp" in key)


def folded_by(region: Region, n: int) -> list[str] | None:
    """Return by which operation each pair of accumulator and element is folded, if by one.

    The region maps n accumulators and n elements to n accumulators.  "second" stands for the
    element itself.
    """
    results = expressions_of(region)
    if results is None or len(results) != n or len(region.arguments) != 2 * n:
        return None
    names = []
    for i, result in enumerate(results):
        if result == i + n:
            names.append("second")
        elif isinstance(result, Expression) and set(result.operands) == {i, i + n}:
            if result.name == "stablehlo.subtract" and result.operands[0] != i:
                return None
            names.append(result.name)
        else:
            return None
    return names


def ignores(region: Region, argument: int) -> bool:
    """Tell whether a region is known not to read one of its arguments."""
    results = expressions_of(region)
    return results is not None and argument not in _arguments(results)


def _arguments(expressions: Any) -> set[int]:
    """Return the arguments that expressions read."""
    found: set[int] = set()
    for x in expressions:
        if isinstance(x, Expression):
            found |= _arguments(x.operands)
        elif isinstance(x, int):
            found.add(x)
    return found


# Orders


def sorted_by(region: Region) -> list[Key] | None:
    """Return the keys of a sort whose region compares lexicographically, the first one first."""
    results = expressions_of(region)
    if results is None or len(results) != 1:
        return None
    return _keys(results[0])


def _keys(x: Any) -> list[Key] | None:
    """Return the keys of `a < b`, or of `a < b or (a == b and more)`."""
    single = _compared(x, {"LT": False, "GT": True})
    if single is not None:
        return [single]
    if not isinstance(x, Expression) or x.name != "stablehlo.or":
        return None
    first, rest = x.operands
    key = _compared(first, {"LT": False, "GT": True})
    if key is None or not isinstance(rest, Expression) or rest.name != "stablehlo.and":
        return None
    tie, more = _compared(rest.operands[0], {"EQ": key.descending}), _keys(rest.operands[1])
    return [key, *more] if tie == key and more is not None else None


def _compared(x: Any, directions: Mapping[str, bool]) -> Key | None:
    """Return the key that a comparison of an operand's two elements goes by."""
    if not isinstance(x, Expression) or x.name != "stablehlo.compare":
        return None
    direction = next((word for word in x.words if word in directions), None)
    (left, a), (right, b) = map(_without_canonical_form, x.operands)
    if direction is None or a != b or not isinstance(left, int) or right != left + 1 or left % 2:
        return None
    return Key(left // 2, directions[direction], a, "TOTALORDER" in x.words)


def _without_canonical_form(x: Any) -> tuple[Any, bool]:
    """Return what is compared, and whether its NaNs are made equal, and its zeros.

    The canonical form is select(x != x, nan, select(x == 0, 0, x)).
    """
    if not isinstance(x, Expression) or x.name != "stablehlo.select" or len(x.operands) != 3:
        return x, False
    test, nan, inner = x.operands
    if not isinstance(inner, Expression) or inner.name != "stablehlo.select":
        return x, False
    is_zero, zero, base = inner.operands
    unequal = _is_comparison(test, "NE", base, base)
    fits = unequal and _is_comparison(is_zero, "EQ", base, zero)
    positive = isinstance(zero, Number) and zero.value == 0 and not np.signbit(zero.value)
    is_nan = isinstance(nan, Number) and isinstance(nan.value, float) and nan.value != nan.value
    return (base, True) if fits and positive and is_nan else (x, False)


def _is_comparison(x: Any, direction: str, left: Any, right: Any) -> bool:
    """Tell whether an expression is this comparison."""
    return (
        isinstance(x, Expression)
        and x.name == "stablehlo.compare"
        and direction in x.words
        and x.operands == (left, right)
    )
