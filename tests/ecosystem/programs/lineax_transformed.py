"""lineax: solvers under jit and vmap, and a state that is used for many right sides."""

import jax
import jax.numpy as jnp
import lineax as lx

matrices = jnp.sin(jnp.arange(27.0)).reshape(3, 3, 3) + 3.0 * jnp.eye(3)
vectors = jnp.cos(jnp.arange(9.0)).reshape(3, 3)
definite = matrices @ matrices.transpose(0, 2, 1)


@jax.jit
def solve(matrix, vector):
    return lx.linear_solve(lx.MatrixLinearOperator(matrix), vector, lx.LU()).value


@jax.jit
def conjugate(matrix, vector):
    operator = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
    return lx.linear_solve(operator, vector, lx.CG(rtol=1e-5, atol=1e-5)).value


@jax.jit
def many(matrix, vectors):
    operator, solver = lx.MatrixLinearOperator(matrix), lx.QR()
    state = solver.init(operator, options={})
    return jax.vmap(lambda b: lx.linear_solve(operator, b, solver, state=state).value)(vectors)


def failed(matrix):
    return (
        lx.linear_solve(lx.MatrixLinearOperator(matrix), vectors[0], lx.LU(), throw=False).result
        == lx.RESULTS.successful
    )


NUMBERS = {
    "solved": jax.vmap(solve)(matrices, vectors),
    "one matrix": jax.vmap(solve, in_axes=(None, 0))(matrices[0], vectors),
    "conjugate": jax.vmap(conjugate)(definite, vectors),
    "many": many(matrices[1], vectors),
    "gradients": jax.jit(jax.vmap(jax.grad(lambda a, b: solve(a, b).sum())))(matrices, vectors),
    "good": bool(failed(matrices[0])),
    "singular": bool(failed(jnp.zeros((3, 3)))),
}
