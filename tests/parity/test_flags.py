"""Calls under flags, set for good and for one thread, give what JAX gives.

`flag_calls.txt` lists calls below the flag that holds for them, which is set twice: by
`config.update("jax_flag", value)`, and by the context manager of its name where there is one.
Compared with JAX are values, dtypes and weakness, the classes of errors and of warnings, printed
programs, and the error of a value that the flag does not take.  Each side runs in a process of its
own, which is this file as a program: `python -m tests.parity.test_flags jax`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.oracle

TABLE = Path(__file__).with_name("flag_calls.txt")
# Calls with another outcome than JAX's: the flag, the call, and why.
OTHERWISE = [
    (
        "explicit_x64_dtypes",
        'jnp.mean(x, dtype="float64")',
        "numbers of NumPy inside functions are narrowed",
    ),
    ("debug_nans", "jnp.array(jnp.nan)", "JAX looks at constants at times"),
    ("debug_infs", "jnp.array(jnp.inf)", "JAX looks at constants at times"),
    ("debug_infs", "x / 0", "JAX looks at the first call of a compiled function only"),
]


def calls_of_table() -> list[tuple[str, str, str]]:
    """Return flags, the texts of their values, and calls."""
    found, flag, value = [], "", ""
    for line in TABLE.read_text().splitlines():
        if match := re.fullmatch(r"\[(\w+)=(.*)\]", line):
            flag, value = match.groups()
        elif line and not line.startswith("#"):
            found.append((flag, value, line))
    return found


def names_of(system: ModuleType) -> dict[str, Any]:
    """Return what calls may use."""
    jnp, draw = system.numpy, np.random.default_rng(5).normal
    matrix = draw(size=(3, 3)).astype("float32")
    return {
        "jax": system, "jnp": jnp, "lax": system.lax, "np": np, "key": system.random.key(3),
        "x": jnp.asarray(np.abs(matrix[0])), "m": jnp.asarray(matrix @ matrix.T),
        "i": jnp.array([2, 0, 1], "int32"), "u": jnp.array([2, 0, 1], "uint8"),
        "s": jnp.array([2, 0, -1], "int8"), "b": jnp.array([True, False, True]),
        "h": jnp.asarray(matrix[1].astype("float16")), "z": jnp.asarray(matrix[2] + 1j),
        "image": jnp.asarray(draw(size=(1, 1, 4, 4)).astype("float32")),
        "text": lambda function: str(system.make_jaxpr(function)()),
    }  # fmt: skip


def described(value: Any) -> Any:
    """Return a result as what JSON can hold."""
    if isinstance(value, (tuple, list)):
        return [described(each) for each in value]
    if isinstance(value, dict):
        return {name: described(each) for name, each in value.items()}
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.asarray(value)
        parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
        numbers = [part.ravel().astype(float).tolist() for part in parts]
        return [str(value.dtype), list(value.shape), getattr(value, "weak_type", False), numbers]
    return str(value)


def outcome(call: str, names: dict[str, Any]) -> Any:
    """Return the description of a result or of an error, and the classes of warnings."""
    with warnings.catch_warnings(record=True, action="always") as noted:
        try:
            result = described(eval(call, names) if "+=" not in call else exec(call, {**names}))
        except Exception as error:
            result = f"raises {type(error).__name__}"
    return [result, sorted({note.category.__name__ for note in noted})]


@contextlib.contextmanager
def updated(system: ModuleType, flag: str, value: Any) -> Iterator[None]:
    """Set a flag by `update`, and set it back."""
    before = system.config.values[f"jax_{flag}"]
    system.config.update(f"jax_{flag}", value)
    try:
        yield
    finally:
        system.config.update(f"jax_{flag}", before)


def outcomes_of(system: ModuleType) -> list[Any]:
    """Return the outcomes of all calls, each with the flag set in both ways."""
    names, found = names_of(system), []
    for flag, text, call in calls_of_table():
        value = eval(text)
        ways = [functools.partial(updated, system, flag)]
        if hasattr(system, flag):
            ways.append(getattr(system, flag))
        each = []
        for way in ways:
            try:
                with way(value):
                    each.append(outcome(call, names))
            except Exception as error:
                each.append(f"the flag raises {type(error).__name__}")
        found.append(each)
    return found


@functools.cache
def outcomes(name: str) -> list[Any]:
    """Return the outcomes in a process that has one of the systems."""
    command = [sys.executable, "-m", "tests.parity.test_flags", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def is_same(found: Any, expected: Any) -> bool:
    """Tell whether two descriptions are equal, numbers nearly."""
    if isinstance(found, list) and isinstance(expected, list):
        pairs = zip(found, expected, strict=False)
        return len(found) == len(expected) and all(is_same(*pair) for pair in pairs)
    if isinstance(found, float) and isinstance(expected, float):
        return bool(np.isclose(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True))
    return found == expected


def told(ways: list[Any]) -> Any:
    """Return results, and the warnings of all ways: JAX warns as it traces, which it does once."""
    warned = sorted({name for way in ways if isinstance(way, list) for name in way[1]})
    return [[way[0] if isinstance(way, list) else way for way in ways], warned]


FLAGS = list(dict.fromkeys((flag, value) for flag, value, _ in calls_of_table()))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("flag", "value"), FLAGS)
def test_calls_under_a_flag_are_those_of_jax(flag, value):
    rows = zip(calls_of_table(), outcomes("tapeless"), outcomes("jax"), strict=True)
    different, needed = [], set()
    of_flag = {
        (flag, call) for owner, text, call in calls_of_table() if (owner, text) == (flag, value)
    }
    for (owner, text, call), found, expected in rows:
        if (owner, text) != (flag, value) or is_same(told(found), told(expected)):
            continue
        listed = [row for row in OTHERWISE if row[0] == flag and row[1] == call]
        needed.update(listed)
        if not listed:
            different.append((call, found, expected))
    assert not different
    assert needed == {row for row in OTHERWISE if (row[0], row[1]) in of_flag}


if __name__ == "__main__":
    print(json.dumps(outcomes_of(importlib.import_module(sys.argv[1]))))
