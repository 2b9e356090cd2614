"""flax.linen: convolutions with batch normalization, dropout, and gradients through them."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.Dropout(0.25, deterministic=not train)(x.reshape(x.shape[0], -1))
        return nn.Dense(3)(x)


images = jnp.sin(jnp.arange(2 * 8 * 8.0)).reshape(2, 8, 8, 1)
model = Network()
variables = model.init(jax.random.key(0), images, False)


@jax.jit
def loss(params, stats, key):
    out, new = model.apply(
        {"params": params, "batch_stats": stats},
        images,
        True,
        mutable=["batch_stats"],
        rngs={"dropout": key},
    )
    return (out**2).mean(), new


(value, new), gradient = jax.value_and_grad(loss, has_aux=True)(
    variables["params"], variables["batch_stats"], jax.random.key(1)
)
NUMBERS = {
    "value": value,
    "statistics": new["batch_stats"]["BatchNorm_0"],
    "gradient": gradient["Conv_0"]["kernel"],
    "evaluated": model.apply(variables, images, False),
}
