"""flax.linen: the first steps of its guide: a module, its parameters, and a regression."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class MLP(nn.Module):
    features: tuple

    @nn.compact
    def __call__(self, x):
        for number, size in enumerate(self.features):
            x = nn.Dense(size)(x)
            if number != len(self.features) - 1:
                x = nn.relu(x)
        return nn.LayerNorm()(x)


model = MLP((12, 8, 4))
x = jnp.sin(jnp.arange(40.0)).reshape(4, 10)
y = jnp.cos(jnp.arange(16.0)).reshape(4, 4)
variables = model.init(jax.random.key(0), x)


@jax.jit
def step(variables):
    loss, gradient = jax.value_and_grad(lambda v: ((model.apply(v, x) - y) ** 2).mean())(variables)
    return jax.tree.map(lambda p, g: p - 0.1 * g, variables, gradient), loss


losses = []
for _ in range(5):
    variables, loss = step(variables)
    losses.append(loss)
NUMBERS = {
    "losses": losses,
    "out": model.apply(variables, x),
    "shapes": jax.tree.map(jnp.shape, variables)["params"]["Dense_0"],
}
