"""Convolutions, their gradients, pooling and batch normalization."""

from collections.abc import Callable
from typing import Any

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []

NCHW = ("NCHW", "OIHW", "NCHW")
NHWC = ("NHWC", "HWIO", "NHWC")
IMAGES = {NCHW: (8, 32, 56, 56), NHWC: (8, 56, 56, 32)}
KERNELS = {NCHW: (64, 32, 3, 3), NHWC: (3, 3, 32, 64)}


def convolution(jax: Any, layout: tuple[str, str, str], **options: Any) -> Callable:
    """Return a convolution that keeps the size of its image."""

    def f(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=layout, **options
        )

    return f


def images(jax: Any, layout: tuple[str, str, str]) -> tuple:
    """Return eight images of 32 channels, 56x56, and 3x3 weights to 64 channels."""
    return tuple(arrays(jax, IMAGES[layout], KERNELS[layout]))


def gradient(jax: Any, layout: tuple[str, str, str], argument: int) -> Callable:
    """Return the gradient of the square of a convolution by one argument."""
    f = convolution(jax, layout)
    return jax.jit(jax.grad(lambda x, w: jax.numpy.sum(f(x, w) ** 2), argument))


@workload(family="conv2d")
def conv_nchw(jax: Any):
    """A 3x3 convolution of 8 images of 32 channels, 56x56, to 64 channels, channels first."""
    return jax.jit(convolution(jax, NCHW)), images(jax, NCHW)


@workload(family="conv2d")
def conv_nhwc(jax: Any):
    """The same, channels last."""
    return jax.jit(convolution(jax, NHWC)), images(jax, NHWC)


@workload(family="conv2d")
def conv_dilated(jax: Any):
    """The same, channels last, with weights that are two apart."""
    return jax.jit(convolution(jax, NHWC, rhs_dilation=(2, 2))), images(jax, NHWC)


@workload(family="conv2d")
def conv_depthwise(jax: Any):
    """A 3x3 convolution of each of 32 channels by itself, channels last."""
    f = convolution(jax, NHWC, feature_group_count=32)
    return jax.jit(f), tuple(arrays(jax, IMAGES[NHWC], (3, 3, 1, 32)))


@workload(family="conv2d")
def conv_groups(jax: Any):
    """A 3x3 convolution of four groups of 8 channels, each to 16, channels last."""
    f = convolution(jax, NHWC, feature_group_count=4)
    return jax.jit(f), tuple(arrays(jax, IMAGES[NHWC], (3, 3, 8, 64)))


@workload(family="conv2d gradients")
def conv_strided_grad_image(jax: Any):
    """Gradient of the square of a convolution that takes every second place by its images."""

    def f(x, w):
        y = jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=NHWC)
        return jax.numpy.sum(y**2)

    return jax.jit(jax.grad(f)), images(jax, NHWC)


@workload(family="conv2d gradients")
def conv_stem_grad_image(jax: Any):
    """Gradient of a 7x7 convolution of two images by every second place, by the images."""

    def f(x, w):
        y = jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=NCHW)
        return jax.numpy.sum(y**2)

    return jax.jit(jax.grad(f)), tuple(arrays(jax, (2, 3, 224, 224), (64, 3, 7, 7)))


@workload(family="conv2d gradients")
def conv_nchw_grad_image(jax: Any):
    """Gradient of the square of the convolution by its images, channels first."""
    return gradient(jax, NCHW, 0), images(jax, NCHW)


@workload(family="conv2d gradients")
def conv_nchw_grad_weights(jax: Any):
    """Gradient of the square of the convolution by its weights, channels first."""
    return gradient(jax, NCHW, 1), images(jax, NCHW)


@workload(family="conv2d gradients")
def conv_nhwc_grad_image(jax: Any):
    """Gradient of the square of the convolution by its images, channels last."""
    return gradient(jax, NHWC, 0), images(jax, NHWC)


@workload(family="conv2d gradients")
def conv_nhwc_grad_weights(jax: Any):
    """Gradient of the square of the convolution by its weights, channels last."""
    return gradient(jax, NHWC, 1), images(jax, NHWC)


@workload(family="conv1d")
def convolve_1d(jax: Any):
    """Convolve 10^5 floats with 101 weights."""
    f = jax.jit(lambda x, w: jax.numpy.convolve(x, w, mode="same"))
    return f, tuple(arrays(jax, (10**5,), (101,)))


@workload(family="conv1d")
def conv_1d_channels(jax: Any):
    """Convolve 16 sequences of 1,000 places, 32 channels, with 5 weights to 64 channels."""

    def f(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        )

    return jax.jit(f), tuple(arrays(jax, (16, 1000, 32), (5, 32, 64)))


@workload(family="pooling")
def max_pool(jax: Any):
    """Largest of each 2x2 window of 8 images of 64 channels, 56x56."""
    lax = jax.lax
    window = (1, 2, 2, 1)
    low = -jax.numpy.inf
    f = lambda x: lax.reduce_window(x, low, lax.max, window, window, "VALID")  # noqa: E731
    return jax.jit(f), tuple(arrays(jax, (8, 56, 56, 64)))


@workload(family="pooling")
def max_pool_gradient(jax: Any):
    """Gradient of the squares of the largest of each 2x2 window."""
    lax = jax.lax
    window = (1, 2, 2, 1)
    low = -jax.numpy.inf

    def f(x):
        return jax.numpy.sum(lax.reduce_window(x, low, lax.max, window, window, "VALID") ** 2)

    return jax.jit(jax.grad(f)), tuple(arrays(jax, (8, 56, 56, 64)))


@workload(family="pooling")
def average_pool_overlapping(jax: Any):
    """Sum of each 3x3 window, two apart, of 8 images of 64 channels, 56x56."""
    lax = jax.lax
    sizes, steps = (1, 3, 3, 1), (1, 2, 2, 1)
    f = lambda x: lax.reduce_window(x, 0.0, lax.add, sizes, steps, "SAME")  # noqa: E731
    return jax.jit(f), tuple(arrays(jax, (8, 56, 56, 64)))


def batch_norm(jax: Any) -> Callable:
    """Return batch normalization by channel.  x: (n, h, w, c), gain, bias: (c,)"""
    jnp = jax.numpy

    def f(x, gain, bias):
        mean = jnp.mean(x, axis=(0, 1, 2))
        variance = jnp.mean((x - mean) ** 2, axis=(0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias

    return f


@workload(family="batch norm")
def batch_norm_forward(jax: Any):
    """Batch normalization of 16 images of 64 channels, 28x28."""
    return jax.jit(batch_norm(jax)), tuple(arrays(jax, (16, 28, 28, 64), (64,), (64,)))


@workload(family="batch norm")
def batch_norm_gradient(jax: Any):
    """Its gradient by images, gains and biases."""
    f = batch_norm(jax)
    g = jax.grad(lambda *args: jax.numpy.sum(jax.numpy.tanh(f(*args))), (0, 1, 2))
    return jax.jit(g), tuple(arrays(jax, (16, 28, 28, 64), (64,), (64,)))
