"""dm_pix: colours, blurs, flips and crops of an image."""

import dm_pix as pix
import jax
import jax.numpy as jnp

image = (jnp.sin(jnp.arange(8 * 8 * 3.0)) * 0.5 + 0.5).reshape(8, 8, 3)
key = jax.random.key(0)
NUMBERS = {
    "brightness": pix.adjust_brightness(image, 0.2)[2],
    "contrast": pix.adjust_contrast(image, 1.5)[2],
    "saturation": pix.adjust_saturation(image, 0.5)[2],
    "hue": pix.adjust_hue(image, 0.1)[2],
    "gray": pix.rgb_to_grayscale(image)[2],
    "blur": pix.gaussian_blur(image, 1.0, 3)[2],
    "flip": pix.flip_left_right(image)[0],
    "random flip": pix.random_flip_up_down(key, image)[0],
    "crop": pix.random_crop(key, image, (4, 4, 3))[0],
    "space": pix.depth_to_space(image.reshape(8, 8, 3)[:, :, :1].repeat(4, 2), 2)[0],
    "rotated": pix.rotate(image, 0.3)[4],
    "elastic": pix.elastic_deformation(key, image, alpha=2.0, sigma=1.0)[3],
}
