"""dm_pix: a batch of images through random changes under jit and vmap."""

import dm_pix as pix
import jax
import jax.numpy as jnp


def change(key, image):
    first, second, third = jax.random.split(key, 3)
    image = pix.random_brightness(first, image, 0.3)
    image = pix.random_contrast(second, image, 0.5, 1.5)
    image = pix.random_flip_left_right(third, image)
    image = pix.random_hue(first, image, 0.2)
    return pix.random_gamma(second, jnp.clip(image, 0.01, 1), min_gamma=0.5, max_gamma=1.5)


images = (jnp.sin(jnp.arange(3 * 6 * 6 * 3.0)) * 0.5 + 0.5).reshape(3, 6, 6, 3)
changed = jax.jit(jax.vmap(change))(jax.random.split(jax.random.key(7), 3), images)
shift = jax.jit(jax.vmap(lambda image, angle: pix.rotate(image, angle), in_axes=(0, 0)))
NUMBERS = {"changed": changed[:, 2], "rotated": shift(images, jnp.array([0.1, 0.5, 1.0]))[:, 3]}
