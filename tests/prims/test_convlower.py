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


@pytest.mark.parametrize("stride", [1, 2])
def test_small_windows_are_written_out_and_choose_nothing(stride: int) -> None:
    image = np.random.default_rng(0).normal(size=(40, 50)).astype(np.float32)
    k = np.arange(9, dtype=np.float32).reshape(3, 3)

    @jax.jit
    def filtered(image, k):
        images, kernels = image[None, None], k[None, None]
        return jax.lax.conv_general_dilated(images, kernels, (stride, stride), ((1, 1), (1, 1)))

    around = np.pad(image, 1)
    expected = sum(k[i, j] * around[i : i + 40, j : j + 50] for i in range(3) for j in range(3))
    got = filtered(image, k)[0, 0]
    np.testing.assert_allclose(got, expected[::stride, ::stride], atol=1e-4)
    texts = [kernel.kernel.text for kernel in jax.inspect(filtered)(image, k).kernels]
    assert not any("select" in text or "r1 <" in text for text in texts)
