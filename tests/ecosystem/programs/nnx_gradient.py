"""flax.nnx: gradients by parameters, split and merge, and variables that are references."""

import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.second = nnx.Linear(4, 2, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.calls[...] += 1
        return self.second(jnp.tanh(self.first(x)))


x = jnp.sin(jnp.arange(6.0)).reshape(2, 3)
net = Net(nnx.Rngs(1))
gradient = nnx.grad(lambda net: (net(x) ** 2).sum())(net)
graphdef, params, rest = nnx.split(net, nnx.Param, ...)


@jax.jit
def loss(params, rest):
    return (nnx.merge(graphdef, params, rest)(x) ** 2).sum()


with nnx.var_defaults(ref=True):
    referring = Net(nnx.Rngs(1))


@jax.jit
def call(graphdef, state):
    return nnx.merge(graphdef, state)(x)


both = nnx.split(referring)
outs = [call(*both), call(*both)]
NUMBERS = {
    "gradient": jax.tree.leaves(gradient),
    "loss": loss(params, rest),
    "split": jax.tree.leaves(jax.grad(loss)(params, rest)),
    "calls": net.calls[...],
    "refs": outs,
    "ref_calls": referring.calls[...],
}
