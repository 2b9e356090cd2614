"""A loop that ends by itself and can still be differentiated: square roots by Newton's method.

    python examples/newton_square_root.py

`while_loop` stops when the error is small, so that nobody knows beforehand how many steps it takes;
reverse mode would have to store them all, and is refused. A scan of a fixed number of steps that
freezes its carry once it has converged takes the same steps, and has a gradient. A `custom_jvp`
needs neither: at the root, x^2 = a gives dx = da / (2 x).

Shapes: all are scalars; `vmap` makes rows of them.
"""

import tapeless as jax
import tapeless.numpy as jnp

MOST, TOLERANCE = 30, 1e-6


def goes_on(a, x):
    """Tell whether x is not yet the root."""
    return jnp.abs(x * x - a) >= TOLERANCE * a


def root_by_while(a):
    """Return the root and the number of steps."""
    return jax.lax.while_loop(
        lambda c: goes_on(a, c[0]) & (c[1] < MOST),
        lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1),
        (a, 0),
    )


def root_by_scan(a):
    """Return the same; the carry stands still when the loop would have ended."""

    def step(carry, _):
        """Make a step if there is one to make."""
        x, n = carry
        active = goes_on(a, x)
        return (jnp.where(active, 0.5 * (x + a / x), x), n + active), None

    return jax.lax.scan(step, (a, 0), length=MOST)[0]


@jax.custom_jvp
def root(a):
    """Return the root, by the loop that ends by itself."""
    return root_by_while(a)[0]


@root.defjvp
def _root_jvp(primals, tangents):
    """Differentiate what the loop solves, not the loop."""
    x = root(*primals)
    return x, tangents[0] / (2 * x)


def main():
    """Compare the three."""
    a = jnp.array([2.0, 9.0, 1e4, 0.25])
    (x, steps), (_, by_scan) = jax.vmap(root_by_while)(a), jax.vmap(root_by_scan)(a)
    print("roots", x, "in steps", steps, "and", by_scan)
    try:
        jax.grad(lambda a: root_by_while(a)[0])(2.0)
        refusal = ""
    except ValueError as error:
        refusal = str(error).split(".")[0]
    print("grad of while_loop:", refusal)
    slopes = {
        "through the scan": jax.vmap(jax.grad(lambda a: root_by_scan(a)[0]))(a),
        "by the rule": jax.vmap(jax.grad(root))(a),
        "forwards through the loop": jax.vmap(jax.jacfwd(lambda a: root_by_while(a)[0]))(a),
    }
    for name, slope in slopes.items():
        print(f"1 / (2 sqrt a) {name}:", slope)
    return x, (steps, by_scan), refusal, slopes


if __name__ == "__main__":
    main()
