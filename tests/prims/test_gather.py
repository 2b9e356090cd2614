"""Gathers obey the laws of `tests/support/harness.py`; and their checks, in JAX's words."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import gather
from tapeless.prims.indexing import GatherDimensionNumbers, GatherScatterMode
from tests.support.harness import laws
from tests.support.records import FLOATS, NUMBERS, Record, fixed, normal

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = GatherDimensionNumbers((1,), (0,), (0,))
BOXES = GatherDimensionNumbers((1, 2), (), (1, 0))
PAIRED = GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
INDEXED = {"empty": "there is nothing to gather from"}


def take(numbers, sizes, mode=None) -> object:
    """Return the gather with fixed parameters."""
    return lambda x, i: gather.gather(x, i, numbers, sizes, mode=mode)


def indices(*rows) -> object:
    """Return the maker of int32 index vectors."""
    return fixed(rows, "int32")


def record(name, call, makers, dtypes=FLOATS) -> Record:
    """Return the record of a gather: differentiated by its first operand."""
    return Record(name, call, makers, dtypes, INDEXED, differentiable=(0,))


FAR = indices([0], [2], [7], [-1])
RECORDS = [
    record("rows", take(ROWS, (1, 4)), (normal(3, 4), indices([0], [2], [1])), NUMBERS),
    record("rows-clip", take(ROWS, (1, 3), "clip"), (normal(3, 4), FAR)),
    record("boxes", take(BOXES, (2, 2), "clip"), (normal(3, 4), indices([0, 0], [2, 1], [1, 9]))),
    record("paired", take(PAIRED, (1, 1)), (normal(3, 4), indices([0], [2], [1]))),
    record("unsigned", take(ROWS, (1, 4)), (normal(3, 4), fixed([[0], [2]], "uint8"))),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [(np.float32, np.nan), (np.int32, -(2**31)), (np.uint8, 255), (np.bool_, True)],
)
def test_windows_out_of_bounds_are_filled(dtype, fill):
    out = gather.gather(X.astype(dtype), np.array([[1], [3]]), ROWS, (1, 4), mode="fill")
    np.testing.assert_array_equal([X[1].astype(dtype), np.full(4, fill, dtype)], out)


def test_tangents_out_of_bounds_are_zero():
    def f(x):
        return gather.gather(x, np.array([[1], [3]]), ROWS, (1, 4), mode="fill", fill_value=7)

    out, tangent = jax.jvp(f, (X,), (X,))
    np.testing.assert_array_equal([X[1], np.full(4, 7)], out)
    np.testing.assert_array_equal([X[1], np.zeros(4)], tangent)


def test_a_batch_of_both_is_walked_together():
    x, i = np.ones((5, 3, 4), np.float32), np.zeros((5, 2, 1), np.int32)
    text = str(jax.make_jaxpr(jax.vmap(take(ROWS, (1, 4))))(x, i))
    assert (
        "GatherDimensionNumbers(offset_dims=(np.int64(2),), collapsed_slice_dims=(np.int64(1),), "
        "start_index_map=(np.int64(1),), operand_batching_dims=(0,), "
        "start_indices_batching_dims=(0,))"
    ) in text
    assert "slice_sizes=(1, 1, 4)" in text


@pytest.mark.parametrize(
    ("numbers", "sizes", "rows", "text"),
    [
        (
            ((1, 0), (0,), (0,)),
            (1, 4),
            (2, 1),
            "offset_dims in gather op must be sorted; got",
        ),
        (((1, 1), (0,), (0,)), (1, 4), (2, 1), "offset_dims in gather op must not repeat"),
        (((3,), (0,), (0,)), (1, 4), (2, 1), "Offset dimension 0 in gather op is out of bounds"),
        (((1,), (0,), (0, 1)), (1, 4), (2, 1), "Gather op has 2 elements in start_index_map"),
        (
            ((1,), (0,), (5,)),
            (1, 4),
            (2, 1),
            "Invalid start_index_map; domain is [0, 2), got:",
        ),
        (((1,), (0,), (0, 0)), (1, 4), (2, 2), "start_index_map in gather op must not repeat"),
        (((1,), (5,), (0,)), (1, 4), (2, 1), "Invalid collapsed_slice_dims set in gather op"),
        (((1,), (0,), (0,)), (2, 4), (2, 1), "Gather op can only collapse slice dims with bound 1"),
        (((1,), (0,), (0,)), (1, 5), (2, 1), "Slice size at index 1 in gather op is out of range"),
        (((1,), (0,), (0,)), (1,), (2, 1), "Gather op must have one slice size for every input"),
        (
            ((), (0,), (0,), (1,), (0,)),
            (1, 1),
            (3, 1),
            "to have the same shape, got (4,) and",
        ),
        (
            ((), (0,), (0,), (0,), (0,)),
            (1, 1),
            (4, 1),
            "operand_batching_dims in gather op must",
        ),
        (((), (0,), (0,), (1,), (1,)), (1, 1), (4, 1), "cannot have the index vector dimension as"),
    ],
)
def test_dimension_numbers_that_do_not_fit_are_refused(numbers, sizes, rows, text):
    with pytest.raises(TypeError) as caught:
        gather.gather(X, np.zeros(rows, np.int32), GatherDimensionNumbers(*numbers), sizes)
    assert text in str(caught.value)


def test_modes_are_named_and_indices_are_integers():
    assert GatherScatterMode.from_any("drop") is GatherScatterMode.FILL_OR_DROP
    assert GatherScatterMode.from_any(None) is GatherScatterMode.FILL_OR_DROP
    with pytest.raises(ValueError, match='Unknown gather mode "bad"'):
        take(ROWS, (1, 4), "bad")(X, np.zeros((2, 1), np.int32))
    with pytest.raises(ValueError, match="indices must have an integer type"):
        take(ROWS, (1, 4))(X, np.zeros((2, 1), np.float32))


def test_nothing_is_gathered_from_operands_of_any_size():
    rows = take(ROWS, (1, 4))(np.zeros((0, 4), np.float32), np.zeros((0, 1), np.int32))
    assert rows.shape == (0, 4)
    with pytest.raises(TypeError, match="Slice size at index 0 in gather op is out of range"):
        take(ROWS, (1, 4))(np.zeros((0, 4), np.float32), np.zeros((1, 1), np.int32))
