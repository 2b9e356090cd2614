"""Functions of `jax.scipy` beside SciPy's of the same name.

check("signal", "convolve", x, y, mode="same")    our result is SciPy's
oracle()                                          JAX itself, with all of `jax.scipy`
"""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from tests.support.against_numpy import arrays_of

__all__ = ["check", "oracle"]

MODULES = (
    "cluster.vq fft integrate interpolate ndimage optimize signal sparse.linalg spatial.transform"
)


def check(module: str, name: str, *args: Any, tolerance: float = 2e-5, **kwargs: Any) -> None:
    """Assert that our function of a module gives what SciPy's gives."""
    ours = getattr(importlib.import_module(f"tapeless.scipy.{module}"), name)
    theirs = getattr(importlib.import_module(f"scipy.{module}"), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = arrays_of(theirs(*args, **kwargs))
        found = arrays_of(ours(*args, **kwargs))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(
            x, y, rtol=tolerance, atol=tolerance * (1 + np.abs(y).max(initial=0))
        )


def oracle() -> ModuleType:
    """Return JAX itself, with the modules of `jax.scipy`."""
    for module in MODULES.split():
        importlib.import_module(f"jax.scipy.{module}")
    return importlib.import_module("jax")
