"""jaxopt: the derivative of a solution, by implicit differentiation."""

import jax
import jax.numpy as jnp
import jaxopt

X = jnp.sin(jnp.arange(40.0)).reshape(10, 4)
y = jnp.cos(jnp.arange(10.0))


def objective(w, l2):
    return jnp.mean((X @ w - y) ** 2) / 2 + l2 * jnp.sum(w**2) / 2


def solution(l2):
    return jaxopt.LBFGS(fun=objective, maxiter=200, tol=1e-6).run(jnp.zeros(4), l2).params


NUMBERS = {"derivative": jax.jacobian(solution)(0.1)}
