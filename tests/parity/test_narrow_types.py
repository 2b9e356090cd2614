"""Calls on arrays of narrow types, float8s, float4, int4 and uint4, give what JAX gives.

`narrow_calls.txt` lists calls: elementwise functions, reductions, sorts, products, convolutions,
conversions, indices, updates, loops, transformations.  In them x and y are (3, 4) arrays of the
type, v one of 4; `floats`, `ints`, `halves`, `bools` and `complexes` are like x, of wider types.
Some calls are made for one type here, all for all types in the long tests.  Structure, shapes,
dtypes, weakness and values are compared, and the class of errors.

Floating numbers may also be those that the call gives in float32, rounded once: JAX rounds sums and
recipes at every step.  The compiler of JAX refuses many calls, and does not end for some; what is
refused there may be taken here.  Calls of int2 and uint2 end the process in it, and are left out.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import warnings
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tapeless
import tapeless.numpy

pytestmark = pytest.mark.oracle

INTEGERS = {"int4": (-8, 7), "uint4": (0, 15)}
FLOATS = [
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn",
]  # fmt: skip
DTYPES = [*INTEGERS, *FLOATS]
CALLS = Path(__file__).with_name("narrow_calls.txt").read_text().splitlines()[1:]
# Relative errors of results of wider types.
TOLERANCES = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2, "complex64": 1e-5}
# Calls of floating numbers for which the compiler of JAX does not end.
ENDLESS = ("floor_divide", "divmod", "x // 2", "jnp.std")
# Calls with other results than JAX's: the call, a part of the dtype, and why.
OTHERWISE = [
    ("x.view('uint8')", "4", "JAX packs two numbers into a byte"),
    ("lax.population_count(x)", "int4", "JAX counts in the wider type"),
    ("jnp.right_shift(x, y)", "uint4", "JAX's shift copies the highest bit"),
    ("x >> 1", "uint4", "JAX's shift copies the highest bit"),
    ("jax.nn.softmax(x)", "int4", "JAX subtracts in four bits, which wraps around"),
    ("jnp.mean(x)", "float4", "sums, and counts above 6, are rounded in the type"),
    ("jnp.average(x)", "float4", "sums, and counts above 6, are rounded in the type"),
    ("preferred_element_type='int32'", "float", "JAX sums products before it cuts them"),
    ("jnp.frexp(x)", "float8", "JAX's mantissas are not below 1"),
    ("lax.reduce_precision(x, 3, 2)", "float8", "JAX flushes the subnormal numbers"),
    ("(a * b + a).sum()", "float", "a program of several operations rounds between them"),
]


def of_type(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return numbers around 0 in a type."""
    target = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype in INTEGERS:
        array = np.clip(np.rint(3 * array), *INTEGERS[dtype])
    return array.astype(target)


@functools.cache
def operands() -> dict[str, np.ndarray]:
    """Return the numbers from which the operands are made."""
    draw = np.random.default_rng(3).normal
    return {
        "x": draw(size=(3, 4)), "y": draw(size=(3, 4)), "v": draw(size=4),
        "image": draw(size=(1, 2, 5, 5)), "filters": draw(size=(3, 2, 2, 2)),
    }  # fmt: skip


def names_of(system: ModuleType, dtype: str) -> dict[str, Any]:
    """Return what calls may use; the operands are first rounded to a narrow type."""
    jnp, wide = system.numpy, 4 * operands()["x"].astype("float32")
    return {
        "jax": system, "jnp": jnp, "lax": system.lax, "np": np, "key": system.random.key(3),
        **{name: jnp.asarray(of_type(array, dtype)) for name, array in operands().items()},
        "k": jnp.array([2, 0, 3, 1]), "b": jnp.asarray(wide > 0), "bools": jnp.asarray(wide > 1),
        "floats": jnp.asarray(wide), "ints": jnp.asarray((3 * wide).astype("int32")),
        "halves": jnp.asarray(wide.astype("float16")), "complexes": jnp.asarray(wide + 1j),
    }  # fmt: skip


def widened(names: dict[str, Any]) -> dict[str, Any]:
    """Return the operands in float32."""
    return names | {name: names[name].astype("float32") for name in operands()}


