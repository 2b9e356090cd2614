"""Calls of the tables, varied: other dtypes, shapes, special values, axes and Python's numbers.

A variation is a case of `calls` whose operands are changed, or that has one argument more:

    all:int8      every operand is cast            first:float16   only the first one is
    shape:tail0   the last axis is cut to 0        special         some elements are nan, inf, -0.0
    python        the first operand is a number    axis=-1         an argument that the call lacks

Values that a dtype does not have are mapped into it: to unsigned integers go magnitudes, to complex
numbers an imaginary part comes.  Dtypes of 64 bits, and `wide` for the others, are for x64 mode.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tests.support import calls

__all__ = ["Variation", "cast", "changed_operands", "labels_of", "operands_of", "variations_of"]

NARROW = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"]
WIDE = ["int64", "uint64", "float64", "complex128"]
SHAPES = ["tail0", "head0", "tail1", "head1", "scalar"]
ARGUMENTS = ["axis=-1", "axis=0", "axis=None", "axis=(0, -1)", "axis=()", "axis=7", "axis=1.5"]
ARGUMENTS += ["keepdims=True", "dtype='int8'", "dtype='complex64'", "dtype='bool'"]
SQUARE = {"g", "s", "h"}
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, -1e-30, 1.0, -1.0]


@dataclass(frozen=True)
class Variation:
    """A case, how it is varied, and whether it is for x64 mode."""

    case: calls.Case
    label: str
    wide: bool = False

    @property
    def text(self) -> str:
        """The call or expression."""
        if "=" not in self.label:
            return self.case.text
        return f"{self.case.text[:-1]}, {self.label})"


def operands_of(case: calls.Case) -> list[str]:
    """Return the names of the operands of a case that are numbers, in their order."""
    words = re.findall(r"(?<![\w.\"'])[a-z]+\b(?!\s*=[^=])", case.text)
    return list(dict.fromkeys(word for word in words if word in calls.arrays()))


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return an array in another dtype, with values that the dtype has."""
    target = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if target.kind != "c" and array.dtype.kind == "c":
        array = array.real
    if target.kind == "c" and array.dtype.kind != "c":
        array = np.nan_to_num(array, posinf=9)
        array = array + 0.5j * array[..., ::-1]
    if target.kind == "b":
        return array > 0
    if target.kind in "iu" and array.dtype.kind == "f":
        array = np.rint(3 * np.nan_to_num(array, posinf=9))
    return (np.abs(array) if target.kind == "u" else array).astype(target)


def cut(name: str, array: np.ndarray, how: str) -> np.ndarray:
    """Return an array with one axis cut to 0 or 1, square ones in both; or its first element."""
    if how == "scalar":
        return array.ravel()[0].reshape(())
    size = int(how[-1])
    if name in SQUARE:
        return array[:size, :size]
    return array[:size] if how.startswith("head") else array[..., :size]


def sprinkled(array: np.ndarray) -> np.ndarray:
    """Return an array with special values in every other place; of integers, their ends."""
    values = np.array(SPECIAL)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind == "i":
        values = np.array([np.iinfo(array.dtype).min, np.iinfo(array.dtype).max, 0, -1])
    result = array.copy()
    places = result.reshape(-1)[::2]
    places[...] = np.resize(values, places.size)
    return result


def changed(name: str, array: np.ndarray, label: str, first: bool) -> object:
    """Return an operand as a label wants it."""
    kind, _, what = label.partition(":")
    if kind == "all" or (kind == "first" and first):
        return cast(array, what)
    if kind == "shape":
        return cut(name, array, what)
    if kind == "special":
        return sprinkled(array)
    if kind == "python" and first:
        return array.ravel()[0].item()
    return array


def changed_operands(variation: Variation) -> dict[str, object]:
    """Return the operands of a variation."""
    return {
        name: changed(name, calls.arrays()[name].copy(), variation.label, place == 0)
        for place, name in enumerate(operands_of(variation.case))
    }


def labels_of(case: calls.Case, function: Callable) -> Iterator[tuple[str, bool]]:
    """Yield how a case can be varied."""
    names = operands_of(case)
    if not names:
        return
    for dtype in NARROW + WIDE:
        yield f"all:{dtype}", dtype in WIDE
        if len(names) > 1:
            yield f"first:{dtype}", dtype in WIDE
    for dtype in ("int32", "float32"):
        yield f"all:{dtype}", True
    for shape in SHAPES:
        yield f"shape:{shape}", False
    yield "special", False
    yield "python", False
    yield "python", True
    if not case.is_expression:
        parameters = inspect.signature(function).parameters
        given = re.findall(r"(\w+)=", case.text)
        for argument in ARGUMENTS:
            name = argument.partition("=")[0]
            if name in parameters and name not in given:
                yield argument, False


def variations_of(case: calls.Case, function: Callable) -> list[Variation]:
    """Return all variations of a case; none of one that fails as it stands."""
    if case.fails:
        return []
    return [Variation(case, *label) for label in labels_of(case, function)]
