"""jaxopt: projections and projected gradients under jit and vmap."""

import jax
import jax.numpy as jnp
import jaxopt
from jaxopt import projection

points = jnp.sin(jnp.arange(12.0)).reshape(3, 4) * 2


@jax.jit
def constrained(target):
    solver = jaxopt.ProjectedGradient(
        fun=lambda x: ((x - target) ** 2).sum(),
        projection=projection.projection_simplex,
        maxiter=100,
    )
    return solver.run(jnp.full(4, 0.25)).params


NUMBERS = {
    "simplex": jax.vmap(projection.projection_simplex)(points),
    "ball": jax.vmap(projection.projection_l2_ball)(points),
    "box": projection.projection_box(points, (-1.0, 1.0)),
    "constrained": jax.vmap(constrained)(points),
}
