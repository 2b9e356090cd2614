"""Jacobians, Hessians, and products with them that never make the matrix.

    python examples/jacobians.py

`jacfwd` pushes a basis forwards, a column at a time; `jacrev` pulls one back, a row at a time. Both
give the same matrix; the cheaper one is that with fewer vectors to push or to pull. Often no matrix
is wanted, but its product with a vector: `jvp` is a Jacobian times a vector, `vjp` a vector times a
Jacobian, and forwards over backwards a Hessian times a vector, each for the price of a few
evaluations.

Shapes: polar (2,) -> plane (2,); x (n,) -> f ().
"""

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp


def plane(polar):
    """Return x and y of a radius and an angle."""
    radius, angle = polar
    return radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def rosenbrock(x):
    """Return a valley, curved and flat at its bottom, with its minimum 0 at ones."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def hessian_vector(f, x, v):
    """Return the Hessian of f at x times v."""
    return jax.jvp(jax.grad(f), (x,), (v,))[1]


def main():
    """Print determinants and a product, and say how they agree."""
    points = jnp.array([[1.0, 0.0], [2.0, 0.5], [3.0, 2.0]])
    forwards, backwards = jax.vmap(jax.jacfwd(plane))(points), jax.vmap(jax.jacrev(plane))(points)
    determinants = jnp.linalg.det(forwards)
    print("determinants of the polar map at radii", points[:, 0], "are", determinants)
    everywhere = jnp.vectorize(jax.jacfwd(plane), signature="(n)->(m,n)")
    print("Jacobians of a (3, 1, 2) array of points:", everywhere(points[:, None]).shape)
    x, v = jnp.linspace(-1.0, 1.0, 1000), jnp.sin(jnp.arange(1000.0))
    product = jax.jit(hessian_vector, static_argnums=0)
    whole = jax.hessian(rosenbrock)(x) @ v
    apart = float(jnp.max(jnp.abs(product(rosenbrock, x, v) - whole)) / jnp.max(jnp.abs(whole)))
    memory = product.lower(rosenbrock, x, v).compile().memory_analysis().temp_size_in_bytes
    print(
        f"the Hessian times a vector, to {apart:.0e}, takes {memory:,} bytes, not {4 * 1000**2:,}"
    )
    return np.asarray(forwards), np.asarray(backwards), np.asarray(determinants), apart, memory


if __name__ == "__main__":
    main()
