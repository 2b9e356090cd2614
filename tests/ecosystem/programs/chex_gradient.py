"""chex: gradients through a dataclass, checked against differences, and assertions in jit."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass(frozen=True)
class Parameters:
    weight: chex.Array
    bias: chex.Array


def loss(parameters, x):
    chex.assert_rank(x, 1)
    chex.assert_equal_shape([parameters.weight[0], x])
    return jnp.sum(jnp.tanh(parameters.weight @ x + parameters.bias) ** 2)


x = jnp.sin(jnp.arange(3.0))
parameters = Parameters(weight=jnp.cos(jnp.arange(6.0)).reshape(2, 3), bias=jnp.ones(2))
value, gradient = jax.jit(jax.value_and_grad(loss))(parameters, x)
chex.assert_trees_all_equal_shapes(parameters, gradient)
chex.assert_numerical_grads(
    lambda w: loss(parameters.replace(weight=w), x), (parameters.weight,), 1
)
NUMBERS = {"value": value, "weight": gradient.weight, "bias": gradient.bias}
