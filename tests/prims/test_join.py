"""Joining and parting obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

from tapeless.prims import join
from tests.support.harness import laws
from tests.support.records import Failure, Record, normal

F32 = np.float32
MIXED = ("float32", "bool", "int8", "bfloat16", "complex64")
FIXED = {"empty": "the sizes are fixed"}
RECORDS = [
    Record(
        "concatenate",
        lambda x, y: join.concatenate([x, y], 1),
        (normal(2, 3), normal(2, 4)),
        MIXED,
        errors=(
            Failure(
                (np.ones(3, F32), np.ones((2, 3), F32)),
                TypeError,
                "Cannot concatenate arrays with different numbers of dimensions: got (3,), (2, 3).",
            ),
            Failure(
                (np.ones((2, 3), F32), np.ones((1, 3), F32)),
                TypeError,
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                "one being concatenated",
            ),
            Failure(
                (np.ones((2, 3), F32), np.ones((2, 3), np.int32)),
                TypeError,
                "lax.concatenate requires arguments to have the same dtypes, got float32, int32.",
            ),
        ),
    ),
    Record(
        "concatenate-large",
        lambda x, y, z: join.concatenate([x, y, z], 0),
        (normal(5, 3), normal(2, 3), normal(1, 3)),
        MIXED,
    ),
    Record(
        "concatenate-rows-in-pieces",
        lambda x, y: join.concatenate([x, y], 1),
        (normal(2, 5), normal(2, 14)),
        MIXED,
    ),
    Record(
        "concatenate-shifted",
        lambda x: join.concatenate(join.split(x, (1, 19), 0)[::-1], 0),
        (normal(20, 3),),
        ("float32",),
        FIXED,
    ),
    Record("concatenate-itself", lambda x: join.concatenate([x, x], 0), (normal(2, 3),), MIXED),
    Record("split", lambda x: join.split(x, (1, 2), 0), (normal(3, 2),), MIXED, FIXED),
    Record("split-last", lambda x: join.split(x, (1, 0, 2), -1), (normal(2, 3),), MIXED),
    Record(
        "split-wrong",
        lambda x: join.split(x, (1, 1)),
        (normal(2),),
        ("float32",),
        FIXED,
        (
            Failure(
                (np.ones(3, F32),),
                ValueError,
                "Sum of sizes 2 must be equal to dimension 0 of the operand shape [3]",
            ),
        ),
    ),
    Record(
        "stack",
        lambda x, y: join.stack([x, y], 1),
        (normal(2, 3), normal(2, 3)),
        MIXED,
        errors=(
            Failure(
                (np.ones(3, F32), np.ones((2, 3), F32)),
                ValueError,
                "Cannot stack arrays with different numbers of dimensions: got (3,), (2, 3).",
            ),
        ),
    ),
    Record("stack-one", lambda x: join.stack([x]), (normal(2),), MIXED),
    Record("unstack", lambda x: join.unstack(x, 1), (normal(2, 3),), MIXED),
    Record("unstack-first", join.unstack, (normal(2, 3),), MIXED, FIXED),
]
globals().update(laws(RECORDS))
