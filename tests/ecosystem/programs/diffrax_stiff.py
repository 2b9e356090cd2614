"""diffrax: Robertson's stiff reactions by an implicit method."""

import diffrax
import jax
import jax.numpy as jnp


def reactions(t, y, args):
    x, y, z = y
    k1, k2, k3 = args
    first, second, third = k1 * x, k2 * y**2, k3 * y * z
    return jnp.stack([-first + third, first - second - third, second])


@jax.jit
def solve(rates):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(reactions),
        diffrax.Kvaerno5(),
        t0=0.0,
        t1=10.0,
        dt0=0.0002,
        y0=jnp.array([1.0, 0.0, 0.0]),
        args=rates,
        saveat=diffrax.SaveAt(ts=jnp.array([0.1, 1.0, 10.0])),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
    ).ys


NUMBERS = {"solution": solve(jnp.array([0.04, 3e3, 1e2]))}
