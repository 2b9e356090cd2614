"""diffrax, lineax, optimistix: an ODE by Tsit5 with a gradient, a linear solve, a root."""

import diffrax
import jax
import jax.numpy as jnp
import lineax
import optimistix


def predator(t, y, rates):
    a, b, c, d = rates
    prey, hunters = y
    return jnp.stack([a * prey - b * prey * hunters, -c * hunters + d * prey * hunters])


@jax.jit
def solve(rates):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(predator),
        diffrax.Tsit5(),
        t0=0.0,
        t1=3.0,
        dt0=0.1,
        y0=jnp.array([2.0, 1.0]),
        args=rates,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 5)),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
    ).ys


rates = jnp.array([0.6, 0.4, 0.5, 0.3])
matrix = lineax.MatrixLinearOperator(jnp.array([[3.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 5.0]]))
vector = jnp.array([1.0, 2.0, 3.0])


def root(a):
    newton = optimistix.Newton(rtol=1e-6, atol=1e-6)
    return optimistix.root_find(lambda y, a: y**3 - a, newton, jnp.array(1.5), a).value


NUMBERS = {
    "solution": solve(rates),
    "gradient": jax.grad(lambda r: solve(r)[-1, 0])(rates),
    "linear": lineax.linear_solve(matrix, vector).value,
    "conjugate gradients": lineax.linear_solve(
        lineax.TaggedLinearOperator(matrix, lineax.positive_semidefinite_tag),
        vector,
        solver=lineax.CG(rtol=1e-6, atol=1e-6),
    ).value,
    "root": jax.value_and_grad(root)(5.0),
    "minimum": optimistix.minimise(
        lambda y, _: ((y - 2) ** 2).sum() + (y**4).sum(),
        optimistix.BFGS(rtol=1e-6, atol=1e-6),
        jnp.array([0.5, -1.0]),
    ).value,
}
