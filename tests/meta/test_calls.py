"""Every function of the libraries is called in the tables, with every parameter it has.

`tests/parity/calls` lists calls, and `tests/parity/test_calls.py` compares each with JAX.  Here
functions that note how they are called stand in their place: a parameter counts when a call gives
it a value other than its default.
"""

import importlib
import types
from collections.abc import Callable
from typing import Any

import pytest

import tapeless
from tests.meta import names
from tests.support import calls

# Parameters that no call gives, by the reason.
IGNORED: dict[str, str] = {}
MODULES = [
    module.removeprefix("jax.")
    for module in names.stored_names()
    if module.removeprefix("jax.").split(".")[0] in ("numpy", "lax", "nn", "ops", "image", "scipy")
]


def functions_of(module: str) -> dict[str, Callable]:
    """Return the public functions of a module, by name."""
    found = importlib.import_module(f"tapeless.{module}")
    values = {name: getattr(found, name, None) for name in names.stored_names()[f"jax.{module}"]}
    return {
        name: value
        for name, value in values.items()
        if callable(value) and not isinstance(value, (type, types.GenericAlias))
    }


def noting(function: Callable, noted: set[str], calls_it: bool) -> Callable:
    """Return a function that adds to `noted` the parameters that a call of it gives."""

    def call(*args: Any, **kwargs: Any) -> Any:
        """Note the parameters, and call if what comes out is used."""
        noted.update(calls.exercised(function, args, kwargs))
        return function(*args, **kwargs) if calls_it else None

    call.__name__ = getattr(function, "__name__", "")
    return call


def noted_by(module: str, name: str, function: Callable, known: dict[str, Any]) -> set[str]:
    """Return the parameters that the calls of a function give."""
    noted: set[str] = set()
    for case in calls.grouped().get((module, name), []):
        try:
            calls.evaluate(case, known, noting(function, noted, case.is_expression))
        except Exception:
            if not case.fails:
                raise
    return noted


@pytest.mark.parametrize("module", MODULES)
def test_every_parameter_is_given_in_some_call(module):
    known = calls.operands(tapeless)
    bare = {}
    for name, function in functions_of(module).items():
        left = calls.names_of(function) - noted_by(module, name, function, known)
        left -= set(IGNORED.get(f"{module}.{name}", "").split())
        if left:
            bare[name] = left
    assert not bare


def test_every_function_is_called():
    public = {(module, name) for module in MODULES for name in functions_of(module)}
    assert len(public) > 800
    assert set(calls.grouped()) == public


def test_a_parameter_at_its_default_does_not_count():
    def function(a: int, axis: int = 1, out: None = None, mean: Any = None) -> None:
        """Take anything."""

    assert calls.exercised(function, (3,), {"axis": 1, "out": None}) == {"a"}
    assert calls.exercised(function, (3, 0), {"mean": calls.arrays()["x"]}) == {"a", "axis", "mean"}
    with pytest.raises(TypeError, match="unexpected keyword"):
        calls.exercised(function, (3,), {"other": 1})
