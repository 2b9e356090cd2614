"""The `accuracy` argument of functions: a `Tolerance`, or an `AccuracyMode`.

The functions are within a few units in the last place always, so that the argument only travels
along, and shows in printed programs.
"""

from __future__ import annotations

import enum
from typing import Any

from tapeless.prims.common import INEXACT, Elementwise

__all__ = ["Accurate", "AccuracyMode", "Tolerance", "accuracy_params"]


class AccuracyMode(enum.Enum):
    """How much accuracy a function should spend time on."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """An error that a function may make: absolute, relative, or in units in the last place."""

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        """atol, rtol, ulps: not negative."""
        if atol < 0.0 or rtol < 0.0 or ulps < 0.0:
            raise ValueError("Tolerances must be non-negative")
        self.atol = atol
        self.rtol = rtol
        self.ulps = ulps

    def __eq__(self, other: object) -> bool:
        """Compare the bounds."""
        return isinstance(other, Tolerance) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """Hash the bounds."""
        return hash((self.atol, self.rtol, self.ulps))


def accuracy_params(accuracy: object) -> dict[str, Any]:
    """Return the parameters of an operation for the user's `accuracy`."""
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return {}
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise NotImplementedError(f"Accuracy {accuracy} not supported")
    return {"accuracy": accuracy}


class Accurate(Elementwise):
    """A function that takes, and ignores, an accuracy."""

    accepts = (INEXACT,)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Compute with NumPy."""
        return super().reference(*arrays)
