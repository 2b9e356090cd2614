"""haiku: the first steps of its guide: a transformed function, its parameters, and training."""

import haiku as hk
import jax
import jax.numpy as jnp


def network(x):
    return hk.nets.MLP([8, 8, 2], activation=jnp.tanh)(x)


model = hk.without_apply_rng(hk.transform(network))
x = jnp.sin(jnp.arange(12.0)).reshape(4, 3)
params = model.init(jax.random.key(0), x)


@jax.jit
def step(params):
    loss, gradient = jax.value_and_grad(lambda p: ((model.apply(p, x) - 1) ** 2).mean())(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), loss


losses = []
for _ in range(5):
    params, loss = step(params)
    losses.append(loss)
NUMBERS = {
    "losses": losses,
    "out": model.apply(params, x),
    "names": sorted(params),
    "size": hk.data_structures.tree_size(params),
}
