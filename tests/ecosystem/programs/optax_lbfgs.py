"""optax: L-BFGS with its line search on Rosenbrock's function."""

import jax.numpy as jnp
import optax


def f(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


solver = optax.lbfgs()
x = jnp.array([-1.2, 1.0, 0.5])
state = solver.init(x)
value_and_grad = optax.value_and_grad_from_state(f)
for _ in range(8):
    value, gradient = value_and_grad(x, state=state)
    updates, state = solver.update(gradient, state, x, value=value, grad=gradient, value_fn=f)
    x = optax.apply_updates(x, updates)
NUMBERS = {"minimum": x}
