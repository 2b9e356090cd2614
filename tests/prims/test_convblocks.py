"""Convolutions in blocks: every layout of patches, with tails, holes, padding and cuts."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import convblocks, convlower

LAYOUTS = {
    "channels last": ("NHWC", "HWIO", "NHWC"),
    "space last": ("NCHW", "OIHW", "NCHW"),
    "images last": ("CHWN", "IHWO", "HWNC"),
}
CASES = {
    "plain": ((2, 8, 13, 15), (16, 8, 3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "padded": ((3, 8, 17, 15), (16, 8, 3, 5), (2, 3), ((1, 1), (2, 2)), (1, 1), (1, 1)),
    "holes": ((3, 8, 17, 15), (16, 8, 3, 5), (1, 2), ((1, 2), (3, 0)), (2, 3), (2, 1)),
    "cut": ((3, 8, 17, 15), (16, 8, 3, 5), (1, 1), ((-1, 2), (3, -4)), (2, 1), (1, 1)),
    "large window": ((16, 7, 37, 20), (8, 7, 35, 18), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
}


def in_layout(x: np.ndarray, spec: str, letters: str) -> np.ndarray:
    """Return an array whose axes are `letters` with its axes in the order of `spec`."""
    return np.ascontiguousarray(x.transpose([letters.index(letter) for letter in spec]))


def reference(x, k, strides, padding, lhs_dilation, rhs_dilation) -> np.ndarray:
    """Convolve by NumPy.  x: (n, c, h, w), k: (o, c, p, q) -> (n, o, i, j)"""
    sizes = [(n - 1) * step + 1 for n, step in zip(x.shape[2:], lhs_dilation, strict=True)]
    holes = np.zeros((*x.shape[:2], *sizes))
    holes[:, :, :: lhs_dilation[0], :: lhs_dilation[1]] = x
    for axis, (low, high) in enumerate(padding, 2):
        width = [(0, 0)] * 4
        width[axis] = (max(low, 0), max(high, 0))
        holes = np.pad(holes, width)
        cut = slice(max(-low, 0), holes.shape[axis] - max(-high, 0))
        holes = holes[(slice(None),) * axis + (cut,)]
    spans = [(n - 1) * step + 1 for n, step in zip(k.shape[2:], rhs_dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(holes, spans, (2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1], :: rhs_dilation[0], :: rhs_dilation[1]]
    return np.einsum("ncijpq,ocpq->noij", windows, k, optimize=True)


@pytest.fixture(autouse=True)
def no_strips(monkeypatch):
    """Let blocks have what strips would take."""
    monkeypatch.setattr(convlower, "strips_order", lambda *args: None)
    monkeypatch.setattr(convlower, "pays_in_sums", lambda *args: False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_convolutions_in_blocks_equal_sums_over_windows(case, layout, monkeypatch):
    # Blocks are so small that there are several, and one that is left over.
    monkeypatch.setattr(convblocks, "BLOCK", 1 << 15)
    monkeypatch.setattr(convblocks, "FEWEST_PLACES", 8)
    x_shape, k_shape, *options = CASES[case]
    draw = np.random.default_rng(0)
    x, k = (draw.normal(size=shape).astype(np.float32) for shape in (x_shape, k_shape))
    specs = LAYOUTS[layout]
    images, kernels = in_layout(x, specs[0], "NCHW"), in_layout(k, specs[1], "OIHW")
    expected = in_layout(reference(x, k, *options), specs[2], "NCHW")

    def convolve(x, k):
        return jax.lax.conv_general_dilated(x, k, *options, dimension_numbers=specs)

    got = jax.jit(convolve)(images, kernels)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_blocks_are_of_about_the_same_size():
    assert convblocks._block_rows(56, convblocks.BLOCK // 10, 1) == 10
    assert convblocks._block_rows(11, convblocks.BLOCK // 10, 1) == 6
    assert convblocks._block_rows(56, 2 * convblocks.BLOCK, 3) == 3
