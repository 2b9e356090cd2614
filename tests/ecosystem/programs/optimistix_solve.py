"""optimistix: the first steps of its guide: a root, a fixed point, a minimum, least squares."""

import jax.numpy as jnp
import optimistix as optx

times = jnp.linspace(0.0, 2.0, 12)
data = 2.5 * jnp.exp(-1.3 * times) + 0.5


def residuals(y, args):
    amplitude, rate, offset = y
    return amplitude * jnp.exp(-rate * times) + offset - data


def rosenbrock(y, args):
    return (1 - y[0]) ** 2 + 10 * (y[1] - y[0] ** 2) ** 2


tight = {"rtol": 1e-6, "atol": 1e-6}
start = jnp.array([1.0, 1.0, 0.0])
NUMBERS = {
    "root": optx.root_find(
        lambda y, a: jnp.tanh(y) - a * y + 0.1, optx.Newton(**tight), jnp.array(1.0), 0.5
    ).value,
    "bisection": optx.root_find(
        lambda y, _: y**3 - 2.0,
        optx.Bisection(**tight),
        jnp.array(1.0),
        options={"lower": 0.0, "upper": 2.0},
    ).value,
    "chord": optx.root_find(
        lambda y, _: y + 0.1 * jnp.sin(y) - 1.0, optx.Chord(**tight), jnp.ones(2)
    ).value,
    "fixed point": optx.fixed_point(
        lambda y, _: jnp.cos(y), optx.FixedPointIteration(**tight), jnp.array([0.5, 1.5])
    ).value,
    "gauss newton": optx.least_squares(residuals, optx.GaussNewton(**tight), start).value,
    "levenberg marquardt": optx.least_squares(
        residuals, optx.LevenbergMarquardt(**tight), start
    ).value,
    "dogleg": optx.least_squares(residuals, optx.Dogleg(**tight), start).value,
    "bfgs": optx.minimise(rosenbrock, optx.BFGS(**tight), jnp.array([-1.0, 1.0])).value,
    "nelder mead": optx.minimise(
        rosenbrock, optx.NelderMead(rtol=1e-5, atol=1e-5), jnp.array([-1.0, 1.0])
    ).value,
}
