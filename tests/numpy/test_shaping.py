"""Tests of rearranging, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.arange(24).reshape(2, 3, 4)
CALLS = [
    ("reshape", ((4, 6),)),
    ("reshape", (-1,)),
    ("reshape", ((6, -1),)),
    ("reshape", ((4, 6), "F")),
    ("reshape", ((4, 3, 2), "F")),
    ("ravel", ()),
    ("ravel", ("F",)),
    ("transpose", ()),
    ("transpose", ((1, -1, 0),)),
    ("permute_dims", ((2, 0, 1),)),
    ("matrix_transpose", ()),
    ("swapaxes", (0, -1)),
    ("moveaxis", (0, -1)),
    ("moveaxis", ((0, 2), (1, 0))),
    ("rollaxis", (2,)),
    ("rollaxis", (0, 2)),
    ("expand_dims", (1,)),
    ("expand_dims", ((0, -1),)),
    ("broadcast_to", ((5, 2, 3, 4),)),
    ("flip", ()),
    ("flip", ((0, 2),)),
    ("fliplr", ()),
    ("flipud", ()),
    ("rot90", ()),
    ("rot90", (2,)),
    ("rot90", (-1, (1, 2))),
    ("atleast_3d", ()),
]


@pytest.mark.parametrize(("name", "args"), CALLS, ids=lambda value: str(value).replace(" ", ""))
def test_arrays_as_numpy(name, args):
    function, expected = getattr(jnp, name), getattr(np, name)(X, *args)
    for found in (function(X, *args), jax.jit(lambda x: function(x, *args))(X)):
        np.testing.assert_array_equal(found, expected)


def test_squeeze():
    x = X[:, None, :, :, None]
    np.testing.assert_array_equal(jnp.squeeze(x), np.squeeze(x))
    np.testing.assert_array_equal(jnp.squeeze(x, -1), np.squeeze(x, -1))
    with pytest.raises(ValueError, match="size not equal to one"):
        jnp.squeeze(x, 0)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_least_ranks(name, rank):
    x = np.zeros(range(2, 2 + rank))
    assert getattr(jnp, name)(x).shape == getattr(np, name)(x).shape
    assert isinstance(getattr(jnp, name)(x, x), tuple)


def test_broadcasting():
    x, y = np.zeros((3, 1)), np.zeros(4)
    assert [z.shape for z in jnp.broadcast_arrays(x, y)] == [(3, 4), (3, 4)]
    assert jnp.broadcast_shapes((3, 1), 4) == (3, 4)
    with pytest.raises(ValueError, match="Incompatible types for broadcasting: input type="):
        jnp.broadcast_to(x, (4, 4))
    with pytest.raises(ValueError, match="Cannot broadcast to shape with fewer dimensions"):
        jnp.broadcast_to(x, 3)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((4, 2), r"cannot reshape array of shape \(2, 3, 4\) \(size 24\) into shape \(4, 2\)"),
        ((5, -1), "does not evenly divide 24"),
        ((-1, -1), "can only specify one unknown axis size"),
        (2.5, "Shapes must be 1D sequences"),
    ],
    ids=str,
)
def test_faulty_shapes(shape, text):
    with pytest.raises(TypeError, match=text):
        jnp.reshape(X, shape)


def test_faulty_axes():
    with pytest.raises(ValueError, match="axis 5 is out of bounds"):
        jnp.moveaxis(X, 0, 5)
    with pytest.raises(ValueError, match="Inconsistent number of elements: 2 vs 1"):
        jnp.moveaxis(X, (0, 1), (0,))
    with pytest.raises(ValueError, match=r"repeated axis in lax.expand_dims: \(0, 0\)"):
        jnp.expand_dims(X, (0, 0))
    with pytest.raises(ValueError, match="Axes must be different"):
        jnp.rot90(X, 1, (0, 0))
    with pytest.raises(NotImplementedError, match="np.reshape order=A"):
        jnp.reshape(X, (4, 6), order="A")
