"""optimistix: derivatives of roots, minima and fits: implicit ones, and through the iterations."""

import jax
import jax.numpy as jnp
import optimistix as optx

tight = {"rtol": 1e-6, "atol": 1e-6}
times = jnp.linspace(0.0, 2.0, 8)


def root(a, adjoint):
    found = optx.root_find(
        lambda y, a: y - a * jnp.cos(y), optx.Newton(**tight), jnp.ones(2), a, adjoint=adjoint,
        max_steps=16,
    )  # fmt: skip
    return found.value


def fit(data):
    found = optx.least_squares(
        lambda y, data: y[0] * jnp.exp(-y[1] * times) - data,
        optx.LevenbergMarquardt(**tight),
        jnp.array([1.0, 1.0]),
        data,
    )
    return found.value


def smallest(b):
    found = optx.minimise(
        lambda y, b: jnp.sum(y**4 + y**2 - b * y), optx.BFGS(**tight), jnp.zeros(2), b
    )
    return found.value.sum()


a = jnp.array([0.5, 0.9])
checkpoints = optx.RecursiveCheckpointAdjoint()
NUMBERS = {
    "implicit": jax.jacobian(root)(a, optx.ImplicitAdjoint()),
    "through": jax.jacrev(root)(a, checkpoints),
    "fit": jax.jacobian(fit)(2.0 * jnp.exp(-0.7 * times)),
    "minimum": jax.value_and_grad(smallest)(jnp.array([1.0, -0.5])),
}
