"""Products are NumPy's, for every pairing of axes, dtype and transformation."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4))]
BATCHED = [
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (1, 5, 3, 4)),
    ((6, 5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((1, 2, 3), (1, 3, 4)),
    ((0, 2, 3), (3, 4)),
    ((2, 0), (0, 4)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "bool"])
@pytest.mark.parametrize("name", ["dot", "matmul"])
def test_products_of_vectors_and_matrices(name, dtype, left, right):
    x, y = (normal(*shape, dtype="float32").round() for shape in (left, right))
    check(name, x.astype(dtype), y.astype(dtype))


@pytest.mark.parametrize(("left", "right"), BATCHED)
def test_matmul_pairs_leading_axes(left, right):
    check("matmul", normal(*left), normal(*right, seed=1))


@pytest.mark.parametrize(("left", "right"), [((2, 3, 4), (5, 4, 6)), ((), (3,)), ((3,), ())])
def test_dot_takes_all_leading_axes(left, right):
    check("dot", normal(*left), normal(*right))


def test_matmul_refuses_scalars_and_axes_that_do_not_fit():
    with pytest.raises(ValueError, match="must have ndim at least 1"):
        jnp.matmul(2.0, jnp.ones(3))
    with pytest.raises(ValueError, match=r"float32\[2,2,3\] and float32\[5,3,4\]"):
        jnp.matmul(jnp.ones((2, 2, 3)), jnp.ones((5, 3, 4)))
    with pytest.raises(TypeError, match="contracting dimensions"):
        jnp.dot(jnp.ones(3), jnp.ones(4))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", ["vdot", "inner", "outer", "kron"])
def test_products_of_two_arrays(name, dtype):
    x, y = normal(2, 3, dtype=dtype), normal(2, 3, dtype=dtype, seed=1)
    check(name, x, y)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_vecdot_conjugates_and_takes_any_axis(dtype):
    x, y = normal(4, 3, 2, dtype=dtype), normal(4, 3, 2, dtype=dtype, seed=1)
    for axis in (0, 1, -1):
        expected = np.sum(np.conj(x) * y, axis)
        np.testing.assert_allclose(jnp.vecdot(x, y, axis=axis), expected, rtol=1e-5)


def test_matvec_and_vecmat():
    a, v = normal(5, 2, 3, dtype="complex64"), normal(3, dtype="complex64", seed=1)
    w = normal(5, 2, dtype="complex64", seed=2)
    np.testing.assert_allclose(jnp.matvec(a, v), a @ v, rtol=1e-5)
    expected = np.einsum("bn,bnm->bm", w.conj(), a)
    np.testing.assert_allclose(jnp.vecmat(w, a), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axes", [0, 1, 2, ([1, 0], [0, 1]), ((-1,), (1,)), (0, 1)])
def test_tensordot(axes):
    x, y = normal(3, 2, 4), normal(2, 4, 3, seed=1)
    if axes == 1:
        y = y.transpose(1, 0, 2)
    elif axes == ([1, 0], [0, 1]):
        y = y.transpose(0, 2, 1)
    elif axes == (0, 1):
        y = y.transpose(0, 2, 1)
    check("tensordot", x, y, axes)


def test_tensordot_refuses_axes_that_do_not_pair():
    with pytest.raises(TypeError, match="equal length"):
        jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=([0], [0, 1]))
    with pytest.raises(TypeError, match="exceeds input ranks"):
        jnp.tensordot(jnp.ones(2), jnp.ones(2), axes=2)


def test_cross():
    x, y = normal(5, 3), normal(5, 3, seed=1)
    check("cross", x, y)
    check("cross", x, y[0])
    check("cross", x.T, y.T, axis=0)
    check("cross", x, y, axisc=0)
    with pytest.raises(ValueError, match=r"Dimension must be 3[^(]*\(5, 2\)"):
        jnp.cross(x[:, :2], y[:, :2])


def test_dtype_of_products():
    half = jnp.ones((2, 2), "bfloat16")
    assert jnp.dot(half, half).dtype == "bfloat16"
    assert jnp.dot(half, half, preferred_element_type="float32").dtype == "float32"
    assert jnp.matmul(jnp.ones((2, 2), "int8"), half).dtype == "bfloat16"
    assert jnp.dot(2, 3).weak_type


def test_gradient_of_matmul_is_a_product():
    x, y = normal(2, 3), normal(3, 4, seed=1)
    dx, dy = jax.grad(lambda x, y: jnp.matmul(x, y).sum(), (0, 1))(x, y)
    np.testing.assert_allclose(dx, np.ones((2, 4)) @ y.T, rtol=1e-5)
    np.testing.assert_allclose(dy, x.T @ np.ones((2, 4)), rtol=1e-5)


def test_vmap_of_dot_and_matmul_are_one_program():
    x, y = jnp.ones((2, 3, 4)), jnp.ones((2, 4, 5))
    mapped, whole = (str(jax.make_jaxpr(f)(x, y)) for f in (jax.vmap(jnp.dot), jnp.matmul))
    assert (
        mapped == whole == str(jax.make_jaxpr(lambda x, y: jnp.einsum("bnk,bkm->bnm", x, y))(x, y))
    )
