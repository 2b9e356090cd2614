"""Differentially private training: clip each example's gradient, then add noise to the sum.

    python examples/dp_sgd.py

Plain gradient descent lets one example move the weights as far as it likes, and so the weights may
tell that it was there. DP-SGD bounds its say: every example's gradient is scaled down to norm at
most CLIP, and the sum gets Gaussian noise of NOISE * CLIP. The whole step is one compiled
program: `vmap(grad(loss))` for the gradients, one norm per example over all leaves, a scaled sum.

The program fits a line through points of which a few are far off. They drag the plain fit away, and
hardly move the private one.

Shapes: x (n,), y (n,), weights {"slope": (), "offset": ()}, gradients (n,) per weight.
"""

import functools

import tapeless as jax
import tapeless.numpy as jnp

POINTS = 256
CLIP, NOISE = 1.0, 0.6
RATE, STEPS = 0.2, 300
TRUE = {"slope": 1.5, "offset": -0.5}


def data(key):
    """Return points near a line, every sixteenth of which is far off."""
    keys = jax.random.split(key)
    x = jax.random.uniform(keys[0], (POINTS,), minval=-1.0, maxval=1.0)
    y = TRUE["slope"] * x + TRUE["offset"] + 0.1 * jax.random.normal(keys[1], (POINTS,))
    return x, jnp.where(jnp.arange(POINTS) % 16 == 0, y + 30.0, y)


def loss(weights, x, y):
    """Return half the squared error of one point."""
    return 0.5 * (weights["slope"] * x + weights["offset"] - y) ** 2


def clipped_sum(gradients):
    """Scale each example's gradient to norm at most CLIP, and sum.  (n, *shape) -> shape, per leaf

    Also returns the norms that the examples have afterwards, (n,).
    """
    squares = [jnp.sum(g.reshape(len(g), -1) ** 2, 1) for g in jax.tree.leaves(gradients)]
    norms = jnp.sqrt(sum(squares))
    scales = jnp.minimum(1.0, CLIP / jnp.maximum(norms, 1e-12))
    total = jax.tree.map(lambda g: jnp.tensordot(scales, g, 1), gradients)
    return total, norms * scales


def private_slope(weights, x, y, key):
    """Return the noisy mean of the clipped gradients."""
    gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(weights, x, y)
    total, _ = clipped_sum(gradients)
    keys = dict(zip(total, jax.random.split(key, len(total)), strict=True))
    return {
        name: (value + NOISE * CLIP * jax.random.normal(keys[name], value.shape)) / len(x)
        for name, value in total.items()
    }


def plain_slope(weights, x, y, key):
    """Return the gradient of the mean loss."""
    return jax.grad(lambda w: jnp.mean(jax.vmap(loss, (None, 0, 0))(w, x, y)))(weights)


@functools.partial(jax.jit, static_argnums=0)
def train(slope_of, x, y, key):
    """Return the weights after STEPS steps along the slopes that `slope_of` gives."""

    def step(weights, key):
        """Make one step."""
        slope = slope_of(weights, x, y, key)
        return jax.tree.map(lambda w, s: w - RATE * s, weights, slope), None

    start = {"slope": jnp.float32(0.0), "offset": jnp.float32(0.0)}
    return jax.lax.scan(step, start, jax.random.split(key, STEPS))[0]


def main():
    """Fit both ways, and print the lines."""
    x, y = data(jax.random.key(0))
    zeros = {"slope": jnp.float32(0.0), "offset": jnp.float32(0.0)}
    gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(zeros, x, y)
    largest = jnp.max(clipped_sum(gradients)[1])
    print(f"largest norm of a gradient after clipping: {largest:.4f}")
    errors = {}
    for name, slope_of in {"plain": plain_slope, "private": private_slope}.items():
        found = train(slope_of, x, y, jax.random.key(1))
        errors[name] = max(abs(float(found[part]) - TRUE[part]) for part in TRUE)
        print(f"{name:8} y = {found['slope']:.3f} x + {found['offset']:.3f}")
    print(f"true     y = {TRUE['slope']:.3f} x + {TRUE['offset']:.3f}")
    return errors, float(largest)


if __name__ == "__main__":
    main()
