"""One mistake in a call of any function: what each says of it, caught and uncaught.

Where JAX raises, so do we, of the same class; the message, with the notes below it, names the
function, and the shape of the array that is wrong.  `deviations.txt` lists, with the reasons, where
JAX raises something else or nothing.  Calls are traced, not run, where they can be.
"""

from __future__ import annotations

import functools
import importlib
import re
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tapeless.util.frames import filter_traceback
from tests.parity.errors.mistakes import WRONG, Mistake, cases, mistakes_of
from tests.support import calls

pytestmark = pytest.mark.oracle

SHARES = 120, 12  # of so many mistakes, one is in the short tests, and in the slow ones
MODULES = sorted({module for module, _ in cases()})
# Classes that in JAX tell of Python's or NumPy's trouble with what it was not asked to check.
ACCIDENTS = frozenset(
    "AssertionError AttributeError IndexError KeyError MLIRError RecursionError UFuncTypeError "
    "UnboundLocalError ZeroDivisionError JaxRuntimeError".split()
)
# Errors that a value is not known; the call is run instead.
UNKNOWN = re.compile("Tracer|Concretization|NonConcrete|abstract tracer|must be static")
MOST_LINES = 15
DEVIATIONS = Path(__file__).with_name("deviations.txt")


@functools.cache
def deviations() -> dict[tuple[str, str], str]:
    """Return why functions deviate, by their names and labels of mistakes."""
    found = {}
    for line in DEVIATIONS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, labels, why = line.split(" | ")
            found |= {(name, label): why for label in labels.split("; ")}
    return found


def raised(mistake: Mistake, system: str, *, runs: bool = False) -> Exception | None:
    """Return what a call raises in a system; runs: when it is run, not traced."""
    library: ModuleType = importlib.import_module(system)
    case, value = mistake.case, mistake.value
    function = getattr(importlib.import_module(f"{system}.{case.module}"), case.name)
    value = value.copy() if isinstance(value, np.ndarray) else value
    names = {**calls.operands(library), WRONG: value}

    def run() -> None:
        calls.evaluate(case, names, function)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run() if runs else library.eval_shape(run)
        except Exception as error:  # noqa: BLE001 - whatever it is
            if not runs and UNKNOWN.search(f"{type(error).__name__} {error}"):
                return raised(mistake, system, runs=True)
            return error
    return None


def told(error: Exception) -> str:
    """Return the message and the notes, without spaces."""
    return "\n".join((str(error), *getattr(error, "__notes__", ()))).replace(" ", "")


def names_of(case: calls.Case) -> set[str]:
    """Return the name of a function, and the one that it has where it is written."""
    function = getattr(importlib.import_module(f"tapeless.{case.module}"), case.name)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return {case.name, code.co_name if code else case.name}


def silence(mistake: Mistake, ours: Exception, theirs: Exception) -> str | None:
    """Return what an error does not tell, caught and as its traceback shows it."""
    if "lambda" in mistake.case.text or "Non-hashable" in str(ours):
        return None  # another function fails; or Python, before there is a call
    caught = told(ours)
    filter_traceback(ours)
    if len("\n".join((str(ours), *getattr(ours, "__notes__", ()))).splitlines()) > MOST_LINES:
        return "the message is long"
    for text in {caught, told(ours)}:
        if not any(name in text for name in names_of(mistake.case)) and str(ours) != str(theirs):
            return "the function is not named"
        value = mistake.value
        if isinstance(value, np.ndarray) and value.dtype.kind != "U":
            shape = ",".join(map(str, value.shape))
            if f"[{shape}]" not in text and f"({shape}" not in text:
                return "the shape is not told"
    return None


def fault(mistake: Mistake) -> str | None:
    """Return what is wrong with our answer to a call, None if nothing is."""
    theirs, ours = raised(mistake, "jax"), raised(mistake, "tapeless")
    if theirs is None and ours is None:
        return None
    if theirs is None:  # JAX may find out later
        theirs = raised(mistake, "jax", runs=True)
    if ours is None:
        ours = raised(mistake, "tapeless", runs=True)
    if theirs is None or ours is None:
        words = None if theirs is ours else "one of them raises nothing"
    else:
        family = [kind.__name__ for kind in type(ours).__mro__]
        is_accident = type(theirs).__name__ in ACCIDENTS or "Non-hashable" in str(theirs)
        if type(theirs).__name__ in family:
            words = silence(mistake, ours, theirs)
        elif is_accident and isinstance(ours, (TypeError, ValueError)):
            words = None
        else:
            words = "another class"
    call = f"{mistake.case.module}.{mistake.case.text} | {mistake.label}"
    return words and f"{words}: {call}\n--- jax: {theirs!r}\n--- ours: {ours!r}"


def mistakes(module: str, share: int) -> Iterator[Mistake]:
    """Yield the mistakes of a module's functions, of `share` of them one."""
    seen = set()
    for (owner, _), group in cases().items():
        if owner != module:
            continue
        for mistake in (m for case in group for m in mistakes_of(case)):
            key = f"{mistake.case.text} {mistake.label}"
            if key not in seen and zlib.crc32(key.encode()) % share == 0:
                yield mistake
            seen.add(key)


def check(module: str, share: int) -> None:
    """Look at mistakes of a module, of `share` of them one."""
    found: list[str] = []
    for mistake in mistakes(module, share):
        words = fault(mistake)
        key = (f"{module}.{mistake.case.name}", mistake.label)
        if words is not None and key not in deviations():
            found.append(words)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", MODULES)
def test_some_mistakes_are_told_as_in_jax(module: str) -> None:
    check(module, SHARES[0])


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_more_mistakes_are_told_as_in_jax(module: str) -> None:
    check(module, SHARES[1])
