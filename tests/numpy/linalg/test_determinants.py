"""Determinants are NumPy's; their derivatives agree with differences, also at singular matrices."""

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
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_values(n, dtype):
    a = normal(3, n, n, dtype=dtype)
    check("linalg.det", a, tolerance=1e-3)
    check("linalg.slogdet", a, tolerance=1e-3)
    found, expected = jnp.linalg.slogdet(a, method="qr"), np.linalg.slogdet(a)
    np.testing.assert_allclose(found.sign, expected[0], atol=1e-3)
    np.testing.assert_allclose(found.logabsdet, expected[1], atol=1e-3)


def test_singular_matrices():
    sign, logarithm = jnp.linalg.slogdet(jnp.ones((4, 4)))
    assert sign == 0 and logarithm == -jnp.inf
    assert jnp.linalg.det(jnp.zeros((4, 4))) == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_slopes(doubles, n):
    a = normal(n, n, dtype="float64")
    assert slope_error(jnp.linalg.det, a) < 1e-6
    assert slope_error(lambda a: jnp.linalg.slogdet(a)[1], a) < 1e-6
    assert slope_error(lambda a: jnp.linalg.slogdet(a, method="qr")[1], a) < 1e-6


def test_slopes_at_singular_matrices(doubles):
    a = normal(4, 4, dtype="float64")
    a[3] = a[0] + a[1]
    assert slope_error(jnp.linalg.det, a) < 1e-6
    np.testing.assert_array_equal(jax.grad(jnp.linalg.det)(np.zeros((4, 4))), 0)


def test_second_derivatives(doubles):
    a = normal(4, 4, dtype="float64")
    assert slope_error(lambda a: jax.grad(jnp.linalg.det)(a) ** 2, a) < 1e-5
    assert slope_error(lambda a: jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(a) ** 2, a) < 1e-5


def test_wrong_operands():
    with pytest.raises(ValueError, match=r"\[..., n, n\]"):
        jnp.linalg.det(jnp.ones((3, 4)))
    with pytest.raises(ValueError, match="Unknown slogdet method 'x'"):
        jnp.linalg.slogdet(jnp.ones((3, 3)), method="x")
