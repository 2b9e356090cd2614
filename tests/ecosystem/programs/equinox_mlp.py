"""equinox: the first example of its guide: a module, filtered jit and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __init__(self, size_in, size_out, key):
        first, second = jax.random.split(key)
        self.weight = jax.random.normal(first, (size_out, size_in))
        self.bias = jax.random.normal(second, (size_out,))

    def __call__(self, x):
        return self.weight @ x + self.bias


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


x, y = jnp.sin(jnp.arange(12.0)).reshape(4, 3), jnp.cos(jnp.arange(8.0)).reshape(4, 2)
model = Linear(3, 2, jax.random.key(0))
network = eqx.nn.MLP(3, 2, 8, 2, key=jax.random.key(1))
losses = []
for _ in range(5):
    value, gradient = loss(model, x, y)
    model = eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, gradient))
    losses.append(value)
value, gradient = loss(network, x, y)
NUMBERS = {
    "losses": losses,
    "weight": model.weight,
    "network": [value, gradient.layers[0].weight, gradient.layers[-1].bias],
    "changed": eqx.tree_at(lambda m: m.bias, model, jnp.zeros(2)).bias,
    "equal": bool(eqx.tree_equal(model, model)),
}
