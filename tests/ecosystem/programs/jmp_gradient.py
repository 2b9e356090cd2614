"""jmp: a gradient in half precision with a scaled loss."""

import jax
import jax.numpy as jnp
import jmp

policy = jmp.get_policy("params=float32,compute=float16,output=float32")
scale = jmp.StaticLossScale(1024.0)


def loss(w, x):
    w, x = policy.cast_to_compute((w, x))
    return scale.scale(policy.cast_to_output(jnp.tanh(x @ w)).mean())


w, x = jnp.linspace(-1, 1, 4), jnp.linspace(0, 1, 12).reshape(3, 4)
gradient = scale.unscale(jax.grad(loss)(w, x))
NUMBERS = {"gradient": gradient, "finite": jmp.all_finite({"g": gradient})}
