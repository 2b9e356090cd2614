"""Fourier transforms are NumPy's, for every axis, length and norm."""

from typing import Any

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(3, 4, 6)
Z = normal(3, 4, 6, dtype="complex64")
SEVERAL = "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
REAL = ("rfft", "ihfft", "rfft2", "rfftn")


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, norm):
    x = X if name in REAL else Z
    for axis, n in ((0, None), (1, 3), (-1, 7)):
        check(f"fft.{name}", x, n, axis, norm, tolerance=1e-4)


def test_the_inverse_of_hfft_takes_sequences():
    want = np.fft.ihfft([4.0, 2.0])
    assert jnp.fft.ihfft((4, 2)).tolist() == jnp.fft.ihfft([4.0, 2.0]).tolist() == want.tolist()


@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name):
    x = X if name in REAL else Z
    check(f"fft.{name}", x, tolerance=1e-4)
    check(f"fft.{name}", x, axes=(0, 2), norm="ortho", tolerance=1e-4)
    check(f"fft.{name}", x, s=(5, 4), axes=(2, 1), norm="forward", tolerance=1e-4)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_more_than_three_axes(name):
    x = normal(2, 3, 2, 2, 3)
    check(f"fft.{name}", x, tolerance=1e-4)
    check(f"fft.{name}", x, s=(2, 2, 3, 2, 4), axes=(0, 1, 2, 3, 4), tolerance=1e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_frequencies(n):
    check("fft.fftfreq", n)
    check("fft.rfftfreq", n, 0.3)


def test_shifts():
    check("fft.fftshift", X)
    check("fft.fftshift", X, axes=(0, 1))
    check("fft.ifftshift", X, axes=1)
    check("fft.fftshift", X, axes=(0, 0, -1))


def test_transforms_are_linear_maps_with_the_transforms_as_gradients():
    weights = normal(6, dtype="complex64", seed=3)
    found = jax.grad(lambda x: jnp.real(jnp.vdot(weights, jnp.fft.fft(x))))(X[0, 0])
    expected = np.real(np.fft.fft(weights.conj()))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jnp.fft.fft(X, axis=(0, 1)), "does not support multiple axes"),
        (lambda: jnp.fft.fft(X, n=0), "Shape should be positive"),
        (lambda: jnp.fft.fft(X, norm="x"), "Invalid norm value x"),
        (lambda: jnp.fft.fft2(X, axes=(0,)), "only supports 2 axes"),
        (lambda: jnp.fft.fftn(X, axes=(0, 0)), "does not support repeated axes"),
        (lambda: jnp.fft.fftn(X, s=(2, 3), axes=(0,)), "different lengths"),
        (lambda: jnp.fft.rfft(Z), "only real valued inputs"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("axes", [5, (0, -4)])
def test_shifts_along_axes_that_are_not_there_are_index_errors(axes: Any) -> None:
    for function in (jnp.fft.fftshift, jnp.fft.ifftshift):
        with pytest.raises(IndexError, match="is out of bounds for array of dimension 2"):
            function(jnp.ones((2, 3)), axes=axes)


def test_the_length_of_an_axis_that_is_not_there_is_an_index_error() -> None:
    for x, axis in ((5, -1), (np.ones(4, np.float32), 3)):
        with pytest.raises(IndexError):
            jnp.fft.ihfft(x, axis=axis)
