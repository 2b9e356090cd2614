"""dm_pix: measures of similarity and their gradients."""

import dm_pix as pix
import jax
import jax.numpy as jnp

a = (jnp.sin(jnp.arange(16 * 16 * 3.0)) * 0.5 + 0.5).reshape(16, 16, 3)
b = jnp.clip(a + 0.1 * jnp.cos(jnp.arange(16 * 16 * 3.0)).reshape(a.shape), 0, 1)
gradient = jax.grad(lambda x: pix.ssim(x, b, filter_size=5))(a)
NUMBERS = {
    "psnr": pix.psnr(a, b),
    "ssim": pix.ssim(a, b, filter_size=5),
    "mae": pix.mae(a, b),
    "rmse": pix.rmse(a, b),
    "simse": pix.simse(a, b),
    "ssim gradient": gradient[4, :5],
    "psnr gradient": jax.grad(lambda x: pix.psnr(x, b))(a)[3, :5],
}
