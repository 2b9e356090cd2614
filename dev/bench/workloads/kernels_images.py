"""Images: small windows, colours, and vectors of three numbers."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload()
def edges(jax: Any):
    """Length and direction of the gradient of an image of 480 x 640, by a convolution."""
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float32)
    kernels = np.stack([kernel, kernel.T])[:, None]

    def f(image):
        x, y = jax.lax.conv(image[None, None], kernels, (1, 1), "SAME")[0]
        return jax.numpy.hypot(x, y), jax.numpy.arctan2(y, x)

    return jax.jit(f), tuple(arrays(jax, (480, 640), scale=1.0))


@workload()
def morphology(jax: Any):
    """Opening of an image of 480 x 640 by a square of 5 x 5."""

    def widest(x):
        most, around = jax.lax.max, (5, 5)
        return jax.lax.reduce_window(x, -np.inf, most, around, (1, 1), "SAME")

    return jax.jit(lambda image: widest(-widest(-image))), tuple(arrays(jax, (480, 640), scale=1.0))


@workload()
def colours(jax: Any):
    """Hue, saturation and value of an image of 480 x 640."""
    jnp = jax.numpy

    def f(image):
        r, g, b = image[..., 0], image[..., 1], image[..., 2]
        most = image.max(-1)
        spread = most - image.min(-1) + 1e-9
        low = jnp.where(most == g, (b - r) / spread + 2, (r - g) / spread + 4)
        hue = jnp.where(most == r, (g - b) / spread % 6, low) / 6
        return jnp.stack([hue, spread / (most + 1e-9), most], -1)

    return jax.jit(lambda x: f(x * x)), tuple(arrays(jax, (480, 640, 3), scale=1.0))
