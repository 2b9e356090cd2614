"""Convolutions in strips: layouts, tails, padding, phases of holes, groups, and what is copied."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.target import host_target
from tapeless.prims import convstrips
from tests.prims.test_convblocks import in_layout, reference

HAS_STRIPS = host_target().registers is not None
LAYOUTS = {
    "channels last": ("NHWC", "HWIO", "NHWC"),
    "space last": ("NCHW", "OIHW", "NCHW"),
    "to channels last": ("NHWC", "OIHW", "NCHW"),
}
PLAIN = (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)
CASES = {
    "plain": ((2, 8, 21, 34), (20, 8, 3, 3), *PLAIN),
    "padded": ((3, 8, 17, 32), (16, 8, 3, 5), (1, 1), ((1, 1), (2, 2)), (1, 1), (1, 1)),
    "strides": ((3, 8, 27, 35), (33, 8, 3, 4), (2, 3), ((1, 3), (2, 0)), (1, 1), (1, 1)),
    "wide strides": ((2, 3, 19, 130), (20, 3, 7, 7), (2, 2), ((2, 3), (2, 3)), (1, 1), (1, 1)),
    "strides, apart": ((2, 4, 20, 97), (5, 4, 2, 3), (1, 2), ((0, 0), (-1, 4)), (1, 1), (2, 3)),
    "strides far outside": (
        (2, 4, 20, 130),
        (5, 4, 2, 4),
        (1, 3),
        ((0, 0), (9, 5)),
        (1, 1),
        (1, 1),
    ),
    "apart": ((3, 8, 27, 42), (40, 8, 3, 4), (1, 1), ((2, 2), (3, 3)), (1, 1), (2, 3)),
    "cut": ((3, 8, 17, 35), (16, 8, 3, 5), (1, 1), ((-1, 2), (3, -4)), (1, 1), (1, 1)),
    "holes": ((3, 8, 17, 15), (16, 8, 3, 5), (1, 1), ((1, 2), (3, 0)), (2, 3), (1, 1)),
    "holes apart": ((3, 8, 17, 15), (16, 8, 3, 5), (1, 1), ((1, 2), (3, 0)), (2, 3), (2, 1)),
    "more holes than window": ((2, 8, 17, 15), (16, 8, 2, 5), *PLAIN[:2], (3, 1), (1, 1)),
    "holes, few features": (
        (2, 8, 16, 17),
        (3, 8, 3, 4),
        (1, 1),
        ((1, 2), (2, 1)),
        (2, 2),
        (1, 1),
    ),
    "holes, joined phases": (
        (2, 8, 12, 35),
        (3, 8, 7, 7),
        (1, 1),
        ((4, 3), (4, 3)),
        (2, 2),
        (1, 1),
    ),
    "one feature": ((2, 8, 17, 34), (1, 8, 3, 3), *PLAIN),
    "far outside": ((2, 8, 12, 32), (16, 8, 3, 3), (1, 1), ((9, 8), (1, 6)), (1, 1), (1, 1)),
}


def is_in_strips(f, *args) -> bool:
    """Tell whether a compiled function calls a strip."""
    kernels = jax.inspect(f)(*args).kernels
    return any("strips:" in kernel.kernel.text for kernel in kernels)


def compare(x, k, options, specs, groups=1, tolerance=1e-5) -> bool:
    """Compare a convolution with NumPy's, and tell whether it was computed in strips."""
    letters = "NCDHW" if x.ndim == 5 else "NCHW"
    parts = zip(np.split(x, groups, 1), np.split(k, groups, 0), strict=True)
    expected = np.concatenate([reference(*part, *options) for part in parts], 1)
    expected = in_layout(expected, specs[2], letters)
    images, kernels = in_layout(x, specs[0], letters), in_layout(k, specs[1], "OI" + letters[2:])

    @jax.jit
    def convolve(x, k):
        named = {"dimension_numbers": specs, "feature_group_count": groups}
        return jax.lax.conv_general_dilated(x, k, *options, **named)

    got = np.asarray(convolve(images, kernels), np.float64)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    return is_in_strips(convolve, images, kernels)


def draws(*shapes, dtype=np.float32):
    """Draw normal numbers."""
    draw = np.random.default_rng(0)
    return [draw.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Make blocks so small that images have several."""
    monkeypatch.setattr(convstrips, "BLOCK", 1 << 14)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_convolutions_in_strips_equal_sums_over_windows(case, layout):
    x_shape, k_shape, *options = CASES[case]
    in_strips = compare(*draws(x_shape, k_shape), options, LAYOUTS[layout])
    fits = max(options[2]) > 1 or x_shape[3] >= 32 * options[0][1]
    assert in_strips == (HAS_STRIPS and (layout != "space last" or fits))


@pytest.mark.parametrize("layout", ["channels last", "space last"])
def test_groups_have_kernels_of_their_own(layout):
    x, k = draws((2, 12, 14, 32), (30, 4, 3, 3))
    options = (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1)
    assert compare(x, k, options, LAYOUTS[layout], groups=3) == HAS_STRIPS


@pytest.mark.parametrize("window", [1, 2])
def test_windows_that_share_nothing_are_left_to_blas(window):
    x, k = draws((2, 12, 14, 64), (30, 12, window, window))
    options = (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1)
    assert not compare(x, k, options, LAYOUTS["space last"])


def test_strided_groups_have_kernels_of_their_own():
    x, k = draws((2, 12, 14, 64), (30, 4, 3, 3))
    options = (2, 2), ((1, 1), (1, 1)), (1, 1), (1, 1)
    assert compare(x, k, options, LAYOUTS["space last"], groups=3) == HAS_STRIPS


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float16, 1e-3)])
def test_other_dtypes(dtype, tolerance):
    x, k = draws((2, 6, 14, 32), (16, 6, 3, 3), dtype=dtype)
    options = (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1)
    with jax.enable_x64(True):
        assert compare(x, k, options, LAYOUTS["channels last"], 1, tolerance) == HAS_STRIPS
