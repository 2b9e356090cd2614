"""flax.nnx: its first documented use: a model with state, an optimizer, a compiled step."""

import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, din, dmid, dout, rngs):
        self.linear = nnx.Linear(din, dmid, use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(dmid, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.linear_out = nnx.Linear(dmid, dout, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.dropout(self.bn(self.linear(x))))
        return self.linear_out(x)


model = Model(2, 8, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return ((model(x) - y) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


x = jnp.sin(jnp.arange(16.0)).reshape(8, 2)
y = jnp.cos(jnp.arange(24.0)).reshape(8, 3)
NUMBERS = {
    "losses": [train_step(model, optimizer, x, y) for _ in range(5)],
    "mean": model.bn.mean[...],
    "kernel": model.linear_out.kernel[...],
    "step": optimizer.step[...],
}
