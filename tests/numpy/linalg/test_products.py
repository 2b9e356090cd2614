"""Products under the names of the array standard are those of the array library."""

import numpy as np
import pytest

import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(3, 3, 3)


def test_last_two_axes():
    for name in ("diagonal", "trace", "matrix_transpose"):
        check(f"linalg.{name}", X)
    check("linalg.trace", X, offset=1)


def test_pairs():
    check("linalg.matmul", X, X)
    check("linalg.vecdot", X, X)
    check("linalg.outer", X[0, 0], X[0, 1])
    check("linalg.cross", X, X[0])
    expected = np.tensordot(X, X)
    np.testing.assert_allclose(jnp.linalg.tensordot(X, X), expected, rtol=1e-4)


def test_chains():
    a, b, c = normal(2, 5), normal(5, 3, seed=1), normal(3, 4, seed=2)
    check("linalg.multi_dot", [a, b, c], tolerance=1e-4)
    check("linalg.multi_dot", [a[0], b, c[:, 0]], tolerance=1e-4)
    check("linalg.multi_dot", [a, b], tolerance=1e-4)
    with pytest.raises(ValueError, match="last dimension of each array"):
        jnp.linalg.multi_dot([a, c])


def test_stricter_than_the_array_library():
    with pytest.raises(ValueError, match="must be one-dimensional"):
        jnp.linalg.outer(X[0], X[0])
    with pytest.raises(ValueError, match="3-dimensional vectors"):
        jnp.linalg.cross(jnp.ones(2), jnp.ones(2))
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        jnp.linalg.matrix_transpose(jnp.ones(2))
