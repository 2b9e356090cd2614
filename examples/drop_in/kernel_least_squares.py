"""Kernel least squares: functions as sums of kernels at the data, fitted by gradient descent.

    python -m tapeless examples/drop_in/kernel_least_squares.py

A kernel is a function of two points; `vmap` twice makes its matrix. The program fits a linear and a
Gaussian kernel to the same data, and prints the errors of both and predictions.
"""

import jax
import jax.numpy as jnp
from jax import grad, jit, random, vmap


def linear(x, y):
    """Return the inner product."""
    return jnp.dot(x, y)


def gaussian(x, y):
    """Return a bell around one point."""
    return jnp.exp(-jnp.sum((x - y) ** 2))


def gram(kernel, xs, ys):
    """xs: (n, d), ys: (m, d) -> (n, m)."""
    return vmap(lambda x: vmap(lambda y: kernel(x, y))(ys))(xs)


def fit(kernel, xs, targets, steps=200, *, rate):
    """Return the function with the least squared error, and the errors on the way."""
    matrix = gram(kernel, xs, xs)

    def loss(weights):
        """Return half the squared error."""
        return 0.5 * jnp.sum((matrix @ weights - targets) ** 2)

    @jit
    def descend(weights):
        """Take all steps."""
        return jax.lax.scan(
            lambda w, _: (w - rate * grad(loss)(w), loss(w)), weights, None, length=steps
        )

    weights, losses = descend(jnp.zeros(xs.shape[0]))
    return lambda x: vmap(kernel, in_axes=(0, None))(xs, x) @ weights, losses


def main():
    """Fit both kernels."""
    keys = random.split(random.key(0), 3)
    xs = random.normal(keys[0], (20, 2)) * 0.7
    targets = jnp.sin(3 * xs[:, 0]) + xs[:, 1]
    new = random.normal(keys[1], (4, 2)) * 0.7
    for kernel, rate in ((linear, 0.003), (gaussian, 0.02)):
        predict, losses = fit(kernel, xs, targets, rate=rate)
        print(kernel.__name__, " ".join(f"{float(x):.4f}" for x in losses[:: len(losses) // 4]))
        print(" ".join(f"{float(x):.4f}" for x in jit(vmap(predict))(new)))


if __name__ == "__main__":
    main()
