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


@workload()
def crops(jax: Any):
    """Mirrored borders, a random crop, a random flip and contrast, of 32 images of 64 x 64."""
    jnp = jax.numpy

    def one(key, image):
        place, side, contrast = jax.random.split(key, 3)
        at = jax.random.randint(place, (2,), 0, 9)
        wide = jnp.pad(image, ((4, 4), (4, 4), (0, 0)), mode="reflect")
        image = jax.lax.dynamic_slice(wide, (at[0], at[1], 0), (64, 64, 3))
        image = jnp.where(jax.random.bernoulli(side), image[:, ::-1], image)
        mean = image.mean((0, 1), keepdims=True)
        scale = jax.random.uniform(contrast, (), minval=0.6, maxval=1.4)
        return (image - mean) * scale + mean

    keys = jax.random.split(jax.random.key(0), 32)
    return jax.jit(jax.vmap(one)), (keys, *arrays(jax, (32, 64, 64, 3), scale=1.0))
