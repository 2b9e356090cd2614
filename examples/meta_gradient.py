"""Learn how to learn: the gradient through twenty steps of gradient descent.

    python examples/meta_gradient.py

The inner problem fits a line to a few points by twenty steps of descent from a common start, with a
step size per weight. The outer problem asks for the start and the step sizes from which those
steps do best on points not yet seen, over many tasks. Its gradient goes through all the steps, and
through the gradients in them: reverse mode over reverse mode, in a `scan`, mapped over tasks,
compiled as one program. `checkpoint` around the step keeps only the weights between steps.

Shapes: a task's x and y (m,), weights (2,), step sizes (2,), tasks (n, ...).
"""

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

TASKS, POINTS, STEPS = 64, 6, 20


def tasks(key):
    """Return (n, 2 m) points of lines whose slopes and offsets scatter around 2 and -1."""
    keys = jax.random.split(key, 3)
    lines = jnp.array([2.0, -1.0]) + 0.3 * jax.random.normal(keys[0], (TASKS, 2))
    x = jax.random.uniform(keys[1], (TASKS, 2 * POINTS), minval=-3.0, maxval=3.0)
    noise = 0.05 * jax.random.normal(keys[2], x.shape)
    return x, lines[:, :1] * x + lines[:, 1:] + noise


def loss(w, x, y):
    """Return the mean squared error of a line.  w: (2,), x: (m,), y: (m,) -> ()"""
    return jnp.mean((w[0] * x + w[1] - y) ** 2)


def learn(meta, x, y):
    """Return the weights after STEPS steps of descent on the points x, y."""

    @jax.checkpoint
    def step(w, _):
        """Go down the slope, with a step size per weight."""
        return w - jnp.exp(meta["log_rates"]) * jax.grad(loss)(w, x, y), None

    return jax.lax.scan(step, meta["start"], None, length=STEPS)[0]


def outer(meta, x, y):
    """Return the mean error, on the second half of each task's points, of what the first taught."""

    def one(x, y):
        """Learn one task, and look at the points that were kept back."""
        return loss(learn(meta, x[:POINTS], y[:POINTS]), x[POINTS:], y[POINTS:])

    return jnp.mean(jax.vmap(one)(x, y))


@jax.jit
def improve(meta, x, y):
    """Make one outer step of descent; also return the error before it."""
    error, slope = jax.value_and_grad(outer)(meta, x, y)
    return jax.tree.map(lambda m, s: m - 0.1 * s, meta, slope), error


def difference(meta, x, y, name, number, eps=1e-5):
    """Return the central difference of the outer error in one number of `meta`."""
    ends = []
    for sign in (1, -1):
        moved = {**meta, name: meta[name].at[number].add(sign * eps)}
        ends.append(float(jax.jit(outer)(moved, x, y)))
    return (ends[0] - ends[1]) / (2 * eps)


def main():
    """Check the gradient by differences, then improve start and step sizes."""
    with jax.enable_x64(True):
        x, y = tasks(jax.random.key(0))
        meta = {"start": jnp.zeros(2), "log_rates": jnp.log(jnp.array([0.01, 0.01]))}
        slope = jax.jit(jax.grad(outer))(meta, x, y)
        apart = 0.0
        for name in meta:
            for number in range(2):
                by_difference = difference(meta, x, y, name, number)
                apart = max(apart, abs(by_difference - float(slope[name][number])))
        print(f"the gradient through {STEPS} steps differs from differences by {apart:.1e}")
        errors = []
        for round_ in range(301):
            meta, error = improve(meta, x, y)
            errors.append(float(error))
            if round_ % 100 == 0:
                print(f"round {round_:3}: error on points not seen {error:.5f}")
        print("start", np.round(meta["start"], 3), "rates", np.round(np.exp(meta["log_rates"]), 3))
        return apart, errors


if __name__ == "__main__":
    main()
