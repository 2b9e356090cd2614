"""jmp: a policy of dtypes and loss scales."""

import jax.numpy as jnp
import jmp

policy = jmp.get_policy("params=float32,compute=float16,output=float32")
tree = {"w": jnp.linspace(0.0, 1.0, 5), "n": jnp.arange(3)}
half = policy.cast_to_compute(tree)
scale = jmp.DynamicLossScale(jnp.float32(2.0**10), period=2)
for finite in (True, True, False, True):
    scale = scale.adjust(jnp.array(finite))
NUMBERS = {
    "dtypes": [str(half["w"].dtype), str(half["n"].dtype)],
    "rounded": policy.cast_to_output(half)["w"],
    "scale": scale.loss_scale,
}
