"""Choices obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless import lax
from tapeless.prims import select
from tests.support.harness import laws
from tests.support.records import Failure, Record, between, fixed, index, like, normal

F32 = np.float32
MIXED = ("float32", "bool", "int8", "bfloat16", "complex64")
FLAGS = like(normal(2, 3), "bool")
WHOLE = dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")


def failing(text: str, *args: object) -> Failure:
    """Return a call that must fail with a TypeError."""
    return Failure(args, TypeError, text)


RECORDS = [
    Record(
        "select",
        select.select,
        (FLAGS, normal(2, 3), normal(2, 3)),
        MIXED,
        errors=(
            failing(
                "select cases must have the same shapes, got [(2, 3), (3,)].",
                np.ones(3, bool),
                np.ones(3, F32),
                np.ones((2, 3), F32),
            ),
            failing(
                "select `which` must be boolean or integer type, got float32.",
                *(np.ones(3, F32),) * 3,
            ),
            failing(
                "select `which` must be scalar or have the same shape as cases, got `which` shape "
                "(2,) but case shape (3,).",
                np.ones(2, bool),
                np.ones(3, F32),
                np.ones(3, F32),
            ),
        ),
        differentiable=(1, 2),
    ),
    Record(
        "select-whole",
        select.select_n,
        (like(fixed(True), "bool"), normal(2, 3), normal(2, 3)),
        MIXED,
        differentiable=(1, 2),
    ),
    Record(
        "select_n",
        select.select_n,
        (like(between(-1, 3, 2, 3), "int32"), normal(2, 3), normal(2, 3), normal(2, 3)),
        MIXED,
        differentiable=(1, 2, 3),
    ),
    Record(
        "select_n-whole",
        select.select_n,
        (index(1), normal(2, 3), normal(2, 3), normal(2, 3)),
        MIXED,
        differentiable=(1, 2, 3),
    ),
    Record(
        "clamp",
        select.clamp,
        (between(-1, -0.9, 2, 3), fixed([[-2, -0.5, 0], [0.5, 2, 3]]), between(0.9, 1, 2, 3)),
        errors=(
            failing(
                "clamp requires min.shape == operand.shape or min.shape == (), got min.shape=(2,), "
                "operand.shape=(3,).",
                np.ones(2, F32),
                np.ones(3, F32),
                F32(1),
            ),
            failing(
                "lax.clamp requires arguments to have the same dtypes, got int32, float32, int32.",
                np.int32(0),
                np.ones(3, F32),
                np.int32(1),
            ),
        ),
    ),
    Record(
        "clamp-scalars",
        select.clamp,
        (between(-1, -0.9), fixed([[-2, -0.5, 0], [0.5, 2, 3]]), between(0.9, 1)),
    ),
    Record(
        "clamp-integers",
        select.clamp,
        (fixed(1), fixed([0, 1, 2, 9]), fixed(5)),
        ("int32", "uint8"),
        WHOLE,
    ),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32"])
def test_any_integer_chooses(dtype):
    """A choice out of range is clamped."""
    which = np.asarray([2, 0, 1, 5], dtype)
    cases = [np.full(4, value, np.float32) for value in (1, 2, 3)]
    np.testing.assert_array_equal(lax.select_n(which, *cases), [3, 1, 2, 3])
    np.testing.assert_array_equal(lax.select_n(which[1], *cases), cases[0])
