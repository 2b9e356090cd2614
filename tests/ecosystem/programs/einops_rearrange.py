"""einops: its tutorial's operations on images."""

import jax.numpy as jnp
from einops import pack, rearrange, reduce, repeat

images = jnp.arange(2 * 4 * 6 * 3, dtype=jnp.float32).reshape(2, 4, 6, 3) % 7.0
NUMBERS = {
    "joined": rearrange(images, "b h w c -> h (b w) c"),
    "patches": rearrange(images, "b (h p) (w q) c -> (b h w) (p q c)", p=2, q=3),
    "pooled": reduce(images, "b (h p) (w q) c -> b h w c", "max", p=2, q=2),
    "mean": reduce(images, "b h w c -> b c", "mean"),
    "repeated": repeat(images[0, :, :, 0], "h w -> h (w k)", k=2),
    "packed": pack([images[0], images[1, ..., 0]], "h w *")[0],
}
