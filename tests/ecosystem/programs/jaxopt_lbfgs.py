"""jaxopt: ridge regression by L-BFGS and by gradient descent."""

import jax.numpy as jnp
import jaxopt

X = jnp.sin(jnp.arange(40.0)).reshape(10, 4)
y = jnp.cos(jnp.arange(10.0))


def objective(w, l2):
    return jnp.mean((X @ w - y) ** 2) / 2 + l2 * jnp.sum(w**2) / 2


lbfgs = jaxopt.LBFGS(fun=objective, maxiter=100, tol=1e-5).run(jnp.zeros(4), l2=0.1).params
descent = jaxopt.GradientDescent(fun=objective, stepsize=0.5, maxiter=50, tol=0.0).run(
    jnp.zeros(4), l2=0.1
)
NUMBERS = {"lbfgs": lbfgs, "gradient descent": descent.params}
