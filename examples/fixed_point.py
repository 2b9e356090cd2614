"""Differentiate through a fixed point without differentiating the iteration.

    python examples/fixed_point.py

A solver iterates x = f(a, x) in a `while_loop`, which reverse mode cannot run backwards. It need
not: where x*(a) = f(a, x*(a)), the implicit function theorem gives

    dx* = (1 - df/dx)^-1 df/da da          and backwards          u = ct + u df/dx,   ct_a = u df/da

so that the pullback is a fixed point as well, of a linear function. `custom_vjp` attaches it: only
(a, x*) is stored, however many iterations there were, and the rule is written with `vjp` of f.
Since the backward rule calls `fixed_point`, it can be differentiated again.

Shapes: those of the trees a and x; the example solves Kepler's equation E = M + e sin E.
"""

from functools import partial

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

TOLERANCE = 1e-12


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, guess):
    """Return x with x = f(a, x), by iteration from a guess."""

    def moving(pair):
        """Tell whether the last step changed anything."""
        before, after = pair
        return jnp.max(jnp.abs(before - after)) > TOLERANCE

    def step(pair):
        """Iterate once."""
        return pair[1], f(a, pair[1])

    return jax.lax.while_loop(moving, step, (guess, f(a, guess)))[1]


def forward(f, a, guess):
    """Return the solution, and what the backward rule needs."""
    x = fixed_point(f, a, guess)
    return x, (a, x)


def backward(f, residuals, ct):
    """Solve u = ct + u df/dx, and return u df/da; the guess has no influence."""
    a, x = residuals

    def adjoint(given, u):
        """Return ct + u df/dx; what it depends on comes in as an argument, to be differentiated."""
        a, x, ct = given
        return ct + jax.vjp(lambda x: f(a, x), x)[1](u)[0]

    u = fixed_point(adjoint, (a, x, ct), ct)
    _, pull = jax.vjp(lambda a: f(a, x), a)
    return *pull(u), jnp.zeros_like(x)


fixed_point.defvjp(forward, backward)


def kepler(orbit, anomaly):
    """Return M + e sin E."""
    mean, eccentricity = orbit
    return mean + eccentricity * jnp.sin(anomaly)


def anomaly_of(mean, eccentricity):
    """Return the eccentric anomaly E of a planet."""
    return fixed_point(kepler, (mean, eccentricity), mean)


def main():
    """Print E and its derivatives beside the known formulas."""
    with jax.enable_x64(True):
        mean, e = 0.8, 0.4
        x, (by_mean, by_e) = jax.jit(jax.value_and_grad(anomaly_of, (0, 1)))(mean, e)
        known = 1 / (1 - e * np.cos(x)), np.sin(x) / (1 - e * np.cos(x))
        print(f"E          = {x:.12f},   E - e sin E - M = {x - e * np.sin(x) - mean:.1e}")
        print(f"dE/dM      = {by_mean:.12f},   formula {known[0]:.12f}")
        print(f"dE/de      = {by_e:.12f},   formula {known[1]:.12f}")
        second = jax.grad(jax.grad(anomaly_of))(mean, e)
        formula = -e * np.sin(x) / (1 - e * np.cos(x)) ** 3
        print(f"d2E/dM2    = {second:.12f},  formula {formula:.12f}")
        planets = jnp.linspace(0.0, 3.0, 5)
        slopes = jax.vmap(jax.grad(anomaly_of), (0, None))(planets, e)
        print("dE/dM for five planets at once:", np.round(slopes, 6))
        found, wanted = (by_mean, by_e, second), (*known, formula)
        return max(abs(float(x - y)) for x, y in zip(found, wanted, strict=True))


if __name__ == "__main__":
    main()
