"""Convolutions obey the laws of `tests/support/harness.py`, by folds and by matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.prims import conv, convforms
from tests.support.harness import laws
from tests.support.records import Record, normal

FIXED = {"empty": "the channels of images and kernels go together"}
BLAS = ("float64", "float32", "complex64")


def convolve(*options, **more) -> object:
    """Return the convolution with fixed parameters."""
    return lambda x, k: conv.conv_general_dilated(x, k, *options, **more)


def record(name, call, x, k, dtypes=("float32",), **options) -> Record:
    """Return the record of a convolution of images and kernels of these shapes."""
    return Record(name, call, (normal(*x), normal(*k)), dtypes, FIXED, ulps=512, **options)


HOLES = ((2,), ((1, 2),), (2,), (2,), ("NHC", "HIO", "NHC"))
RECORDS = [
    record("line", convolve((1,), "SAME"), (2, 3, 5), (4, 3, 3), ("float32", "bfloat16", "int32")),
    record("holes", convolve(*HOLES), (2, 5, 3), (2, 3, 4)),
    record("channel-groups", convolve((1,), "VALID", feature_group_count=2), (2, 4, 5), (6, 2, 3)),
    record("image-groups", convolve((1,), "VALID", batch_group_count=2), (4, 2, 5), (6, 2, 3)),
    record("matrix", convolve((1, 1), "SAME"), (2, 4, 12, 12), (8, 4, 3, 3), BLAS),
    record(
        "matrix-groups",
        convolve((2, 1), "SAME", feature_group_count=2),
        (2, 8, 24, 12),
        (8, 4, 3, 3),
        BLAS,
    ),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed_convolution_undoes_the_shape(padding):
    x, k = np.ones((1, 4, 2), np.float32), np.ones((3, 2, 5), np.float32)
    out = convforms.conv_transpose(x, k, (2,), padding)
    assert out.shape == (1, 8 if padding == "SAME" else 9, 5)


def test_wrong_groups_and_layouts_are_refused():
    x, k = np.ones((2, 3, 5), np.float32), np.ones((4, 2, 3), np.float32)
    with pytest.raises(ValueError, match="lhs feature dimension size divided by"):
        conv.conv_general_dilated(x, k, (1,), "SAME")
    with pytest.raises(ValueError, match="At most one of batch_group_count and"):
        convolve((1,), "SAME", feature_group_count=2, batch_group_count=2)(x, k)
    with pytest.raises(TypeError, match="dimension_numbers list/tuple must be length 3, got 2"):
        conv.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NCH", "OIH"))


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "valid"])
def test_images_with_holes_want_their_padding_in_numbers(padding):
    """How far a name would pad is told of images without holes only."""
    x, k = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 2, 2), np.float32)
    assert convolve((1, 1), padding, lhs_dilation=(1, 1))(x, k).shape[:2] == (1, 1)
    with pytest.raises(ValueError, match="String padding is not implemented for transposed"):
        convolve((1, 1), padding, lhs_dilation=(1, 2))(x, k)


@pytest.mark.parametrize(
    ("extent", "holes", "pair", "count"),
    [
        (1, 1, (-1, -1), None),
        (1, 3, (-2, 0), None),
        (0, 1, (1, -2), None),
        (1, 1, (-2, 1), 0),
        (0, 2, (-1, 1), 0),
        (2, 2, (-1, -1), 1),
    ],
)
def test_negative_padding_takes_away_at_most_what_is_there(extent, holes, pair, count):
    x, k = np.ones((1, 1, extent), np.float32), np.ones((1, 1, 1), np.float32)
    program = convolve((1,), [pair], lhs_dilation=(holes,))
    if count is not None:
        assert program(x, k).shape == (1, 1, count)
        return
    with pytest.raises(ValueError, match="Negative padding is larger than the size of"):
        program(x, k)


@pytest.mark.parametrize(
    ("dtype", "preferred", "text"),
    [
        ("complex64", "float32", "Input type is incompatible"),
        ("float32", "int32", "Input type is incompatible"),
        ("int32", "float16", "must not be narrower"),
        ("float32", "bfloat16", "must not be narrower"),
        ("int8", "uint32", "must have the same signedness"),
    ],
)
def test_preferred_dtypes_are_as_wide_and_of_the_same_kind(dtype, preferred, text):
    x = np.ones((1, 1, 3), dtype)
    with pytest.raises(TypeError, match=text):
        convolve((1,), "VALID", preferred_element_type=preferred)(x, x)
    assert convolve((1,), "VALID")(x, x).dtype == dtype


@pytest.mark.parametrize("channels", [1, 12])
@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        ("int8", "int32"),
        ("uint8", "uint32"),
        ("int16", "float32"),
        ("int8", "float16"),
        ("bool", "int32"),
        ("bool", "float32"),
        ("bool", "complex64"),
    ],
)
def test_sums_have_the_range_of_the_preferred_dtype(dtype, preferred, channels):
    generator = np.random.default_rng(0)
    shapes = ((2, channels, 9, 9), (8, channels, 3, 3))
    x, k = (generator.integers(0, 20, shape).astype(dtype) for shape in shapes)
    found = convolve((1, 1), "VALID", preferred_element_type=preferred)(x, k)
    wide = convolve((1, 1), "VALID")(x.astype("float64"), k.astype("float64"))
    assert found.dtype == preferred
    np.testing.assert_allclose(found.astype(complex), wide, rtol=1e-3)
