"""optimistix: solvers under jit and vmap, steps of a solver one by one, and an optax optimizer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optimistix as optx

tight = {"rtol": 1e-5, "atol": 1e-5}
values = jnp.array([0.5, 2.0, 7.0])


@jax.jit
def cube_root(a):
    solution = optx.root_find(lambda y, a: y**3 - a, optx.Newton(**tight), jnp.ones(()), a)
    return solution.value, solution.stats["num_steps"]


@eqx.filter_jit
def descend(start):
    solver = optx.OptaxMinimiser(optax.adam(0.1), rtol=1e-3, atol=1e-3)
    return optx.minimise(
        lambda y, _: jnp.sum((y - 2.0) ** 2), solver, start, max_steps=50, throw=False
    ).value


roots, steps = jax.vmap(cube_root)(values)
failing = optx.root_find(
    lambda y, _: y**2 + 1.0, optx.Newton(**tight), jnp.array(0.5), max_steps=5, throw=False
)
NUMBERS = {
    "roots": roots,
    "steps": steps,
    "gradients": jax.vmap(jax.grad(lambda a: cube_root(a)[0]))(values),
    "adam": jax.vmap(descend)(jnp.array([[0.0], [5.0]])),
    "failed": bool(failing.result == optx.RESULTS.successful),
}
