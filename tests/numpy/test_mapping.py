"""Functions along axes, and packed bits, are NumPy's."""

import numpy as np
import pytest

import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(3, 4, 2)
BITS = np.random.default_rng(0).integers(0, 2, (5, 11))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_apply_along_axis(axis):
    expected = np.apply_along_axis(lambda v: v[:2] * v.sum(), axis, X)
    found = jnp.apply_along_axis(lambda v: v[:2] * v.sum(), axis, X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    expected = np.apply_along_axis(np.diag, axis, X)
    np.testing.assert_allclose(jnp.apply_along_axis(jnp.diag, axis, X), expected)


def test_further_arguments_are_passed_on():
    found = jnp.apply_along_axis(lambda v, k, b=0: v * k + b, 1, X, 2, b=1)
    np.testing.assert_allclose(found, X * 2 + 1, rtol=1e-6)


def test_apply_over_axes():
    expected = np.apply_over_axes(np.sum, X, (0, 2))
    np.testing.assert_allclose(jnp.apply_over_axes(jnp.sum, X, (0, 2)), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="not returning an array of the correct shape"):
        jnp.apply_over_axes(lambda a, i: a.sum(), X, [0])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_bits_are_packed_and_unpacked(axis, bitorder):
    check("packbits", BITS, axis=axis, bitorder=bitorder)
    packed = np.packbits(BITS, axis=axis, bitorder=bitorder)
    for count in (None, 5, 20, -3):
        check("unpackbits", packed, axis=axis, count=count, bitorder=bitorder)


def test_only_bits_are_packed():
    with pytest.raises(TypeError, match="integer or boolean"):
        jnp.packbits(X)
    with pytest.raises(TypeError, match="unsigned byte"):
        jnp.unpackbits(BITS)
