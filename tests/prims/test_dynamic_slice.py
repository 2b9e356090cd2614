"""Windows at computed places obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.prims import dynamic_slice as windows
from tests.support.harness import laws
from tests.support.records import Failure, Record, index, normal

F32 = np.float32
MIXED = ("float32", "bool", "int8", "bfloat16", "complex64")
FIXED = {"empty": "the window is fixed"}


def read(x: object, i: object, j: object) -> object:
    """Read a window of a matrix."""
    return windows.dynamic_slice(x, (i, j), (2, 2))


def write(x: object, update: object, i: object, j: object) -> object:
    """Write a window of a matrix."""
    return windows.dynamic_update_slice(x, update, (i, j))


RECORDS = [
    *(
        Record(
            f"dynamic_slice[{i},{j}]",
            read,
            (normal(3, 4), index(i), index(j)),
            MIXED,
            FIXED,
            differentiable=(0,),
        )
        for i, j in ((0, 1), (2, -1), (7, -9))
    ),
    *(
        Record(
            f"dynamic_update_slice[{i},{j}]",
            write,
            (normal(3, 4), normal(2, 2), index(i), index(j)),
            MIXED,
            FIXED,
            differentiable=(0, 1),
        )
        for i, j in ((0, 1), (2, -1), (7, -9))
    ),
    Record(
        "dynamic_slice_in_dim",
        lambda x, i: windows.dynamic_slice_in_dim(x, i, 2, 1),
        (normal(2, 4), index(1)),
        MIXED,
        differentiable=(0,),
    ),
    Record(
        "dynamic_index_in_dim",
        lambda x, i: windows.dynamic_index_in_dim(x, i, 1, keepdims=False),
        (normal(2, 4), index(-1)),
        MIXED,
        differentiable=(0,),
    ),
    Record(
        "dynamic_update_slice_in_dim",
        lambda x, u, i: windows.dynamic_update_slice_in_dim(x, u, i, 1),
        (normal(2, 4), normal(2, 2), index(1)),
        MIXED,
        differentiable=(0, 1),
    ),
    Record(
        "dynamic_update_index_in_dim",
        lambda x, u, i: windows.dynamic_update_index_in_dim(x, u, i, 1),
        (normal(2, 4), normal(2), index(3)),
        MIXED,
        differentiable=(0, 1),
    ),
    Record(
        "dynamic_slice-wrong",
        lambda x, i: windows.dynamic_slice(x, (i,), (2,)),
        (normal(3), index(0)),
        ("float32",),
        FIXED,
        (
            Failure(
                (np.ones(3, F32), F32(0)),
                TypeError,
                "index arguments to dynamic_slice must be integers of the same type, got: float32",
            ),
            Failure(
                (np.ones(1, F32), np.int32(0)),
                TypeError,
                "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
                "(2,) for operand shape (1,).",
            ),
            Failure(
                (np.ones((2, 2), F32), np.int32(0)),
                ValueError,
                "Length of slice indices must match number of operand dimensions (1 vs (2, 2))",
            ),
        ),
        differentiable=(0,),
    ),
]
globals().update(laws(RECORDS))


def test_negative_indices_may_be_refused() -> None:
    """Then they are moved to the start, like all that lies before it."""
    x = np.arange(5, dtype=F32)
    allowed = windows.dynamic_slice(x, (np.int32(-2),), (2,))
    refused = windows.dynamic_slice(x, (np.int32(-2),), (2,), allow_negative_indices=False)
    assert np.asarray(allowed).tolist() == [3.0, 4.0]
    assert np.asarray(refused).tolist() == [0.0, 1.0]


def test_small_index_dtypes_count_from_the_end_of_long_axes() -> None:
    """An int8 index of -1 is the last element of 300."""
    x = np.arange(300, dtype=F32)
    assert float(windows.dynamic_index_in_dim(x, np.int8(-1), keepdims=False)) == 299.0


def test_the_size_of_a_window_of_a_vector_may_be_an_integer() -> None:
    for size in (1, True):
        np.testing.assert_array_equal(windows.dynamic_slice(np.arange(4), (2,), size), [2])


def test_update_must_fit() -> None:
    """Its rank is the operand's, its extents are not larger, its dtype is the same."""
    x, i = np.ones(3, F32), (np.int32(0),)
    with pytest.raises(TypeError, match="update shape must be smaller than operand shape"):
        windows.dynamic_update_slice(x, np.ones(4, F32), i)
    with pytest.raises(TypeError, match="update must have the same rank as operand"):
        windows.dynamic_update_slice(x, np.ones((1, 3), F32), i)
    with pytest.raises(TypeError, match="requires arguments to have the same dtypes"):
        windows.dynamic_update_slice(x, np.ones(2, np.int32), i)
