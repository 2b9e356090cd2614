"""flax.linen: lifted transformations: a scanned cell, mapped layers, attention under jit."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class Cell(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        carry = nn.tanh(nn.Dense(4)(jnp.concatenate([carry, x], -1)))
        return carry, carry


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, xs):
        scanned = nn.scan(
            Cell,
            variable_broadcast="params",
            split_rngs={"params": False},
            in_axes=1,
            out_axes=1,
        )
        return scanned()(jnp.zeros((2, 4)), xs)


class Ensemble(nn.Module):
    @nn.compact
    def __call__(self, x):
        dense = nn.vmap(
            nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=None,
            axis_size=3,
        )  # fmt: skip
        return dense(features=2)(x)


xs = jnp.cos(jnp.arange(30.0)).reshape(2, 5, 3)
recurrent, ensemble = Recurrent(), Ensemble()
attention = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=4)
cell_variables = recurrent.init(jax.random.key(1), xs)
members = ensemble.init(jax.random.key(2), xs[0])
weights = attention.init(jax.random.key(3), xs)
gradient = jax.jit(jax.grad(lambda v: recurrent.apply(v, xs)[1].sum()))(cell_variables)
NUMBERS = {
    "scanned": jax.jit(recurrent.apply)(cell_variables, xs)[0],
    "gradient": jax.tree.leaves(gradient),
    "ensemble": jax.jit(ensemble.apply)(members, xs[0]),
    "attention": jax.jit(attention.apply)(weights, xs)[0],
    "mapped": jax.vmap(lambda x: recurrent.apply(cell_variables, x[None].repeat(2, 0))[0])(xs),
}
