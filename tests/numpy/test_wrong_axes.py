"""Shapes that do not broadcast: every function that broadcasts tells the axis and its extents.

A function broadcasts two of its arguments if it takes equal shapes, and takes one row for many.
Then it is called with two extents that do not fit, along the last axis and along the one before.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

MODULES = ["numpy", "lax", "scipy.special", "scipy.stats", "nn"]
# They are given files.
LEFT_OUT = frozenset("save savez load fromfile".split())
# They contract, join or choose by what does not fit, and tell both shapes, or both extents.
OTHERS = frozenset(
    """corrcoef cov cross extract inner matvec piecewise spatial trapezoid trim_zeros vecdot
    dirichlet multinomial multivariate_normal""".split()
)
FLOATS, INTEGERS = np.full((2, 3), 0.5, "f"), np.ones((2, 3), int)
SHAPES = {-1: (2, 4), -2: (5, 3)}


def functions(module: ModuleType) -> Iterator[tuple[str, Callable]]:
    """Yield the public functions of a module, and those of the distributions in it."""
    for name, value in sorted(vars(module).items()):
        if name[0] == "_" or name in LEFT_OUT | OTHERS:
            continue
        if inspect.ismodule(value) and any(hasattr(value, x) for x in ("logpdf", "logpmf")):
            yield from functions(value)
        elif callable(value) and not inspect.isclass(value):
            yield name, value


def raised(function: Callable, args: list[Any]) -> Exception | None:
    """Return what a call raises."""
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    return None


def broadcasting(function: Callable) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield a number of arguments, the place of one that broadcasts, and what they are."""
    for array in (FLOATS, INTEGERS):
        for count in (2, 3, 4):
            if raised(function, [array] * count) is not None:
                continue
            for place in range(count):
                args: list[Any] = [array] * count
                args[place] = array[:1]
                if raised(function, args) is None:
                    yield count, place, array


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_broadcasting_errors_tell_the_axis_and_its_extents(module: str) -> None:
    wrong, n_tried = [], 0
    for name, function in functions(importlib.import_module(f"tapeless.{module}")):
        for count, place, array in broadcasting(function):
            for axis, shape in SHAPES.items():
                args: list[Any] = [array] * count
                args[place] = np.resize(array, shape)
                error = raised(function, args)
                if error is None:
                    continue  # it takes arrays of any shapes
                n_tried += 1
                told = "\n".join((str(error), *getattr(error, "__notes__", ())))
                extents = sorted((array.shape[axis], shape[axis]))
                words = [f"extents {a} and {b}" for a, b in (extents, extents[::-1])]
                if f"Axis {axis}, counted" not in told or not any(x in told for x in words):
                    wrong.append((name, count, place, axis, told))
    assert not wrong, "\n".join(map(str, wrong))
    assert n_tried


def test_the_sweep_finds_what_does_not_tell_the_axis() -> None:
    def silent(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.shape[-1] != y.shape[-1]:
            raise ValueError("shapes differ")
        return x + y

    assert list(broadcasting(silent))
    assert isinstance(raised(silent, [FLOATS, np.ones((2, 4))]), ValueError)
