"""lineax: derivatives of solutions by matrices, vectors and functions."""

import jax
import jax.numpy as jnp
import lineax as lx

matrix = jnp.array([[4.0, 1.0, 0.5], [0.7, 3.0, -0.2], [0.5, -0.9, 2.0]])
vector = jnp.array([1.0, 2.0, 3.0])
tall = jnp.sin(jnp.arange(15.0) ** 2).reshape(5, 3)
right = jnp.cos(jnp.arange(5.0))


def direct(matrix, vector):
    return lx.linear_solve(lx.MatrixLinearOperator(matrix), vector).value


def least_squares(matrix, vector):
    operator = lx.MatrixLinearOperator(matrix)
    return lx.linear_solve(operator, vector, lx.AutoLinearSolver(well_posed=None)).value


def newton_step(x):
    jacobian = lx.JacobianLinearOperator(lambda y, _: y**3 + matrix @ y, x)
    return lx.linear_solve(jacobian, x, lx.LU()).value.sum()


NUMBERS = {
    "by matrix": jax.grad(lambda a: (direct(a, vector) ** 2).sum())(matrix),
    "by vector": jax.jacobian(direct, argnums=1)(matrix, vector),
    "forward": jax.jvp(direct, (matrix, vector), (jnp.eye(3), jnp.ones(3))),
    "least squares": jax.grad(lambda a: least_squares(a, right).sum())(tall),
    "newton": jax.value_and_grad(newton_step)(vector),
    "second": jax.hessian(lambda b: (direct(matrix, b) ** 3).sum())(vector),
}
