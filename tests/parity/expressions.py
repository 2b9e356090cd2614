"""Expressions of `jax`, `jnp` and `np`, written as text, evaluated in both systems.

    check_program(tapeless, jax, "jnp.dot(a, b)", "f32[2,3] f32[3]")      the printed programs agree
    check_value(tapeless, jax, "jnp.unique(x)", {"x": np.array([3, 1])})  the results agree
    check_error_class(tapeless, jax, "jnp.ones(2) + jnp.ones(3)", {})     the errors' classes agree

Operands of a program are a, b, c, d; their types are written as programs print them.  Results agree
in structure, shape, dtype, weakness and, to rounding, in value; errors in class and message.
"""

from __future__ import annotations

import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["check_error_class", "check_program", "check_value"]

DTYPES = {
    "bf16": "bfloat16", "bool": "bool", "c64": "complex64", "f16": "float16", "f32": "float32",
    "i32": "int32", "i8": "int8", "u32": "uint32",
}  # fmt: skip


def names_of(system: ModuleType) -> dict[str, Any]:
    """Return what expressions may use."""
    return {"jax": system, "jnp": system.numpy, "np": np}


def structs_of(system: ModuleType, types: str) -> list[Any]:
    """Return the types written in a text."""
    found = re.findall(r"(\w+)\[([\d,]*)\]", types)
    return [
        system.ShapeDtypeStruct(tuple(map(int, filter(None, shape.split(",")))), DTYPES[dtype])
        for dtype, shape in found
    ]


def error_text(error: Exception) -> str:
    """Return the class and the first line of an error."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def program_of(system: ModuleType, text: str, types: str) -> str:
    """Return the printed program of an expression, or its error."""
    structs = structs_of(system, types)
    parameters = ", ".join("abcd"[: len(structs)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = eval(f"lambda {parameters}: {text}", names_of(system))
            return str(system.make_jaxpr(function)(*structs))
        except Exception as error:
            return error_text(error)


def check_program(system: ModuleType, jax: ModuleType, text: str, types: str) -> None:
    """Assert that both systems print one program, or raise one error."""
    assert program_of(jax, text, types) == program_of(system, text, types)


def summary(value: Any) -> Any:
    """Return structure and types of a result."""
    if hasattr(value, "_fields"):
        return type(value).__name__, [summary(each) for each in value]
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [summary(each) for each in value]
    if hasattr(value, "dtype"):
        return str(value.dtype), tuple(value.shape), bool(getattr(value, "weak_type", False))
    return type(value).__name__


def numbers(value: Any) -> list[np.ndarray]:
    """Return the arrays of a result."""
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in numbers(item)]
    return [np.asarray(value)]


def result_of(system: ModuleType, text: str, names: dict[str, Any]) -> Any:
    """Return the value of an expression, or its error as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(text, {**names_of(system), **names})
        except Exception as error:
            return error_text(error)


def check_value(
    system: ModuleType, jax: ModuleType, text: str, names: dict[str, Any], tolerance: float = 1e-5
) -> None:
    """Assert that an expression has one result, or raises one error, in both systems."""
    expected, found = result_of(jax, text, names), result_of(system, text, names)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert summary(found) == summary(expected)
    for x, y in zip(numbers(found), numbers(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def check_error_class(
    system: ModuleType, jax: ModuleType, text: str, names: dict[str, Any]
) -> None:
    """Assert that an expression raises errors of one class, both with a message."""
    expected, found = result_of(jax, text, names), result_of(system, text, names)
    assert isinstance(expected, str), "JAX raises nothing"
    assert isinstance(found, str), "nothing was raised"
    kind, _, message = found.partition(": ")
    assert kind == expected.partition(":")[0]
    assert message