def result_of(call: str, names: dict[str, Any]) -> Any:
    """Return what a call gives, or its error."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return eval(call, names)
        except Exception as error:
            return error


def parts_of(result: Any) -> list[Any]:
    """Return the parts of a result in order."""
    if isinstance(result, (tuple, list)):
        return [each for part in result for each in parts_of(part)]
    return [result]


def type_of(part: Any) -> tuple:
    """Return dtype, shape and weakness of an array; the class and text of anything else."""
    if hasattr(part, "shape") and hasattr(part, "dtype"):
        return str(part.dtype), tuple(part.shape), bool(getattr(part, "weak_type", False))
    return type(part).__name__, str(part).replace("jax.", "").replace("tapeless.", "")


def numbers(part: Any) -> np.ndarray:
    """Return an array in a type that has all its numbers."""
    array = np.asarray(part)
    return array.astype("complex128" if array.dtype.kind == "c" else "float64")


def is_near(found: Any, expected: Any) -> bool:
    """Tell whether two arrays have the same numbers."""
    room = TOLERANCES.get(str(found.dtype), 0.0)
    pair = numbers(found), numbers(expected)
    return pair[0].shape == pair[1].shape and np.allclose(
        *pair, rtol=room, atol=room, equal_nan=True
    )


def is_rounded_once(call: str, place: int, part: Any, names: dict[str, Any]) -> bool:
    """Tell whether a part of a result is near that of float32; one step of its type is near."""
    if str(part.dtype) not in FLOATS:
        return False
    wide = result_of(call, widened(names))
    if isinstance(wide, Exception):
        return False
    exact = numbers(parts_of(wide)[place])
    step = float(ml_dtypes.finfo(np.asarray(part).dtype).eps)
    return np.allclose(numbers(part), exact, rtol=step, atol=step / 4, equal_nan=True)


def difference(call: str, dtype: str) -> str | None:
    """Tell what a call has otherwise than JAX."""
    jax: ModuleType = importlib.import_module("jax")
    theirs, ours = names_of(jax, dtype), names_of(tapeless, dtype)
    expected, found = result_of(call, theirs), result_of(call, ours)
    words = f"{dtype}: {call}: {str(found)[:200]}, not {str(expected)[:200]}"
    if isinstance(expected, Exception):
        kinds = {type(expected).__name__, type(found).__name__}
        return words if isinstance(found, Exception) and len(kinds) > 1 else None
    if isinstance(found, Exception):
        return words
    pairs = list(zip(parts_of(found), parts_of(expected), strict=False))
    for place, (part, wanted) in enumerate(pairs):
        if type_of(part) != type_of(wanted):
            return f"{words}: {type_of(part)}, not {type_of(wanted)}"
        is_array = hasattr(part, "__array__") and np.asarray(part).dtype.names is None
        if not is_array or str(part.dtype).startswith("[") or is_near(part, wanted):
            continue
        if not is_rounded_once(call, place, part, theirs):
            return words
    return None if len(parts_of(found)) == len(parts_of(expected)) else words


def is_tried(call: str, dtype: str) -> bool:
    """Tell whether a call ends in JAX."""
    return dtype in INTEGERS or not any(text in call for text in ENDLESS)


def listed(call: str, dtype: str) -> list[tuple[str, str, str]]:
    """Return the rows that list a call."""
    return [row for row in OTHERWISE if row[0] in call and row[1] in dtype]


@pytest.mark.parametrize("part", range(2))
def test_calls_of_some_type_are_those_of_jax(part):
    different = []
    for call in CALLS[part::8]:
        dtype = DTYPES[zlib.crc32(call.encode()) % len(DTYPES)]
        if is_tried(call, dtype) and not listed(call, dtype):
            different.append(difference(call, dtype))
    assert not [words for words in different if words]


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_calls_of_all_types_are_those_of_jax():
    different, needed = [], set()
    for dtype, call in itertools.product(DTYPES, CALLS):
        if not is_tried(call, dtype) or not (words := difference(call, dtype)):
            continue
        rows = listed(call, dtype)
        needed.update(rows)
        if not rows:
            different.append(words)
    assert not different
    assert needed == set(OTHERWISE)
