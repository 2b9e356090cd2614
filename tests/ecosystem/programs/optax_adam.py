"""optax: a small network fitted by adam with a schedule and clipping."""

import jax
import jax.numpy as jnp
import optax

x = jnp.linspace(-1.0, 1.4, 16)[:, None]
y = jnp.sin(3.0 * x)
k1, k2 = jax.random.split(jax.random.key(0))
params = {"w": jax.random.normal(k1, (1, 8)), "b": jnp.zeros(8), "v": jax.random.normal(k2, (8, 1))}
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-1, 5, 40)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))


def loss(params):
    return optax.l2_loss(jnp.tanh(x @ params["w"] + params["b"]) @ params["v"], y).mean()


@jax.jit
def step(params, state):
    value, gradient = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value


state = optimizer.init(params)
values = []
for _ in range(40):
    params, state, value = step(params, state)
    values.append(value)
NUMBERS = {"first": values[0], "last": values[-1], "params": params}
