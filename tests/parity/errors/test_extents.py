"""One extent of one argument that does not fit: what each function says of it.

Each call of `tests/parity/calls` that succeeds is made again for each of its arrays and each axis,
with one more element along the axis.  Where JAX raises, so do we, of the same class; the message,
with the note below it, names the function, and the shape of what the function was given.  Where JAX
raises nothing, nor do we.  Calls are traced, not run, where they can be.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tapeless.util.frames import filter_traceback
from tests.support import calls

pytestmark = pytest.mark.oracle

WRONG = "wrong"  # the name of the array that does not fit
SAMPLE = 12  # one function of so many is in the short tests
BY_NAME = [
    pytest.param(*key, id=".".join(key), marks=[] if i % SAMPLE == 0 else pytest.mark.slow)
    for i, key in enumerate(calls.grouped())
]
# Calls whose outcomes differ, by the reason.
DIFFERENT = {
    "conv_general_dilated_patches(": "JAX fails with a precision",
    "psum_scatter(": "JAX finds out later, and says nothing of it when it is mapped",
    "reshape(wrong, (2, ": "JAX finds out when it lowers the program, from MLIR",
    "polar(": "JAX has no wide matrices there",
    "map_coordinates(": "we broadcast the coordinates first",
    "ravel_multi_index(": "we broadcast the indices first",
    "cov(wrong, rowvar=False": "RuntimeError of a helper, which has no note of its own",
    "array_equiv(": "NumPy returns False",
    "compress(wrong": "JAX drops what is out of bounds, if the size is known",
    "extract(wrong": "JAX drops what is out of bounds, if the size is known",
    "glu(": "JAX asserts",
}
# Classes of JAX that tell of no mistake of the user's: its own assertions, and what Python says.
ACCIDENTS = frozenset("AssertionError AttributeError KeyError ZeroDivisionError".split())
# Errors that a value is not known; the call is run instead.
UNKNOWN = re.compile("Tracer|Concretization|NonConcrete|abstract tracer|must be static")


@dataclass(frozen=True)
class Misfit:
    """A call in which one use of an array is replaced, and the array that stands there."""

    case: calls.Case
    array: np.ndarray


class _Replaced(ast.NodeTransformer):
    """Replace one use of a name, counted from 0 among those of the operands."""

    def __init__(self, number: int) -> None:
        self.number, self.name = number, ""

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Leave functions alone: what fails in them is another function."""
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id not in calls.arrays():
            return node
        self.number -= 1
        if self.number != -1:
            return node
        self.name = node.id
        return ast.Name(WRONG, node.ctx)


def misfits(case: calls.Case) -> Iterator[Misfit]:
    """Yield a call with each of its arrays longer by one, along each axis."""
    for number in range(len(case.text)):
        replaced = _Replaced(number)
        tree = replaced.visit(ast.parse(case.text, mode="eval"))
        if not replaced.name:
            return
        text = ast.unparse(tree)
        array = calls.arrays()[replaced.name]
        for axis, extent in enumerate(array.shape):
            longer = np.take(array, np.arange(extent + 1), axis, mode="wrap")
            yield Misfit(calls.Case(case.module, case.name, text, True, True), longer)


def raised(misfit: Misfit, system: str) -> Exception | None:
    """Return what a call raises in a system."""
    library: ModuleType = importlib.import_module(system)
    case = misfit.case
    function = getattr(importlib.import_module(f"{system}.{case.module}"), case.name)
    names = {**calls.operands(library), WRONG: misfit.array.copy()}

    def run() -> None:
        calls.evaluate(case, names, function)

    try:
        library.eval_shape(run)
    except Exception as error:  # noqa: BLE001 - whatever it is
        if not UNKNOWN.search(f"{type(error).__name__} {error}"):
            return error
    else:
        return None
    try:
        run()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    return None


def told(error: Exception) -> str:
    """Return the message and the notes, without spaces."""
    filter_traceback(error)
    return "\n".join((str(error), *getattr(error, "__notes__", ()))).replace(" ", "")


def name_within(case: calls.Case) -> str:
    """Return the name that a function has where it is written: `max` of `amax`."""
    function = getattr(importlib.import_module(f"tapeless.{case.module}"), case.name)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code.co_name if code else case.name


def is_before_the_call(misfit: Misfit, error: Exception) -> bool:
    """Tell whether an operand fails as it is made, by NumPy."""
    names = {**calls.operands(tapeless), WRONG: misfit.array.copy()}
    try:
        calls.evaluate(misfit.case, names, lambda *args, **kwargs: None)
    except Exception as other:  # noqa: BLE001 - whatever it is
        return (type(other), str(other)) == (type(error), str(error))
    return False


def fault(misfit: Misfit) -> str | None:
    """Return what is wrong with our answer to a call, None if nothing is."""
    theirs, ours = raised(misfit, "jax"), raised(misfit, "tapeless")
    call = f"{misfit.case.text} with {misfit.array.shape}"
    both = f"{call}\n--- jax: {theirs!r}\n--- ours: {ours!r}"
    if theirs is None or ours is None:
        return None if theirs is ours else f"one of them raises nothing: {both}"
    family = [kind.__name__ for kind in type(ours).__mro__]
    if type(theirs).__name__ not in family and not (
        type(theirs).__name__ in ACCIDENTS and isinstance(ours, (TypeError, ValueError))
    ):
        return f"another class: {both}"
    if "lambda" in misfit.case.text or is_before_the_call(misfit, ours):
        return None  # another function fails
    text, shape = told(ours), ",".join(map(str, misfit.array.shape))
    if not any(name in text for name in (misfit.case.name, name_within(misfit.case))):
        return f"the function is not named: {call}\n--- ours: {text}"
    is_argument = re.search(rf"\b{misfit.case.name}\((|.*, ){WRONG}[,)]", misfit.case.text)
    if is_argument and f"[{shape}]" not in text and f"({shape}" not in text:
        return f"the shape is not told: {call}\n--- ours: {text}"
    return None


@pytest.mark.parametrize(("module", "name"), BY_NAME)
def test_an_extent_that_does_not_fit_is_told_with_the_function(module: str, name: str) -> None:
    found = [
        wrong
        for case in calls.grouped()[module, name]
        if not case.fails
        for misfit in misfits(case)
        if not any(text in misfit.case.text for text in DIFFERENT) and (wrong := fault(misfit))
    ]
    assert not found, "\n".join(found)
