"""einops under jit and vmap."""

import jax
import jax.numpy as jnp
from einops import rearrange, reduce


@jax.jit
def patch_norms(image):
    return reduce(
        rearrange(image, "(h p) (w q) -> h w (p q)", p=2, q=2) ** 2, "h w k -> h w", "sum"
    )


images = jnp.sin(jnp.arange(3 * 4 * 4, dtype=jnp.float32)).reshape(3, 4, 4)
NUMBERS = {"norms": jax.vmap(patch_norms)(images)}
