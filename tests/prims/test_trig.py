"""Circular and hyperbolic functions obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.prims import trig
from tests.support.harness import laws
from tests.support.records import COMPLEXES, Maker, Record, between, normal

DOMAINS: dict[str, Maker] = {
    "sin": normal(2, 3),
    "cos": normal(2, 3),
    "tan": between(-1.2, 1.2, 2, 3),
    "asin": between(-0.8, 0.8, 2, 3),
    "acos": between(-0.8, 0.8, 2, 3),
    "atan": normal(2, 3),
    "sinh": normal(2, 3),
    "cosh": normal(2, 3),
    "tanh": normal(2, 3),
    "asinh": normal(2, 3),
    "acosh": between(1.5, 3, 2, 3),
    "atanh": between(-0.8, 0.8, 2, 3),
}
INSIDE = between(0.2, 0.7, 2, 3)
RECORDS = [
    *(Record(name, getattr(trig, name), (maker,)) for name, maker in DOMAINS.items()),
    *(
        Record(
            f"{name}-complex", getattr(trig, name), (between(0.2, 0.7, 2, 3),), COMPLEXES, ulps=32
        )
        for name in DOMAINS
    ),
]
globals().update(laws(RECORDS))


def test_slope_of_asinh_does_not_overflow() -> None:
    """1 / sqrt(1 + x ** 2) for x whose square overflows."""
    x = np.float32(1e30)
    np.testing.assert_allclose(float(jax.grad(trig.asinh)(x)), 1e-30, rtol=1e-6)
