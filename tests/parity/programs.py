"""Program text of one function in both systems."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["F32", "Spec", "check_text", "spec"]

Spec = tuple[tuple[int, ...], str]
F32 = "float32"
# What messages about shapes say beyond JAX's; tests/safety/test_messages.py looks at it.
ADDED = re.compile(
    r" Axis -\d+, counted from the back, has extents [\d, ]+ and \d+\.|, of shapes \(.*$"
)


def spec(*shape: int, dtype: str = F32) -> Spec:
    """Name an operand by shape and dtype."""
    return shape, dtype


def check_text(system: ModuleType, jax: ModuleType, function: Callable, *specs: Spec) -> None:
    """Assert that both systems print one program, or raise one error, for function(jax, *args)."""
    assert program_text(system, function, specs) == program_text(jax, function, specs)


def program_text(system: ModuleType, function: Callable, specs: tuple[Spec, ...]) -> str:
    """Return the printed program, or the error's class and message."""
    args = [system.ShapeDtypeStruct(*each) for each in specs]

    def staged(*operands: Any) -> Any:
        """Call the function with the system it is traced in."""
        return function(system, *operands)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(system.make_jaxpr(staged)(*args))
        except Exception as error:
            return f"{type(error).__name__}: {ADDED.sub('', str(error))}".rstrip(".")
