"""Calls with one mistake: each call of the tables, with one argument of another kind than it was.

`mistakes_of` makes them from a call that succeeds: arrays of other ranks and dtypes, objects that
are none, axes that are not there, numbers of other kinds, sequences that are longer or shorter,
too few and too many arguments, and unknown names.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapeless
from tests.support import calls

__all__ = ["WRONG", "Mistake", "cases", "mistakes_of"]

WRONG = "wrong"  # the name of the argument that is replaced
AXIS = re.compile("axis|axes|axis1|axis2|dim|dimension")
RANDOM = """
ball: key, 2 ; bernoulli: key, 0.5, (3,) ; beta: key, w, w ; binomial: key, 5, 0.5, (3,)
bits: key, (3,) ; categorical: key, x, axis=1 ; cauchy: key, (3,) ; chisquare: key, 2.0, (3,)
choice: key, v, (2,), axis=0 ; dirichlet: key, w, (3,) ; double_sided_maxwell: key, 0.0, 1.0, (3,)
exponential: key, (3,) ; f: key, 2.0, 3.0, (3,) ; fold_in: key, 3 ; gamma: key, w, (4,)
generalized_normal: key, 2.0, (3,) ; geometric: key, 0.5, (3,) ; gumbel: key, (3,)
laplace: key, (3,) ; loggamma: key, w ; logistic: key, (3,) ; lognormal: key, 1.0, (3,)
maxwell: key, (3,) ; multivariate_normal: key, np.zeros(3, "float32"), s, (2,)
normal: key, (3,), "float32" ; orthogonal: key, 3 ; pareto: key, 2.0, (3,)
permutation: key, x, axis=1 ; poisson: key, 3.0, (3,) ; rademacher: key, (3,)
randint: key, (3,), 0, 9 ; rayleigh: key, 1.0, (3,) ; split: key, 3 ; t: key, 2.0, (3,)
triangular: key, 0.0, 0.5, 1.0, (3,) ; truncated_normal: key, -1.0, 1.0, (3,)
uniform: key, (3,), "float32", 0.0, 1.0 ; wald: key, 1.0, (3,)
weibull_min: key, 1.0, 2.0, (3,) ; wrap_key_data: np.zeros(2, "uint32") ; key: 3 ; PRNGKey: 3
clone: key ; key_data: key
"""


class Odd:
    """An object that means nothing to a library."""

    def __repr__(self) -> str:
        return "Odd()"


@dataclass(frozen=True)
class Mistake:
    """A call with an argument named `wrong`, what is wrong, and the argument."""

    case: calls.Case
    label: str
    value: Any


def cases() -> dict[tuple[str, str], list[calls.Case]]:
    """Return the calls to start from, by module and name."""
    found = {key: [c for c in group if not c.fails] for key, group in calls.grouped().items()}
    for part in re.split(r"\s*;\s*|\n", RANDOM.strip()):
        name, _, text = part.partition(": ")
        case = calls.Case("random", name, f"{name}({text})", False, False)
        found["random", name] = [case]
    return found


def of_array(x: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Yield what may stand in the place of an array."""
    yield "rank+1", x[None]
    if x.ndim:
        yield "rank-1", x[0]
        yield "empty", x[:0]
    yield "scalar", np.float32(1.5)
    if x.dtype.kind != "b":
        yield "bool", x > 0
    if x.dtype.kind != "c":
        yield "complex", x + np.complex64(1j)
    if x.dtype.kind in "fc":
        yield "int", np.nan_to_num(x.real, posinf=0).astype("int32")
    yield from [("float", x.astype("float32"))] if x.dtype.kind in "iub" else []


def of_number(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what may stand in the place of a number, or of a sequence of numbers."""
    if AXIS.search(name) and (value is None or isinstance(value, (int, tuple, list))):
        for axis in (99, -99, 1.5, "a", (0, 0), [0], np.float32(1)):
            yield f"axis {axis!r}", axis
    elif isinstance(value, (tuple, list)):
        yield "longer", type(value)([*value, *value[-1:]]) if value else (1,)
        yield "shorter", type(value)(value[:-1])
        if value and all(isinstance(item, int) for item in value):
            yield "float in it", (1.5, *value[1:])
            yield "negative", (-5, *value[1:])
            yield "large", (*value[:-1], 77)
        yield from (("text", "a"), ("None", None), ("one", 3))
    elif isinstance(value, (int, np.integer)):
        for number in (-1, -3, 1.5, "a", None, (1,)):
            yield f"int {number!r}", number
    else:
        yield from (("text", "a"), ("None", None), ("list", [1.0]))
        yield "matrix", np.ones((7, 5), "float32")


def replacements(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what may stand in the place of an argument, with a label.

    name: that of the parameter.
    """
    if isinstance(value, bool):
        return
    if "dtype" in name:
        for dtype in ("foo", object, "S4", 3, 1.5):
            yield f"dtype {dtype!r}", dtype
    elif isinstance(value, np.ndarray) or hasattr(value, "aval"):
        yield from of_array(value) if isinstance(value, np.ndarray) else ()
        yield from (("None", None), ("text", "a"), ("list", [1.0, 2.0]), ("dict", {}))
        yield from (("texts", np.array(["a"])), ("odd", Odd()))
    elif isinstance(value, str) or callable(value):
        yield from (("None", None), ("number", 3))
        yield from [("text", "foo")] if isinstance(value, str) else []
    elif value is None or isinstance(value, (int, float, complex, tuple, list, np.integer)):
        yield from of_number(name, value)


def names_of_arguments(case: calls.Case) -> list[str]:
    """Return the names of the parameters that may be given by position."""
    function = getattr(importlib.import_module(f"tapeless.{case.module}"), case.name)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def mistakes_of(case: calls.Case) -> Iterator[Mistake]:
    """Yield a call with each of its arguments replaced, and with other numbers of arguments."""
    tree = ast.parse(case.text, mode="eval").body
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != case.name:
        return
    operands = calls.operands(tapeless)
    names = names_of_arguments(case)
    texts = [ast.unparse(node) for node in tree.args]
    texts += [f"{word.arg}={ast.unparse(word.value)}" for word in tree.keywords]
    n_args = len(tree.args)

    def called(*parts: str) -> calls.Case:
        """Return the call with other arguments."""
        return calls.Case(case.module, case.name, f"{case.name}({', '.join(parts)})", True, True)

    for place, text in enumerate(texts):
        if "lambda" in text or text.startswith("*"):
            continue
        named, _, shown = text.partition("=") if place >= n_args else ("", "", text)
        name = named or (names[place] if place < len(names) else "")
        replaced = f"{named}={WRONG}" if named else WRONG
        changed = called(*texts[:place], replaced, *texts[place + 1 :])
        for label, value in replacements(name, eval(shown, dict(operands))):
            yield Mistake(changed, label, value)
    yield Mistake(called(), "no arguments", None)
    yield Mistake(called(*texts, "wrong_keyword=1"), "unknown keyword", None)
    yield Mistake(called(*texts[:n_args], *["None"] * 12, *texts[n_args:]), "too many", None)
