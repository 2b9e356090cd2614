"""Linear systems that a user's solver solves."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp

A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]], np.float32)
B = np.array([1.0, 2.0, 3.0], np.float32)


def iterate(matvec, b):
    """Solve by 80 Richardson steps."""
    return lax.fori_loop(0, 80, lambda i, x: x + 0.2 * (b - matvec(x)), jnp.zeros_like(b))


def solve(a, b):
    """Solve a x = b."""
    return lax.custom_linear_solve(lambda x: a @ x, b, iterate, iterate)


def direct(a, b):
    """Solve a x = b by factors."""
    return jnp.linalg.solve(a, b)


def total(solver):
    """Return a scalar function of a solution."""
    return lambda a, b: jnp.sum(jnp.sin(solver(a, b)))


def check(wanted, found):
    """Compare trees of arrays."""
    jax.tree.map(lambda w, f: np.testing.assert_allclose(w, f, rtol=2e-4, atol=1e-5), wanted, found)


@pytest.mark.parametrize(
    "transform",
    [lambda f: jax.grad(f, (0, 1)), lambda f: jax.hessian(f, 1), lambda f: jax.jit(jax.grad(f))],
)
def test_derivatives_are_those_of_the_solution(transform):
    check(transform(total(direct))(A, B), transform(total(solve))(A, B))


def test_forward_mode_and_batches():
    check(jax.jvp(direct, (A, B), (A, 2 * B)), jax.jvp(solve, (A, B), (A, 2 * B)))
    matrices = np.stack([A, A + 0.1])
    check(jax.vmap(direct, (0, None))(matrices, B), jax.vmap(solve, (0, None))(matrices, B))
    right = np.stack([B, 2 * B])
    check(jax.vmap(direct, (None, 0))(A, right), jax.vmap(solve, (None, 0))(A, right))
    gradient = jax.vmap(jax.grad(total(solve)), (0, None))(matrices, B)
    check(jax.vmap(jax.grad(total(direct)), (0, None))(matrices, B), gradient)


def test_the_derivative_does_not_go_through_the_solver():
    def blind(matvec, b):
        """Solve with what has no derivative."""
        return lax.stop_gradient(iterate(matvec, b))

    f = lambda b: jnp.sum(lax.custom_linear_solve(lambda x: A @ x, b, blind, blind))  # noqa: E731
    check(np.linalg.solve(A.T, np.ones(3, np.float32)), jax.grad(f)(B))


def test_a_symmetric_system_needs_no_second_solver():
    sym = (A + A.T) / 2
    f = lambda b: lax.custom_linear_solve(lambda x: sym @ x, b, iterate, symmetric=True)  # noqa: E731
    check(np.linalg.inv(sym), jax.jacrev(f)(B))
    one_way = lambda b: lax.custom_linear_solve(lambda x: A @ x, b, iterate)  # noqa: E731
    check(np.linalg.inv(A), jax.jacfwd(one_way)(B))
    with pytest.raises(TypeError, match="transpose_solve required for backwards mode"):
        jax.jacrev(one_way)(B)


def test_solvers_may_return_more():
    more = lambda mv, b: (iterate(mv, b), {"sum": jnp.sum(b)})  # noqa: E731
    f = lambda b: lax.custom_linear_solve(lambda x: A @ x, b, more, more, has_aux=True)  # noqa: E731
    x, aux = f(B)
    check(np.linalg.solve(A, B), x)
    assert aux["sum"] == 6.0
    check(np.linalg.inv(A), jax.jacrev(lambda b: f(b)[0])(B))


def test_shapes_are_checked():
    with pytest.raises(ValueError) as caught:
        lax.custom_linear_solve(lambda x: x[:2], B, iterate)
    assert str(caught.value) == "matvec() output shapes must match b, got [(2,)] and [(3,)]"
    with pytest.raises(ValueError, match=r"^solve\(\) output shapes must match b"):
        lax.custom_linear_solve(lambda x: x, B, lambda mv, b: b[:2])


def test_a_transposed_solver_is_used_where_it_is_given_for_a_symmetric_system_too():
    a = jnp.array([[2.0, 1.0], [0.0, 3.0]])
    back = lambda _, b: jnp.linalg.solve(a.T, b)  # noqa: E731
    solve = lambda _, b: jnp.linalg.solve(a, b)  # noqa: E731
    f = lambda b: lax.custom_linear_solve(lambda v: a @ v, b, solve, back, symmetric=True).sum()  # noqa: E731
    np.testing.assert_allclose(np.asarray(jax.grad(f)(jnp.ones(2))), [1 / 2, 1 / 6], rtol=1e-6)
