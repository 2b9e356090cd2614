"""Solves and inverses are NumPy's; their derivatives agree with differences."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal, slope_error


@pytest.fixture
def doubles():
    """Compute in 64 bits."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_solve(dtype):
    a, b = normal(2, 4, 4, dtype=dtype), normal(4, 3, dtype=dtype, seed=1)
    check("linalg.solve", a[0], b, tolerance=1e-3)
    check("linalg.solve", a, b, tolerance=1e-3)
    check("linalg.solve", a, b[:, 0], tolerance=1e-3)
    check("linalg.solve", a[0], a, tolerance=1e-3)
    check("linalg.inv", a, tolerance=1e-3)
    found = jax.vmap(jnp.linalg.solve, (0, None))(a, b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), atol=1e-3)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="Prior to JAX v0.5.0"):
        jnp.linalg.solve(jnp.ones((5, 3, 3)), jnp.ones((5, 3)))
    with pytest.raises(ValueError, match="inconsistent size for core dimension 'm'"):
        jnp.linalg.solve(jnp.ones((3, 3)), jnp.ones(4))
    with pytest.raises(ValueError, match="Argument to inv must have shape"):
        jnp.linalg.inv(jnp.ones((3, 4)))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 4, 4)])
def test_pinv(shape, dtype):
    check("linalg.pinv", normal(*shape, dtype=dtype), tolerance=1e-3)


def test_pinv_of_a_vector_says_what_it_wants():
    with pytest.raises(ValueError, match=r"pinv wants matrices.*got shape \(3,\)"):
        jnp.linalg.pinv(jnp.ones(3))


def test_pinv_leaves_small_singular_values_out():
    a = np.diag([1, 1e-3]).astype("float32")
    np.testing.assert_allclose(jnp.linalg.pinv(a, rtol=1e-2), np.diag([1, 0]), atol=1e-6)
    check("linalg.pinv", a + 1, hermitian=True, tolerance=1e-3)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_lstsq(shape, columns):
    a, b = normal(*shape), normal(shape[0], *columns, seed=1)
    found, expected = jnp.linalg.lstsq(a, b), np.linalg.lstsq(a, b)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-4)
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-4)
    assert found[2] == expected[2]
    rest = np.sum((b - a @ expected[0]) ** 2, 0).reshape(-1)
    np.testing.assert_allclose(found[1], rest, atol=1e-4)
    residuals = jnp.linalg.lstsq(a, b, numpy_resid=True)[1]
    assert residuals.shape == expected[1].shape


@pytest.mark.parametrize("n", [-2, 0, 1, 2, 3, 6])
def test_matrix_power(n):
    check("linalg.matrix_power", normal(2, 3, 3), n, tolerance=1e-2)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, "fro"])
def test_cond(p):
    check("linalg.cond", normal(2, 3, 3), p, tolerance=1e-2)


def test_tensor_equations():
    a, b = normal(2, 3, 6), normal(2, 3, seed=1)
    check("linalg.tensorinv", a, tolerance=1e-3)
    check("linalg.tensorsolve", a, b, tolerance=1e-3)
    check("linalg.tensorsolve", a.transpose(2, 0, 1), b, axes=(0,), tolerance=1e-3)


def test_slopes(doubles):
    a, b = normal(4, 4, dtype="float64"), normal(4, 3, dtype="float64", seed=1)
    assert slope_error(jnp.linalg.solve, a, b) < 1e-6
    assert slope_error(jnp.linalg.inv, a) < 1e-6
    assert slope_error(jnp.linalg.pinv, b) < 1e-6
    assert slope_error(jnp.linalg.pinv, b.T.copy()) < 1e-6
    assert slope_error(lambda a, b: jnp.linalg.lstsq(a, b)[0], b, a) < 1e-6
    assert slope_error(lambda a: jnp.linalg.matrix_power(a, -3), a) < 1e-4


def test_second_derivatives(doubles):
    a, b = normal(4, 4, dtype="float64"), normal(4, 3, dtype="float64", seed=1)

    def squared_slope(a, b):
        """Return something that needs the derivative of a solve's pullback."""
        return jax.grad(lambda a, b: jnp.linalg.solve(a, b).sum())(a, b) ** 2

    assert slope_error(squared_slope, a, b) < 1e-4


@pytest.mark.parametrize("power", [0, 1, 3, 6])
def test_powers_of_integers_are_integers(power):
    x = np.array([[1, 2], [0, 3]], "int32")
    found = jnp.linalg.matrix_power(x, power)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, np.linalg.matrix_power(x, power))


def test_lstsq_of_batches_is_a_type_error():
    with pytest.raises(TypeError, match="3-dimensional array given"):
        jnp.linalg.lstsq(jnp.ones((3, 3)), jnp.ones((3, 3, 3)))
