"""haiku: convolutions with batch normalization and dropout, and gradients through them."""

import haiku as hk
import jax
import jax.numpy as jnp


def network(x, train):
    x = hk.Conv2D(4, 3)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, train)
    x = hk.avg_pool(jax.nn.relu(x), 2, 2, "VALID").reshape(x.shape[0], -1)
    if train:
        x = hk.dropout(hk.next_rng_key(), 0.25, x)
    return hk.Linear(3)(x)


model = hk.transform_with_state(network)
images = jnp.sin(jnp.arange(2 * 6 * 6.0)).reshape(2, 6, 6, 1)
params, state = model.init(jax.random.key(1), images, True)


def loss(params, state, key):
    out, state = model.apply(params, state, key, images, True)
    return (out**2).mean(), state


(value, state), gradient = jax.jit(jax.value_and_grad(loss, has_aux=True))(
    params, state, jax.random.key(2)
)
NUMBERS = {
    "value": value,
    "gradient": gradient["conv2_d"]["w"],
    "state": state["batch_norm/~/mean_ema"],
    "evaluated": model.apply(params, state, None, images, False)[0],
}
