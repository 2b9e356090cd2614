"""Calls of public functions, written as text, and which parameters they give.

The tables in `tests/parity/calls` list calls by module:

    [numpy]
    sum prod: x ; x, axis=1, keepdims=True ;! x, out=x

is two calls that succeed, and one that fails, of each of two functions.  The operands are those of
`operands`.  A case that starts with "=" is an expression in which the function is called by its
name, or by `AXIS` where several functions share the line.  `exercised` tells which parameters a
call gives a value other than the default.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Case", "arrays", "cases", "evaluate", "exercised", "grouped", "names_of", "operands"]

TABLES = Path(__file__).parents[1] / "parity" / "calls"
LINE = re.compile(r"([\w ]+):(.*)")


@dataclass(frozen=True)
class Case:
    """One call of a function: its module, its name, and the call, or expression, as text."""

    module: str
    name: str
    text: str
    fails: bool
    is_expression: bool


def parse_case(module: str, name: str, text: str) -> Case:
    """Return the case that a text between semicolons is."""
    fails = text.startswith("!")
    text = text.removeprefix("!").strip()
    is_expression = text.startswith("=")
    call = text[1:].strip() if is_expression else f"{name}({text})"
    return Case(module, name, re.sub(r"\bAXIS\b", name, call), fails, is_expression)


def lines_of(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield module, functions and texts of each line of a table."""
    module = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line and not line.startswith("#"):
            match = LINE.fullmatch(line)
            assert match, f"{path.name}: no line of a table: {line}"
            texts = re.split(r"\s*;(?=[\s!])", match[2])
            yield module, match[1].split(), [text.strip() for text in texts]


@functools.cache
def cases() -> tuple[Case, ...]:
    """Return the calls of all tables."""
    found = []
    for path in sorted(TABLES.glob("*.txt")):
        for module, functions, texts in lines_of(path):
            found += [parse_case(module, name, text) for name in functions for text in texts]
    return tuple(found)


@functools.cache
def grouped() -> dict[tuple[str, str], list[Case]]:
    """Return the calls of each function, by module and name."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in cases():
        found.setdefault((case.module, case.name), []).append(case)
    return found


@functools.cache
def arrays() -> dict[str, np.ndarray]:
    """Return the operands that are numbers."""
    generator = np.random.default_rng(7)

    def normal(*shape: int) -> np.ndarray:
        """Draw around 0."""
        return generator.normal(size=shape).astype("float32")

    def positive(low: float, high: float, *shape: int) -> np.ndarray:
        """Draw uniformly."""
        return generator.uniform(low, high, shape).astype("float32")

    g, z = normal(3, 3), normal(3, 4) + 1j * normal(3, 4)
    nans = normal(3, 4)
    nans[0, 1], nans[1, 2] = np.nan, np.inf
    hermitian = normal(3, 3) + 1j * normal(3, 3)
    return {
        "x": normal(3, 4), "y": normal(3, 4), "t": normal(2, 3, 4), "v": normal(4), "z": z,
        "u": positive(0.1, 0.9, 3, 4), "w": positive(0.5, 2.0, 4), "nans": nans,
        "i": generator.integers(-9, 9, (3, 4)).astype("int32"),
        "j": generator.integers(1, 4, (3, 4)).astype("int32"),
        "k": np.array([2, 0, 3, 1], "int32"), "b": generator.random((3, 4)) < 0.6,
        "g": g, "s": (g @ g.T + 2 * np.eye(3)).astype("float32"),
        "h": (hermitian @ hermitian.conj().T + 2 * np.eye(3)).astype("complex64"),
        "ordered": np.sort(normal(5)), "image": normal(1, 2, 5, 5), "filters": normal(3, 2, 2, 2),
        "heads": normal(2, 3, 2, 4), "wave": normal(64),
        "spectrum": (normal(5, 6) + 1j * normal(5, 6)).astype("complex64"),
    }  # fmt: skip


@functools.cache
def files() -> dict[str, str]:
    """Return paths of files to read: the numbers 0 1 2 3, raw and as NumPy writes them."""
    folder = Path(tempfile.mkdtemp(prefix="tapeless-calls-"))
    numbers = np.arange(4, dtype="float32")
    (folder / "raw").write_bytes(numbers.tobytes())
    np.save(folder / "archive.npy", numbers)
    return {"source": str(folder / "raw"), "archive": str(folder / "archive.npy")}


@functools.cache
def values_of(system: ModuleType) -> dict[str, Any]:
    """Return the operands that belong to a system: devices, shardings, keys, dimension numbers."""
    lax, sharding = system.lax, importlib.import_module(f"{system.__name__}.sharding")
    device = np.array(system.devices()[:1])
    mesh = sharding.Mesh(device, ("a",), axis_types=(sharding.AxisType.Explicit,))

    def placed(*names: str | None) -> Any:
        """Return a sharding over the mesh of one device."""
        return sharding.NamedSharding(mesh, sharding.PartitionSpec(*names))

    return {
        "device": system.devices()[0],
        "sharding0": placed(),
        "sharding": placed("a"),
        "sharding2": placed("a", None),
        "sharding4": placed("a", None, None, None),
        "sharding_last": placed(None, "a"),
        "key": system.random.key(3),
        "gather_rows": lax.GatherDimensionNumbers((1,), (0,), (0,)),
        "scatter_rows": lax.ScatterDimensionNumbers((1,), (0,), (0,)),
        "jax": system,
        "jnp": system.numpy,
        "lax": lax,
    }


def operands(system: ModuleType) -> dict[str, Any]:
    """Return all names that calls may use, functions aside; arrays are copies."""
    copies = {name: array.copy() for name, array in arrays().items()}
    return {**copies, **files(), **values_of(system), "np": np, "sink": io.BytesIO}


def evaluate(case: Case, names: dict[str, Any], function: Callable) -> Any:
    """Return the result of a case, in which the name of its function stands for this one.

    What a call does to warnings and to NumPy's printing ends with it.
    """
    with np.printoptions(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(case.text, {**names, case.name: function})


def differs(value: Any, default: Any) -> bool:
    """Tell whether a value is not the default; an array never is one."""
    if isinstance(value, np.ndarray) or hasattr(value, "aval"):
        return True
    try:
        return type(value) is not type(default) or bool(value != default)
    except (TypeError, ValueError):
        return True


def signature_of(function: Callable) -> inspect.Signature | None:
    """Return the signature; None of NumPy's own functions, such as `save`, which its releases
    change.
    """
    if (function.__module__ or "numpy").startswith("numpy"):
        return None
    return inspect.signature(function)


def exercised(function: Callable, args: tuple, kwargs: dict[str, Any]) -> set[str]:
    """Return the parameters that a call gives a value other than the default."""
    signature = signature_of(function)
    if signature is None:
        return set()
    bound = signature.bind(*args, **kwargs)
    return {
        name
        for name, value in bound.arguments.items()
        if differs(value, signature.parameters[name].default)
    }


def names_of(function: Callable) -> set[str]:
    """Return the parameters of a function."""
    signature = signature_of(function)
    return set(signature.parameters) if signature else set()
