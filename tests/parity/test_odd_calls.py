"""Calls with odd objects end as JAX's do: with the same results, or with errors of the same class.

A line of `odd_calls.txt` is a program: statements and an expression, separated by " ;; ".  Results
are compared by dtype, weak type and elements.
"""

from __future__ import annotations

import collections
import decimal
import enum
import fractions
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tapeless
import tapeless.numpy

pytestmark = pytest.mark.oracle

LINES = Path(__file__).with_name("odd_calls.txt").read_text().splitlines()
PROGRAMS = [line for line in LINES if line and not line.startswith("#")]
MODULES = {module.__name__: module for module in (collections, decimal, enum, fractions)}


def described(leaf: Any) -> Any:
    """Return what is compared of a result."""
    if not hasattr(leaf, "dtype"):
        return leaf
    weak = bool(getattr(leaf, "weak_type", False))
    return str(leaf.dtype), weak, np.asarray(leaf).tolist()


def outcome(library: types.ModuleType, program: str) -> Any:
    """Return the results of a program, or the names of the classes of the error that ended it."""
    names: dict[str, Any] = {
        **MODULES, "jax": library, "jnp": library.numpy, "lax": library.lax, "np": np,
    }  # fmt: skip
    *statements, expression = program.split(" ;; ")
    try:
        for statement in statements:
            exec(compile(statement, "program", "exec"), names)
        result = eval(compile(expression, "program", "eval"), names)
        return repr([described(leaf) for leaf in jax.tree.leaves(result)])
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_outcome_is_that_of_jax(program: str) -> None:
    theirs, ours = outcome(jax, program), outcome(tapeless, program)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"--- jax: {theirs!r}\n--- ours: {ours}"
        family = [kind.__name__ for kind in type(ours).__mro__]
        assert type(theirs).__name__ in family, f"--- jax: {theirs!r}\n--- ours: {ours!r}"
    else:
        assert ours == theirs
