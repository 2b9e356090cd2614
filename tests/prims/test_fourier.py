"""Fourier transforms by routines of our own: all ways to them, beside NumPy's in doubles."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler.target import host_target
from tapeless.core.aval import ShapedArray
from tapeless.kernel.strips import Registers
from tapeless.prims.fourier import shape_of_transform

WIDE, MIDDLE, ARM = Registers(32, 64), Registers(16, 32), Registers(32, 16)
ONE_AXIS = {
    "rows": (33, 64),
    "a rest of rows": (17, 40),
    "odd": (20, 75),
    "half of it odd": (18, 50),
    "primes": (16, 143),
    "few rows": (3, 256),
    "few short rows": (2, 16),
    "one row": (1024,),
    "one odd row": (2187,),
    "a long row": (3, 6400),
    "three axes": (3, 6, 32),
}
MORE_AXES = [(16, 16), (24, 40), (33, 100), (5, 32, 48), (32, 12, 18)]


def numbers(shape: tuple[int, ...], is_real: bool) -> np.ndarray:
    """Return normal numbers."""
    draw = np.random.default_rng(len(shape))
    x = draw.normal(size=shape)
    return x if is_real else x + 1j * draw.normal(size=shape)


def check(name: str, shape: tuple[int, ...], is_real: bool, wide: bool) -> None:
    """Compare a function of `jnp.fft` with NumPy's."""
    x = numbers(shape, is_real)
    options = {"s": shape} if name == "irfftn" else {}
    if name.startswith("irfft"):
        x = x[..., : shape[-1] // 2 + 1]
        options = options or {"n": shape[-1]}
    with jax.enable_x64(wide):
        own = x if wide else x.astype(np.float32 if is_real else np.complex64)
        given = jnp.asarray(own)
        aval = ShapedArray(given.shape, own.dtype)
        out = jax.eval_shape(lambda v: getattr(jnp.fft, name)(v, **options), given)
        out = ShapedArray(out.shape, out.dtype)
        lengths = shape if name.endswith("n") else shape[-1:]
        registers = host_target().registers or WIDE
        assert shape_of_transform(registers, aval, out, name.startswith("i"), lengths)
        found = np.asarray(jax.jit(lambda v: getattr(jnp.fft, name)(v, **options))(given))
    if name == "irfftn":
        options["axes"] = tuple(range(len(shape)))
    expected = getattr(np.fft, name)(own.astype(x.dtype), **options)
    scale = np.sqrt(np.mean(np.abs(expected) ** 2))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 12 * np.finfo(found.dtype).eps * scale


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("case", sorted(ONE_AXIS))
def test_lines(case, name, wide):
    check(name, ONE_AXIS[case], name == "rfft", wide)
    if name in ("fft", "ifft"):
        check(name, ONE_AXIS[case], True, wide)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("shape", MORE_AXES)
def test_more_axes(name, shape):
    check(name, shape, name == "rfftn", False)
    if name in ("fftn", "ifftn"):
        check(name, shape, True, False)


def test_axes_that_are_not_the_last_ones():
    x = numbers((64, 30, 3), False).astype(np.complex64)
    found = jax.jit(lambda v: jnp.fft.fft(v, axis=0))(x)
    np.testing.assert_allclose(found, np.fft.fft(x, axis=0), atol=1e-4)


def test_imaginary_parts_that_a_real_result_does_not_have_are_left_out():
    x = numbers((20, 17), False).astype(np.complex64)
    y = x.copy()
    y[:, [0, -1]] = y[:, [0, -1]].real + 5j
    for n in (32, 33):
        cut = jax.jit(lambda v, n=n: jnp.fft.irfft(v, n))
        expected = np.fft.irfft(y, n)
        np.testing.assert_allclose(cut(y), expected, atol=1e-6)


def test_infinities_stay_in_their_line():
    x = np.ones((20, 32), np.complex64)
    x[3, 5] = np.inf
    found = np.asarray(jax.jit(jnp.fft.fft)(x))
    assert not np.isfinite(found[3]).all()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


def test_a_line_has_the_same_bits_beside_others():
    x = numbers((37, 96), False).astype(np.complex64)
    f = jax.jit(jnp.fft.fft)
    whole = np.asarray(f(x))
    np.testing.assert_array_equal(whole[5:30], f(x[5:30]))
    np.testing.assert_array_equal(whole, jax.jit(jax.vmap(jnp.fft.fft))(x))
    np.testing.assert_array_equal(whole, jax.lax.map(jnp.fft.fft, x, batch_size=37))


BITS = """
import hashlib, numpy as np, tapeless as jax, tapeless.numpy as jnp
draw = np.random.default_rng(0)
made = hashlib.sha256()
for shape in ((500, 128), (100, 100), (32, 32, 32), (16384,)):
    x = (draw.normal(size=shape) + 1j * draw.normal(size=shape)).astype(np.complex64)
    for f, y in ((jnp.fft.fftn, x), (jnp.fft.ifft, x), (jnp.fft.rfft, x.real), (jnp.fft.irfft, x)):
        made.update(np.asarray(jax.jit(f)(y)).tobytes())
print(made.hexdigest())
"""


def test_bits_do_not_depend_on_the_number_of_threads():
    def bits(threads: int) -> str:
        """Return what a process prints."""
        env = {**os.environ, "TAPELESS_NUM_THREADS": str(threads)}
        run = subprocess.run([sys.executable, "-c", BITS], env=env, capture_output=True, check=True)
        return run.stdout.decode()

    assert bits(1) == bits(2) == bits(5)


def shape(registers, n, rows=32, dtype=np.complex64):
    """Return the shape for rows of complex numbers."""
    aval = ShapedArray((rows, n), np.dtype(dtype))
    return shape_of_transform(registers, aval, aval, False, (n,))


def test_which_lengths_have_routines():
    assert shape(WIDE, 64) is not None
    assert shape(WIDE, 64).steps is None
    assert shape(MIDDLE, 64) is not None
    assert shape(ARM, 64) is None
    assert shape(None, 64) is None
    assert shape(WIDE, 17) is None
    assert shape(WIDE, 2 * 4097) is None
    assert shape(WIDE, 4) is None
    assert shape(WIDE, 1 << 14).steps == (128, 128)
    assert shape(WIDE, 256, rows=1).steps == (16, 16)
    assert shape(WIDE, 1 << 21) is None
