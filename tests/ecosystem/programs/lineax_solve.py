"""lineax: the first steps of its guide: operators, their tags, and solvers for each kind."""

import jax.numpy as jnp
import lineax as lx

matrix = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])
vector = jnp.array([1.0, 2.0, 3.0])
tall = jnp.sin(jnp.arange(15.0) ** 2).reshape(5, 3)
right = jnp.cos(jnp.arange(5.0))
operator = lx.MatrixLinearOperator(matrix)
definite = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
band = lx.TridiagonalLinearOperator(jnp.full(4, 3.0), jnp.ones(3), -jnp.ones(3))
function = lx.FunctionLinearOperator(lambda x: matrix @ x, jnp.zeros(3))


def solve(operator, vector, solver):
    return lx.linear_solve(operator, vector, solver).value


NUMBERS = {
    "auto": solve(operator, vector, lx.AutoLinearSolver(well_posed=True)),
    "cholesky": solve(definite, vector, lx.Cholesky()),
    "lu": solve(operator, vector, lx.LU()),
    "qr": solve(lx.MatrixLinearOperator(tall), right, lx.QR()),
    "svd": solve(lx.MatrixLinearOperator(tall.T), vector, lx.SVD()),
    "tridiagonal": solve(band, jnp.arange(4.0), lx.Tridiagonal()),
    "diagonal": solve(lx.DiagonalLinearOperator(vector), vector, lx.Diagonal()),
    "gmres": solve(function, vector, lx.GMRES(rtol=1e-5, atol=1e-5)),
    "bicgstab": solve(function, vector, lx.BiCGStab(rtol=1e-5, atol=1e-5)),
    "materialised": function.as_matrix(),
    "composed": (operator @ definite + 2.0 * operator).mv(vector),
}
