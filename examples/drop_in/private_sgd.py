"""Differentially private SGD: each example's gradient is clipped, and the sum gets noise.

    python -m tapeless examples/drop_in/private_sgd.py

A network with one hidden layer tells two half moons apart. The gradients of single examples come
from `vmap` of `grad`. What is printed are losses, the share of right answers, and how large the
noise is beside the sum of the clipped gradients.
"""

import functools

import jax
import jax.numpy as jnp
from jax import random
from jax.flatten_util import ravel_pytree

EXAMPLES, BATCH, STEPS = 256, 64, 40
CLIP, NOISE, RATE = 1.0, 0.8, 0.5


def data(key):
    """Return the points of two half moons, and which they belong to."""
    angle, noise = random.split(key)
    labels = jnp.arange(EXAMPLES) % 2
    turns = jnp.pi * random.uniform(angle, (EXAMPLES,))
    outer = jnp.stack([jnp.cos(turns), jnp.sin(turns)], 1)
    inner = jnp.stack([1.0 - jnp.cos(turns), 0.4 - jnp.sin(turns)], 1)
    points = jnp.where(labels[:, None] == 1, inner, outer)
    return points + 0.1 * random.normal(noise, points.shape), labels


def init(key):
    """Return the weights."""
    first, second = random.split(key)
    return {
        "hidden": {"w": random.normal(first, (2, 12)), "b": jnp.zeros(12)},
        "out": {"w": random.normal(second, (12,)) / 4.0, "b": jnp.zeros(())},
    }


def logit(params, point):
    """point: (2,) -> ()."""
    hidden = jnp.tanh(point @ params["hidden"]["w"] + params["hidden"]["b"])
    return hidden @ params["out"]["w"] + params["out"]["b"]


def loss(params, point, label):
    """Return the cross entropy of one example."""
    return jax.nn.softplus(logit(params, point) * (1 - 2 * label))


def clipped_gradient(params, point, label):
    """Return one example's gradient, scaled down to norm CLIP."""
    gradient = jax.grad(loss)(params, point, label)
    norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient)))
    return jax.tree.map(lambda leaf: leaf / jnp.maximum(norm / CLIP, 1.0), gradient)


@jax.jit
def private_step(params, key, points, labels):
    """Return new weights, and the norms of the sum and of the noise."""
    per_example = jax.vmap(clipped_gradient, in_axes=(None, 0, 0))(params, points, labels)
    flat, unravel = ravel_pytree(jax.tree.map(functools.partial(jnp.sum, axis=0), per_example))
    noise = NOISE * CLIP * random.normal(key, flat.shape)
    gradient = unravel((flat + noise) / BATCH)
    norms = jnp.linalg.norm(flat), jnp.linalg.norm(noise)
    return jax.tree.map(lambda p, g: p - RATE * g, params, gradient), norms


def main():
    """Train."""
    points, labels = data(random.key(0))
    params = init(random.key(1))
    mean_loss = jax.jit(lambda p: jax.vmap(loss, (None, 0, 0))(p, points, labels).mean())
    for number in range(STEPS):
        select, draw = random.split(random.fold_in(random.key(2), number))
        chosen = random.choice(select, EXAMPLES, (BATCH,), replace=False)
        params, norms = private_step(params, draw, points[chosen], labels[chosen])
        if number % 10 == 0:
            print(f"{float(mean_loss(params)):.5f} {float(norms[1] / norms[0]):.4f}")
    right = (jax.vmap(logit, (None, 0))(params, points) > 0) == (labels == 1)
    print(f"{float(mean_loss(params)):.5f} {float(right.mean()):.4f}")


if __name__ == "__main__":
    main()
