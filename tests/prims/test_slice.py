"""Slices and padding obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import slice as slices
from tests.support.harness import laws
from tests.support.records import Failure, Record, normal

F32 = np.float32
MIXED = ("float32", "bool", "int8", "bfloat16", "complex64")
FIXED = {"empty": "the bounds are fixed"}


def cut(*bounds: object) -> object:
    """Return the slice with these bounds."""
    return lambda x: slices.slice(x, *bounds)


def padded(*config: tuple[int, int, int]) -> object:
    """Return the padding with this configuration."""
    return lambda x, value: slices.pad(x, value, config)


def failing_pad(kind: type[Exception], text: str, x: object, value: object) -> Failure:
    """Return a call of `pad` that must fail."""
    return Failure((x, value), kind, text)


RECORDS = [
    Record(
        "slice",
        cut((1, 0), (3, 2)),
        (normal(4, 3),),
        MIXED,
        FIXED,
        (
            Failure(
                (np.ones((2, 3), F32),),
                TypeError,
                "slice limit_indices must be less than or equal to operand shape, got "
                "limit_indices (3, 2) for operand shape (2, 3).",
            ),
        ),
    ),
    Record("slice-strides", cut((1,), (6,), (2,)), (normal(7),), MIXED, FIXED),
    Record("slice-strides-short", cut((0,), (6,), (4,)), (normal(7),), MIXED, FIXED),
    Record("slice-nothing", cut((1,), (1,), (2,)), (normal(3),), MIXED, FIXED),
    Record("slice_in_dim", lambda x: slices.slice_in_dim(x, -2, None, axis=1), (normal(2, 3),)),
    Record("index_in_dim", lambda x: slices.index_in_dim(x, -1, 1, False), (normal(2, 3),)),
    Record(
        "pad",
        padded((1, 2, 0)),
        (normal(3), normal()),
        MIXED,
        errors=(
            failing_pad(
                TypeError,
                "pad operand and padding_value must be same dtype: got float32 and int32.",
                np.ones(3, F32),
                np.int32(0),
            ),
            failing_pad(
                ValueError,
                "padding_value must be a scalar; got np.shape(padding_value)=(3,)",
                np.ones(3, F32),
                np.ones(3, F32),
            ),
            failing_pad(
                ValueError,
                "length of padding_config must equal the number of axes of operand, got "
                "padding_config ((1, 2, 0),) for operand shape (2, 3)",
                np.ones((2, 3), F32),
                F32(0),
            ),
        ),
    ),
    Record("pad-interior", padded((1, 2, 1), (0, 0, 2)), (normal(3, 2), normal()), MIXED),
    Record("pad-negative", padded((-1, 2, 0)), (normal(3), normal()), MIXED),
    Record("pad-negative-interior", padded((-1, -2, 2)), (normal(4), normal()), MIXED, FIXED),
    Record("pad-nothing", padded((0, 0, 0)), (normal(3), normal()), MIXED),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (((1, 1), (2, 2)), "slice start_indices must have length equal to the number of dim"),
        (((-1,), (2,)), "slice start_indices must have every element be nonnegative, got (-1,)."),
        (((2,), (1,)), "slice limit_indices must be greater than or equal to start_indices"),
        (((0,), (2,), (0,)), "slice strides must be positive, got (0,)"),
        (((0,), (2,), (1, 1)), "slice strides must have length equal to the number of dim"),
    ],
)
def test_bounds_are_checked(bounds: tuple, text: str) -> None:
    """Each wrong bound has its message."""
    with pytest.raises(TypeError) as caught:
        slices.slice(np.ones(3, F32), *bounds)
    assert text in str(caught.value)


def test_index_out_of_bounds_is_an_index_error() -> None:
    """The message names index, axis and extent."""
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 3"):
        slices.index_in_dim(np.ones((2, 3), F32), 5, 1)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (((1, 2, -1),), "interior padding in padding_config must be nonnegative"),
        (((-5, 1, 0),), "Dimension size after padding is not at least 0, got result shape (-1,)"),
    ],
)
def test_padding_is_checked(config: tuple, text: str) -> None:
    """Neither negative interiors nor negative results."""
    with pytest.raises(ValueError) as caught:
        slices.pad(np.ones(3, F32), F32(0), config)
    assert text in str(caught.value)


def dilated(x: np.ndarray, low: int, high: int, interior: int) -> np.ndarray:
    """Pad the last axis with sevens, in the order dilate, extend, cut."""
    n = x.shape[-1]
    spread = np.full((*x.shape[:-1], n + max(n - 1, 0) * interior), 7, x.dtype)
    spread[..., :: interior + 1] = x
    ends = [(0, 0)] * (x.ndim - 1) + [(max(low, 0), max(high, 0))]
    wide = np.pad(spread, ends, constant_values=7)
    return wide[..., max(-low, 0) : wide.shape[-1] - max(-high, 0)]


@pytest.mark.parametrize("interior", [0, 1, 2, 4])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 0), (0, 3), (-1, 2), (2, -3), (-2, -1)])
def test_pad_is_dilation_extension_and_cut(low: int, high: int, interior: int) -> None:
    seven = np.float32(7)
    for n in (3, 8):
        x = np.arange(2.0 * n, dtype=np.float32).reshape(2, n)
        config = ((0, 0, 0), (low, high, interior))
        expected = dilated(x, low, high, interior)
        np.testing.assert_array_equal(jax.lax.pad(x, seven, config), expected)
        total = jax.jit(lambda x, config=config: (jax.lax.pad(x, seven, config) + 1).sum(0))(x)
        np.testing.assert_array_equal(total, (expected + 1).sum(0))


@pytest.mark.parametrize("value", [0.0, -0.0, 7.0])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex64])
def test_what_is_padded_is_read_under_a_guard(dtype: type, value: float) -> None:
    x = np.arange(3 * 70).reshape(3, 70).astype(dtype)
    filler = np.array(value).astype(dtype)
    for low, high in ((1, 1), (0, 40), (33, 0), (-3, 20)):
        config = ((2, 1, 0), (low, high, 0))
        cut = x[:, max(-low, 0) :]
        expected = np.pad(cut, ((2, 1), (max(low, 0), high)), constant_values=filler)
        found = np.asarray(jax.jit(lambda x, c=config: jax.lax.pad(x, filler, c))(x))
        assert found.tobytes() == expected.tobytes()


def test_padded_views_and_padded_arrays_are_padded_again() -> None:
    x = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)

    @jax.jit
    def twice(x):
        once = jax.lax.pad(x.T[::-1], np.float32(7), [(1, 2, 0), (0, 3, 0)])
        return jax.lax.pad(once, np.float32(0), [(2, 1, 0), (1, -2, 0)])

    expected = np.pad(x.T[::-1], ((1, 2), (0, 3)), constant_values=7)
    np.testing.assert_array_equal(twice(x), np.pad(expected[:, :-2], ((2, 1), (1, 0))))


def test_padded_places_that_are_looked_up_stay_in_bounds() -> None:
    x, i = np.arange(100.0, dtype=np.float32), np.array([3, 99, 0], np.int32)
    padded = jax.jit(lambda x, i: jax.lax.pad(x[i], np.float32(-1), [(50, 50, 0)]))
    np.testing.assert_array_equal(padded(x, i), np.pad(x[i], 50, constant_values=-1))


def test_strides_of_numpy_leave_later_programs_alone() -> None:
    n = 977  # no other program has this extent, so that its type is made here
    first = slices.slice(np.arange(2.0 * n, dtype=np.float32), (0,), (2 * n,), (np.int64(2),))
    assert [type(extent) for extent in first.shape] == [int]
    np.testing.assert_array_equal(jax.numpy.sin(first), jax.numpy.sin(np.asarray(first)))
