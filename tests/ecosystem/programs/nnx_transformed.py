"""flax.nnx under its own vmap and scan, and under jax's jit: a stack of layers, an ensemble."""

import jax
import jax.numpy as jnp
from flax import nnx


@nnx.vmap(in_axes=0, out_axes=0)
def create(key):
    return nnx.Linear(3, 3, rngs=nnx.Rngs(key))


layers = create(jax.random.split(jax.random.key(0), 4))
x = jnp.sin(jnp.arange(6.0)).reshape(2, 3)


@nnx.jit
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(x, layer):
    return jnp.tanh(layer(x))


@nnx.vmap(in_axes=(0, None))
def ensemble(layer, x):
    return layer(x)


def loss(layers):
    return (forward(x, layers) ** 2).sum()


NUMBERS = {
    "stack": forward(x, layers),
    "ensemble": ensemble(layers, x),
    "gradient": jax.tree.leaves(nnx.grad(loss)(layers)),
}
