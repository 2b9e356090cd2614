"""Comparison of a function of the array library with NumPy's of the same name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

__all__ = ["arrays_of", "check", "normal", "slope_error"]


def normal(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Draw normal numbers, complex ones for a complex dtype."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.normal(size=shape)
    return x.astype(dtype)


def arrays_of(result: Any) -> list[np.ndarray]:
    """Return the arrays of a result, which may be several."""
    if isinstance(result, (tuple, list)):
        return [each for item in result for each in arrays_of(item)]
    return [np.asarray(result)]


def check(name: str, *args: Any, tolerance: float = 1e-5, **kwargs: Any) -> None:
    """Assert that jnp's function of this (dotted) name gives what NumPy's gives."""
    ours, theirs = jnp, np
    for part in name.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = arrays_of(theirs(*args, **kwargs))
    found = arrays_of(ours(*args, **kwargs))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def slope_error(function: Any, *args: np.ndarray, step: float = 1e-6) -> float:
    """Return how far gradients are from differences, relative to their size; float64 operands."""

    def total(*operands: Any) -> Any:
        """Return a number."""
        return jnp.sum(jnp.real(function(*operands)))

    gradients = jax.grad(total, argnums=tuple(range(len(args))))(*args)
    worst = 0.0
    for position, gradient in enumerate(gradients):
        direction = normal(*args[position].shape, dtype="float64", seed=position + 1)

        def moved(size: float, position: int = position, direction: Any = direction) -> float:
            """Evaluate away from the point."""
            operands = list(args)
            operands[position] = operands[position] + size * direction
            return float(total(*operands))

        slope = (moved(step) - moved(-step)) / (2 * step)
        found = float(np.sum(np.asarray(gradient) * direction))
        worst = max(worst, abs(found - slope) / (1 + abs(slope)))
    return worst
