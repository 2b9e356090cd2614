"""Convolutions with windows larger than the result: layouts, tails, padding, steps, chunks."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.target import host_target
from tapeless.prims import convsums
from tests.prims.test_convblocks import in_layout, reference

HAS_STRIPS = host_target().registers is not None
LAYOUTS = {
    "plain": ("NCHW", "OIHW", "NCHW"),
    "gradient": ("CNHW", "IOHW", "CNHW"),
    "to channels last": ("NCHW", "OIHW", "NHWC"),
    "rows first": ("HNCW", "OHIW", "NCHW"),
}
PLAIN = (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)
CASES = {
    "plain": ((16, 3, 20, 26), (32, 3, 18, 24), *PLAIN),
    "padded": ((14, 5, 17, 15), (16, 5, 17, 15), (1, 1), ((1, 1), (2, 1)), (1, 1), (1, 1)),
    "strides": ((9, 4, 21, 26), (24, 4, 17, 20), (2, 3), ((0, 0), (1, 0)), (1, 1), (1, 1)),
    "apart": ((30, 3, 27, 32), (33, 3, 13, 15), (1, 1), ((0, 1), (1, 2)), (1, 1), (2, 2)),
    "cut": ((20, 3, 24, 25), (40, 3, 19, 16), (1, 1), ((-1, 0), (0, -4)), (1, 1), (1, 1)),
    "odd sizes": ((13, 7, 19, 11), (11, 7, 17, 9), *PLAIN),
    "one place": ((32, 20, 16, 16), (32, 20, 16, 16), *PLAIN),
}


def calls(f, *args) -> bool:
    """Tell whether a compiled function calls a strip that adds to sums."""
    kernels = jax.inspect(f)(*args).kernels
    return any(":adds" in kernel.kernel.text for kernel in kernels)


@pytest.mark.parametrize("small", [False, True], ids=["one block", "small blocks"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_results_equal_sums_over_windows(case, layout, small, monkeypatch):
    if small:
        monkeypatch.setattr(convsums, "PANEL", 1 << 12)
        monkeypatch.setattr(convsums, "MOST_SUMS", 1 << 16)
    draw = np.random.default_rng(0)
    x_shape, k_shape, *options = CASES[case]
    x, k = (draw.normal(size=shape).astype(np.float32) for shape in (x_shape, k_shape))
    specs = LAYOUTS[layout]
    expected = in_layout(reference(x, k, *options), specs[2], "NCHW")

    @jax.jit
    def convolve(x, k):
        return jax.lax.conv_general_dilated(x, k, *options, dimension_numbers=specs)

    images, kernels = in_layout(x, specs[0], "NCHW"), in_layout(k, specs[1], "OIHW")
    np.testing.assert_allclose(
        convolve(images, kernels), expected, rtol=0, atol=1e-5 * np.abs(expected).max()
    )
    assert calls(convolve, images, kernels) == HAS_STRIPS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_by_weights(dtype):
    draw = np.random.default_rng(0)
    with jax.enable_x64(True):
        x, w = (draw.normal(size=shape).astype(dtype) for shape in ((3, 9, 30), (12, 9, 5)))
        ct = draw.normal(size=(3, 12, 30)).astype(dtype)

        @jax.jit
        def gradient(x, w, ct):
            return jax.vjp(lambda w: jax.lax.conv(x, w, (1,), "SAME"), w)[1](ct)[0]

        padded = np.pad(x, ((0, 0), (0, 0), (2, 2)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 30, 2)
        expected = np.einsum("nipt,not->oip", windows, ct)
        tolerance = 1e-5 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(gradient(x, w, ct), expected, rtol=tolerance, atol=tolerance)
        assert calls(gradient, x, w, ct) == HAS_STRIPS


def test_many_features_have_fewer_chunks():
    sizes = {}
    for n in (16, 512):
        x, k = jax.numpy.ones((n, 32, 16, 16)), jax.numpy.ones((n, 32, 14, 14))
        memory = jax.jit(lambda x, k: jax.lax.conv(x, k, (1, 1), "VALID")).lower(x, k).compile()
        sizes[n] = memory.memory_analysis().temp_size_in_bytes
    if HAS_STRIPS:
        assert sizes[512] <= 2 * convsums.MOST_SUMS
        assert sizes[16] >= 16 * 9 * 16 * 16 * 4
