"""Gaussian-process regression: the marginal likelihood is maximised, then new points predicted.

    python -m tapeless examples/drop_in/gaussian_process.py

The kernel is the squared exponential with an amplitude, a length and a noise, all kept positive by
`softplus`. What is printed are the likelihood and the parameters after each ten steps, and last the
means and deviations at five points.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve


def kernel(parameters, a, b):
    """a: (n,), b: (m,) -> (n, m)."""
    amplitude, length, _ = map(jax.nn.softplus, parameters)
    one = jax.vmap(lambda x: jax.vmap(lambda y: jnp.exp(-0.5 * ((x - y) / length) ** 2))(b))(a)
    return amplitude**2 * one


def factor(parameters, x):
    """Return the Cholesky factor of the covariance of noisy observations."""
    noise = jax.nn.softplus(parameters[2])
    return cho_factor(kernel(parameters, x, x) + (noise**2 + 1e-4) * jnp.eye(x.size), lower=True)


def cost(parameters, x, y):
    """Return the negative logarithm of the marginal likelihood."""
    lower = factor(parameters, x)
    quadratic = 0.5 * y @ cho_solve(lower, y)
    return quadratic + jnp.log(jnp.diag(lower[0])).sum() + 0.5 * x.size * jnp.log(2 * jnp.pi)


@jax.jit
def improve(parameters, x, y):
    """Take ten steps of gradient descent."""

    def step(_, parameters):
        """Take one step."""
        gradient = jax.grad(cost)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - 0.02 * g, parameters, gradient)

    parameters = jax.lax.fori_loop(0, 10, step, parameters)
    return parameters, cost(parameters, x, y)


@jax.jit
def predict(parameters, x, y, new):
    """Return means and deviations at new points."""
    lower = factor(parameters, x)
    cross = kernel(parameters, new, x)
    covariance = kernel(parameters, new, new) - cross @ cho_solve(lower, cross.T)
    return cross @ cho_solve(lower, y), jnp.sqrt(jnp.diag(covariance))


def main():
    """Fit and predict."""
    x = jnp.linspace(-3.0, 3.0, 25)
    y = jnp.sin(2 * x) + 0.1 * jax.random.normal(jax.random.key(0), x.shape)
    parameters = jnp.array(0.5), jnp.array(0.5), jnp.array(-1.0)
    for _ in range(5):
        parameters, value = improve(parameters, x, y)
        print(" ".join(f"{float(number):.4f}" for number in (value, *parameters)))
    for numbers in zip(*predict(parameters, x, y, jnp.linspace(-2.0, 2.0, 5)), strict=True):
        print(" ".join(f"{float(number):.4f}" for number in numbers))


if __name__ == "__main__":
    main()
