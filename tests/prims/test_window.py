"""Windowed reductions obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import window
from tests.support.harness import laws
from tests.support.records import FLOATS, Record, fixed, normal

DISTINCT = fixed(np.random.default_rng(0).permutation(20).reshape(4, 5) / 8)
GROWS = {"empty": "the windows reach into the padding"}


def slide(function, *options) -> object:
    """Return the reduction with fixed windows."""
    return lambda x: function(x, *options)


VALID = ((2, 2), (1, 2), "VALID")
SAME = ((2, 3), (2, 1), "SAME")
HOLES = ((2, 3), (2, 1), ((1, 0), (2, 1)), (2, 1), (1, 2))
NO_VJP = {
    "transpose": "the transpose is not defined for dilations",
    "second": "the transpose is not defined for dilations",
}
RECORDS = [
    Record("sum", slide(window.reduce_window_sum, *VALID), (normal(4, 5),), FLOATS, ulps=16),
    Record("sum-same", slide(window.reduce_window_sum, *SAME), (normal(4, 5),), FLOATS, ulps=16),
    Record(
        "sum-holes",
        slide(window.reduce_window_sum, *HOLES),
        (normal(4, 5),),
        without=GROWS,
        ulps=16,
    ),
    Record("max", slide(window.reduce_window_max, *VALID), (DISTINCT,), (*FLOATS, "int32")),
    Record("max-same", slide(window.reduce_window_max, *SAME), (DISTINCT,)),
    Record(
        "max-holes",
        slide(window.reduce_window_max, *HOLES),
        (DISTINCT,),
        without=GROWS | NO_VJP,
    ),
    Record("min", slide(window.reduce_window_min, *SAME), (DISTINCT,), (*FLOATS, "int32")),
]
globals().update(laws(RECORDS))


def test_gradient_goes_to_the_first_of_equal_elements():
    f = slide(window.reduce_window_max, (2,), (2,), "VALID")
    _, pullback = jax.vjp(f, np.array([1, 1, 0, 2], np.float32))
    np.testing.assert_array_equal([3, 0, 0, 4], pullback(np.array([3, 4], np.float32))[0])


def test_transposing_dilated_windows_is_refused():
    f = slide(window.reduce_window_max, (2,), (1,), "VALID", None, (2,))
    x = np.arange(4, dtype=np.float32)
    with pytest.raises(NotImplementedError, match="with window dilation, got window_dilation"):
        jax.vjp(f, x)[1](f(x))


@pytest.mark.parametrize(
    ("padding", "expected"),
    [("SAME", [(0, 1)]), ("SAME_LOWER", [(1, 0)]), ("VALID", [(0, 0)])],
)
def test_padding_by_name(padding, expected):
    assert window.padtype_to_pads((5,), (2,), (1,), padding) == expected


def test_padding_by_name_does_not_count_the_holes():
    x = np.ones((4, 5), np.float32)
    y = jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 1), (2, 1), "SAME", base_dilation=(2, 2))
    assert y.shape == (3, 9)  # not (4, 9)


def test_wrong_windows_are_refused():
    x = np.ones((3, 4), np.float32)
    with pytest.raises(TypeError, match="got the wrong number of window_dimensions for operand"):
        window.reduce_window_sum(x, (2,), None, "VALID")
    with pytest.raises(RuntimeError, match="padding type"):
        window.reduce_window_sum(x, (2, 2), (1, 1), "FOO")


@pytest.mark.parametrize("name", ["window_dimensions", "window_strides", "window_dilation"])
def test_windows_without_extent_are_refused(name: str) -> None:
    options = {"window_dimensions": (2, 2), "window_strides": (1, 1), "padding": "VALID"}
    options[name] = (0, 2)
    with pytest.raises(TypeError, match=f"{name} must have every element be strictly positive"):
        jax.lax.reduce_window(np.ones((3, 4), np.float32), 0.0, jax.lax.add, **options)


def test_names_of_paddings_are_checked() -> None:
    with pytest.raises(RuntimeError, match="expected 'VALID', 'SAME', or 'SAME_LOWER', got FOO"):
        jax.lax.reduce_window(np.ones(3, np.float32), 0.0, jax.lax.add, (2,), (1,), "FOO")
