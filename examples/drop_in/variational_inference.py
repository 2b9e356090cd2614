"""Automatic differentiation variational inference (ADVI): a Gaussian fitted to a posterior.

    python -m tapeless examples/drop_in/variational_inference.py

The posterior is that of a logistic regression on 60 points. The approximation has a mean and a
logarithm of the scale per weight; the evidence lower bound is estimated with 32 samples, mapped by
`vmap`. What is printed are the mean and the scale after each hundred steps.
"""

import functools

import jax
import jax.numpy as jnp
from jax import random

SAMPLES, STEPS = 32, 300


def data(key):
    """Return inputs with a constant column, and labels of a known rule."""
    keys = random.split(key)
    x = jnp.concatenate([random.normal(keys[0], (60, 2)), jnp.ones((60, 1))], 1)
    chances = jax.nn.sigmoid(x @ jnp.array([1.5, -2.0, 0.5]))
    return x, random.bernoulli(keys[1], chances).astype(jnp.float32)


def log_joint(weights, x, y):
    """Return the logarithm of prior and likelihood."""
    logits = x @ weights
    likelihood = jnp.sum(y * logits - jnp.logaddexp(0.0, logits))
    return likelihood + jnp.sum(jax.scipy.stats.norm.logpdf(weights, 0.0, 2.0))


def bound(parameters, key, x, y):
    """Return an estimate of the evidence lower bound."""
    mean, log_scale = parameters
    noise = random.normal(key, (SAMPLES, mean.size))
    weights = mean + jnp.exp(log_scale) * noise
    entropy = jnp.sum(log_scale)
    return jnp.mean(jax.vmap(log_joint, in_axes=(0, None, None))(weights, x, y)) + entropy


@functools.partial(jax.jit, static_argnames="count")
def ascend(parameters, key, x, y, count):
    """Take steps along the gradient of the bound."""

    def step(parameters, key):
        """Take one step."""
        value, gradient = jax.value_and_grad(bound)(parameters, key, x, y)
        return jax.tree.map(lambda p, g: p + 0.01 * g, parameters, gradient), value

    return jax.lax.scan(step, parameters, random.split(key, count))


def main():
    """Fit, and print the approximation."""
    x, y = data(random.key(0))
    parameters = jnp.zeros(3), jnp.zeros(3)
    for number in range(3):
        parameters, values = ascend(parameters, random.key(number + 1), x, y, STEPS // 3)
        mean, log_scale = parameters
        numbers = [*mean, *jnp.exp(log_scale), values[-10:].mean()]
        print(" ".join(f"{float(value):.5f}" for value in numbers))


if __name__ == "__main__":
    main()
