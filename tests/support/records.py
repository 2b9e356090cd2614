"""Records: what the tests need to know about an operation.

    Record(
        "div",                          the name in test ids
        div,                            the user function, of arrays only
        (normal(2, 3), away(0)(2, 3)),  a maker per operand: (dtype, generator) -> array
        dtypes=FLOATS,                  the dtypes to sweep
        without={"law": "reason"},      laws that do not apply, each with the reason
        errors=(...),                   calls that must fail
    )

The reference is the `reference` rule of the operations that the function applies, or the function
`reference` of the record, for operations that have no such rule.  A maker keeps its operand inside
the domain, and away from points where the function has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapeless import dtypes

__all__ = [
    "BOOL",
    "COMPLEXES",
    "FLOATS",
    "INEXACT",
    "INTEGERS",
    "NUMBERS",
    "SINGLE",
    "Failure",
    "Maker",
    "Record",
    "between",
    "bits",
    "fixed",
    "index",
    "like",
    "normal",
]

Maker = Callable[[np.dtype, np.random.Generator], np.ndarray]

SINGLE = ("float32",)
FLOATS = ("float32", "float16", "bfloat16", "float64")
COMPLEXES = ("complex64", "complex128")
INEXACT = (*FLOATS, *COMPLEXES)
INTEGERS = ("int32", "uint8", "int64", "uint32")
BOOL = ("bool",)
NUMBERS = (*INEXACT, *INTEGERS)


@dataclass(frozen=True)
class Failure:
    """A call that must raise `kind` with a message that contains `text`."""

    args: tuple[Any, ...]
    kind: type[Exception]
    text: str


@dataclass(frozen=True)
class Record:
    """One operation, or one use of it."""

    name: str
    call: Callable[..., Any]
    makers: tuple[Maker, ...]
    dtypes: tuple[str, ...] = FLOATS
    without: dict[str, str] = field(default_factory=dict)
    errors: tuple[Failure, ...] = ()
    ulps: float = 4.0
    differentiable: tuple[int, ...] | None = None
    reference: Callable[..., Any] | None = None

    def arguments(self, dtype: str, seed: int = 0) -> list[np.ndarray]:
        """Return operands of the dtype."""
        generator = np.random.default_rng(seed)
        return [maker(np.dtype(_NAMED.get(dtype, dtype)), generator) for maker in self.makers]

    def positions(self) -> tuple[int, ...]:
        """Return the operands that the function is differentiated by."""
        return (
            tuple(range(len(self.makers))) if self.differentiable is None else self.differentiable
        )


_NAMED = {"bfloat16": dtypes.bfloat16}


def between(low: float, high: float, *shape: int) -> Maker:
    """Return the maker of numbers in low .. high, of the dtype asked for."""

    def make(dtype: np.dtype, generator: np.random.Generator) -> np.ndarray:
        """Draw uniformly; complex numbers have both parts in the range."""
        if dtype == np.bool_:
            return generator.random(shape) < 0.5
        if dtypes.issubdtype(dtype, np.integer):
            least = max(low, int(dtypes.iinfo(dtype).min))
            return generator.integers(int(least), int(high) + 1, shape).astype(dtype)
        drawn = generator.uniform(low, high, shape)
        if dtypes.issubdtype(dtype, np.complexfloating):
            drawn = drawn + 1j * generator.uniform(low, high, shape)
        return np.asarray(drawn).astype(dtype)

    return make


def normal(*shape: int) -> Maker:
    """Return the maker of numbers around 0, in -2 .. 2 (integers in -5 .. 5)."""

    def make(dtype: np.dtype, generator: np.random.Generator) -> np.ndarray:
        """Choose the range by the dtype."""
        wide = 5.0 if dtypes.issubdtype(dtype, np.integer) else 2.0
        return between(-wide, wide, *shape)(dtype, generator)

    return make


def bits(*shape: int) -> Maker:
    """Return the maker of integers over the whole range of the dtype."""

    def make(dtype: np.dtype, generator: np.random.Generator) -> np.ndarray:
        """Draw bytes."""
        if dtype == np.bool_:
            return generator.random(shape) < 0.5
        count = int(np.prod(shape, dtype=int)) * dtype.itemsize
        return np.frombuffer(generator.bytes(count), dtype).reshape(shape).copy()

    return make


def fixed(values: Any, dtype: str | None = None) -> Maker:
    """Return the maker of these values, of a dtype of their own or of the one asked for."""
    return lambda asked, generator: np.asarray(values).astype(dtype or asked)


def index(value: int) -> Maker:
    """Return the maker of an int32 scalar."""
    return fixed(value, "int32")


def like(maker: Maker, dtype: str) -> Maker:
    """Return a maker whose dtype is fixed."""
    return lambda asked, generator: maker(np.dtype(dtype), generator)
