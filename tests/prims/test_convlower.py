"""Which way convolutions are computed: folds, strips, or products by BLAS."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.target import host_target

LAYOUT = ("NHWC", "HWIO", "NHWC")
WAYS = {
    "small": ((1, 6, 6, 4), (3, 3, 4, 8), 1, ""),
    "few channels": ((2, 40, 40, 1), (3, 1, 1, 16), 1, ""),
    "in strips": ((2, 20, 20, 8), (3, 3, 8, 16), 1, "strips:"),
    "groups in strips": ((2, 20, 20, 16), (3, 3, 8, 16), 2, "strips:"),
    "few features": ((2, 20, 20, 8), (3, 3, 8, 6), 1, "gemm"),
    "groups of few features": ((2, 20, 20, 16), (3, 3, 8, 10), 2, "gemm"),
}


@pytest.mark.parametrize("way", WAYS)
def test_sizes_decide_how_a_convolution_is_computed(way):
    x_shape, k_shape, groups, routine = WAYS[way]
    if routine == "strips:" and host_target().registers is None:
        pytest.skip("this processor has no instruction that multiplies and adds")
    x, k = np.ones(x_shape, np.float32), np.ones(k_shape, np.float32)

    @jax.jit
    def convolve(x, k):
        named = {"dimension_numbers": LAYOUT, "feature_group_count": groups}
        return jax.lax.conv_general_dilated(x, k, (1, 1), "VALID", **named)

    texts = [kernel.kernel.text for kernel in jax.inspect(convolve)(x, k).kernels]
    called = {name for name in ("strips:", "gemm") if any(name in text for text in texts)}
    assert called == ({routine} if routine else set())
    np.testing.assert_array_equal(convolve(x, k), np.prod(k_shape[:3]))
