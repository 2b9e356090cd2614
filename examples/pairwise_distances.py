"""All pairs of points by two `vmap`s, and what the derivative of a distance is at no distance.

    python examples/pairwise_distances.py

The distance is written for two points. One `vmap` makes it a row, another one a table, and whoever
maps first is the last axis. The table is compiled to one loop nest that holds no (n, m, d) array.

The square root has an infinite slope at zero, so that the gradient of a distance between equal
points is not a number. The usual remedy selects twice: before the root, and after it.

Shapes: p, q (d,); a (n, d), b (m, d) -> (n, m).
"""

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp


def distance(p, q):
    """Return the distance of two points."""
    return jnp.sqrt(jnp.sum((p - q) ** 2))


def safe_distance(p, q):
    """Return the distance, with slope 0 between equal points."""
    square = jnp.sum((p - q) ** 2)
    apart = square > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), 0.0)


def table(distance):
    """Return the function of all pairs."""
    return jax.jit(jax.vmap(jax.vmap(distance, (None, 0)), (0, None)))


def main():
    """Compute a table, its memory, and the gradients of a cloud's spread."""
    keys = jax.random.split(jax.random.key(0))
    a, b = jax.random.normal(keys[0], (400, 3)), jax.random.normal(keys[1], (300, 3))
    distances = table(distance)(a, b)
    expected = np.sqrt(((np.asarray(a)[:, None] - np.asarray(b)[None]) ** 2).sum(-1))
    apart = float(np.max(np.abs(distances - expected)))
    memory = table(distance).lower(a, b).compile().memory_analysis().temp_size_in_bytes
    print(f"{distances.shape} distances, to {apart:.0e}, with {memory:,} bytes of temporaries")
    slopes = {
        name: jax.grad(lambda a, f=f: jnp.sum(table(f)(a, a)))(a[:5])
        for name, f in {"plain": distance, "safe": safe_distance}.items()
    }
    for name, slope in slopes.items():
        print(f"gradient of the sum over all pairs, {name}:", slope[0])
    return distances, apart, memory, slopes


if __name__ == "__main__":
    main()
