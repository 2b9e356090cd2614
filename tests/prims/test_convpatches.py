"""Patches of images, and convolutions whose kernels differ by place."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.prims import conv, convpatches

GENERATOR = np.random.default_rng(0)
LAST = ("NHWC", "HWIO", "NHWC")


def draw(*shape: int) -> np.ndarray:
    """Return random numbers."""
    return GENERATOR.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("layout", [None, LAST])
def test_patches_times_kernels_are_the_convolution(layout):
    x = draw(2, 3, 6, 5) if layout is None else draw(2, 6, 5, 3)
    k = draw(4, 3, 2, 3) if layout is None else draw(2, 3, 3, 4)
    patches = convpatches.conv_general_dilated_patches(
        x, (2, 3), (1, 2), "SAME", dimension_numbers=layout
    )
    expected = conv.conv_general_dilated(x, k, (1, 2), "SAME", dimension_numbers=layout)
    if layout is None:
        found = np.einsum("npij,op->noij", patches, k.reshape(4, -1))
    else:
        found = np.einsum("nijp,po->nijo", patches, np.moveaxis(k, 2, 0).reshape(-1, 4))
    np.testing.assert_allclose(expected, found, rtol=1e-4, atol=1e-5)


def test_equal_kernels_everywhere_are_the_convolution():
    x, k = draw(2, 3, 6, 5), draw(4, 3, 2, 3)
    local = np.broadcast_to(k.reshape(4, 18, 1, 1), (4, 18, 5, 3))
    found = convpatches.conv_general_dilated_local(x, local, (1, 1), "VALID", (2, 3))
    expected = conv.conv_general_dilated(x, k, (1, 1), "VALID")
    np.testing.assert_allclose(expected, found, rtol=1e-4, atol=1e-5)
