"""Sparse arrays compute what the dense ones do, and are differentiated by what they store."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as scipy_sparse

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.experimental import sparse
from tapeless.experimental.sparse import BCOO

DENSE = np.array([[1, 0, 2], [0, 0, 3]], np.float32)


def test_an_array_shows_what_it_stores():
    x = BCOO.fromdense(DENSE)
    assert repr(x) == "BCOO(float32[2, 3], nse=3)"
    np.testing.assert_array_equal([[0, 0], [0, 2], [1, 2]], x.indices)
    assert (x.nse, x.ndim, x.size, x.n_sparse, x.n_batch, x.dtype) == (3, 2, 6, 2, 0, np.float32)
    np.testing.assert_array_equal(DENSE, x.todense())
    np.testing.assert_array_equal(DENSE, sparse.todense(sparse.bcoo_fromdense(DENSE, nse=5)))
    np.testing.assert_array_equal([3, 3], BCOO.fromdense(np.eye(3), nse=5).indices[-1])
    np.testing.assert_array_equal(
        DENSE, BCOO.from_scipy_sparse(scipy_sparse.csr_matrix(DENSE)).todense()
    )


def test_methods_are_those_of_the_dense_array():
    x = BCOO.fromdense(DENSE)
    np.testing.assert_array_equal(DENSE.T, x.T.todense())
    np.testing.assert_array_equal(DENSE.sum(), x.sum())
    np.testing.assert_array_equal(DENSE.sum(0), x.sum(0).todense())
    np.testing.assert_array_equal(DENSE.reshape(3, 2), x.reshape(3, -1).todense())
    np.testing.assert_array_equal(abs(-DENSE), abs(-x).todense())
    np.testing.assert_array_equal(2 * DENSE + DENSE / 2, (2 * x + x / 2).todense())
    np.testing.assert_array_equal(0 * DENSE, (x - x).todense())
    grid = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(grid * DENSE, (x * grid).todense())
    assert x.astype(jnp.float16).dtype == np.float16


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 4)])
def test_products_are_those_of_the_dense_array(shape):
    x, y = BCOO.fromdense(DENSE), np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(DENSE @ y, x @ y)
    np.testing.assert_array_equal(y.T @ DENSE.T, jnp.asarray(y.T) @ x.T)
    np.testing.assert_array_equal(DENSE @ y, jax.jit(lambda a, b: a @ b)(x, y))


def test_places_that_repeat_add_up_and_those_outside_hold_nothing():
    x = BCOO((jnp.ones(4), jnp.array([[0, 1], [0, 1], [1, 0], [5, 5]])), shape=(2, 2))
    np.testing.assert_array_equal([[0, 2], [1, 0]], x.todense())
    np.testing.assert_array_equal([2, 1], x @ jnp.ones(2))
    assert float(x.sum()) == 3.0
    summed = x.sum_duplicates(nse=2)
    np.testing.assert_array_equal([2, 1], summed.data)
    np.testing.assert_array_equal(x.todense(), summed.todense())


def test_derivatives_and_batches_go_through_the_elements():
    x, v = BCOO.fromdense(DENSE), np.arange(3, dtype=np.float32)

    def loss(data, v):
        """Return the squared length of the product."""
        return jnp.sum((BCOO((data, x.indices), shape=x.shape) @ v) ** 2)

    by_data, by_vector = jax.grad(loss, (0, 1))(x.data, v)
    out = DENSE @ v
    np.testing.assert_allclose((2 * out[:, None] * v)[DENSE != 0], by_data)
    np.testing.assert_allclose(2 * out @ DENSE, by_vector)
    rows = jax.vmap(loss, (0, None))(jnp.stack([x.data, 2 * x.data]), v)
    np.testing.assert_allclose([out @ out, 4 * out @ out], rows)


def test_what_does_not_fit_is_refused():
    x = BCOO.fromdense(DENSE)
    with pytest.raises(TypeError, match=r"contracting dimensions .* got \(3,\) and \(4,\)"):
        x @ jnp.ones(4)
    with pytest.raises(ValueError, match="BCOO of shape .* takes data of shape"):
        BCOO((jnp.ones(2), jnp.array([[0], [1]])), shape=(2, 2))
    for use in (lambda: x @ x.T, lambda: x + 1, lambda: x * x, lambda: x / DENSE):
        with pytest.raises(NotImplementedError, match="BCOO"):
            use()
    with pytest.raises(NotImplementedError, match="n_batch"):
        BCOO.fromdense(DENSE, n_batch=1)


def test_zeros_and_ones():
    np.testing.assert_array_equal(np.eye(2, 3), sparse.eye(2, 3).todense())
    np.testing.assert_array_equal(np.zeros((2, 2)), sparse.empty((2, 2)).todense())
