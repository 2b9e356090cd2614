"""Programs whose texts are kept, one expression each.

An expression is a function; its parameters' names say what it is traced on (`VALUES`).  It may use
`jax`, `jnp`, `np` and `HELPERS`.  The table is `expressions.txt`; `rewrite.py` writes the texts
one file, and `test_golden.py` compares them, and compares both systems.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["EXPRESSIONS", "KEPT", "all_texts", "expression_text"]

VALUES = {
    "x": np.array([0.5, 1.5, 2.5], np.float32),
    "y": np.array([1.5, 0.5, -2.5], np.float32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) / 8,
    "w": np.eye(3, dtype=np.float32) + 1,
    "c": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "t": np.float32(1.5),
    "s": np.float32(0.25),
    "h": np.array([1, 2], np.float16),
    "z": np.array([1 + 2j, 3 - 1j], np.complex64),
    "i": np.array([2, 0, 1], np.int32),
    "n": np.int32(2),
    "u": np.array([1, 2, 3], np.uint32),
    "k": np.array([0, 3], np.uint32),
    "b": np.array([True, False, True]),
    "p": np.bool_(True),
    "q": np.ones((1, 1, 4, 4), np.float32),
    "r": np.ones((1, 1, 2, 2), np.float32),
}


def cjvp(jax: Any) -> Callable:
    """Return a function with a forward rule."""
    f = jax.custom_jvp(lambda a: jax.numpy.sin(a))
    f.defjvp(lambda p, t: (f(p[0]), 2 * t[0] * jax.numpy.cos(p[0])))
    return f


def cvjp(jax: Any) -> Callable:
    """Return a function with a backward rule."""
    f = jax.custom_vjp(lambda a: jax.numpy.sin(a))
    f.defvjp(lambda a: (f(a), a), lambda r, g: (2 * jax.numpy.cos(r) * g,))
    return f


def cvmap(jax: Any) -> Callable:
    """Return a function with a rule for maps."""
    f = jax.custom_batching.custom_vmap(lambda a: jax.numpy.sin(a))
    f.def_vmap(lambda n, batched, a: (jax.numpy.cos(a), True))
    return f


def named(name: str, function: Callable) -> Callable:
    """Return the function under another name."""
    function.__name__ = name
    return function


HELPERS = {"partial": partial, "cjvp": cjvp, "cvjp": cvjp, "cvmap": cvmap, "named": named}

# name | function; a line with # begins a section.
TABLE = Path(__file__).with_name("expressions.txt").read_text()

LINES = [line.split(" | ", 1) for line in TABLE.splitlines() if not line.startswith("# ")]
EXPRESSIONS = {name.strip(): text for name, text in LINES}


# What expressions use of the package besides what it imports itself.
SUBMODULES = """
ad_checkpoint custom_batching experimental image nn ops random
scipy.linalg scipy.ndimage scipy.stats
""".split()

# The file of the texts that are kept.
KEPT = Path(__file__).with_name("expressions_kept.txt")


def expression_text(jax: Any, expression: str, **settings: bool) -> str:
    """Return the jaxpr of an expression's function as the module `jax` prints it."""
    for name in SUBMODULES:
        importlib.import_module(f"{jax.__name__}.{name}")
    function = eval(expression, {"jax": jax, "jnp": jax.numpy, "np": np, **HELPERS})
    names = inspect.signature(inspect.unwrap(function)).parameters
    jaxpr = jax.make_jaxpr(function)(*[VALUES.get(name, VALUES["x"]) for name in names])
    return f"{jaxpr.pretty_print(**settings)}\n"


def all_texts(jax: Any) -> str:
    """Return the texts of all expressions, each under its name."""
    return "\n".join(f"# {name}\n{expression_text(jax, e)}" for name, e in EXPRESSIONS.items())
