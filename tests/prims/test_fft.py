"""Fourier transforms obey the laws of `tests/support/harness.py`, and are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import fft
from tests.support.harness import laws
from tests.support.records import COMPLEXES, Record, normal

FIXED = {"empty": "the lengths are fixed"}
REAL_LINEAR = {
    **FIXED,
    "transpose": "linear over the reals only: see the test of adjoints of real transforms",
}


def transform(kind, *lengths) -> object:
    """Return the transform of fixed kind and lengths."""
    return lambda x: fft.fft(x, kind, lengths)


FLOATS = ("float32", "float64")
RECORDS = [
    Record("fft", transform("fft", 4), (normal(3, 4),), COMPLEXES, {}, ulps=256),
    Record("ifft2", transform("ifft", 3, 4), (normal(2, 3, 4),), COMPLEXES, {}, ulps=256),
    Record("rfft-even", transform("rfft", 4), (normal(3, 4),), FLOATS, REAL_LINEAR, ulps=256),
    Record("rfft-odd", transform("rfft", 5), (normal(3, 5),), FLOATS, REAL_LINEAR, ulps=256),
    Record("irfft", transform("irfft", 6), (normal(3, 4),), COMPLEXES, REAL_LINEAR, ulps=256),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("kind", ["rfft", "irfft"])
def test_adjoints_of_real_transforms(n, kind):
    generator = np.random.default_rng(n)
    half = (n // 2 + 1,)
    x = generator.normal(size=(n,)) if kind == "rfft" else generator.normal(size=half) + 0j
    function = transform(kind, n)
    x = x.astype(np.float32 if kind == "rfft" else np.complex64)
    out = np.asarray(function(x))
    ct = generator.normal(size=out.shape).astype(out.dtype)
    found = jax_vjp(function, x, ct)
    left, right = np.sum(ct * out).real, np.sum(found * x).real
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def jax_vjp(function, x, ct) -> np.ndarray:
    """Return the cotangent of x."""
    return np.asarray(jax.vjp(function, x)[1](ct)[0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: fft.fft(np.ones(4) + 0j, "rfft", (4,)),
            "only real valued inputs supported",
        ),
        (lambda: fft.fft(np.ones(4), "dct", (4,)), "Unknown FFT type 'dct'"),
        (lambda: fft.fft(np.ones((3, 4)), "fft", (3,)), "must be equal to fft_lengths"),
    ],
)
def test_wrong_calls_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("shape", [(1, 4096), (33, 1000), (203, 257), (70, 96, 64), (5, 300, 40)])
@pytest.mark.parametrize("rank", [1, 2])
def test_the_number_of_threads_changes_no_bit(
    kind: str, shape: tuple[int, ...], rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=shape).astype(np.float32)
    lengths = x.shape[-rank:]
    if kind != "rfft":
        x = np.stack([x, x[..., ::-1]], axis=-1)
    if kind == "irfft":
        lengths = (*lengths[:-1], 2 * lengths[-1] - 1)
    last = {"rfft": (lengths[-1] // 2 + 1, 2), "irfft": lengths[-1:]}.get(kind, (lengths[-1], 2))
    results = []
    for count in ("1", "2", "3", "5"):
        monkeypatch.setenv("TAPELESS_NUM_THREADS", count)
        out = np.full((*shape[:-1], *last), np.nan, np.float32)
        fft._function(fft.FftType[kind.upper()], lengths)(x, out)
        results.append(out)
    assert all(np.array_equal(results[0], other) for other in results)
    given = x if kind == "rfft" else x[..., 0] + 1j * x[..., 1]
    axes = tuple(range(-rank, 0))
    expected = getattr(np.fft, f"{kind}n")(given.astype(given.dtype), s=lengths, axes=axes)
    if kind != "irfft":
        expected = np.stack([expected.real, expected.imag], axis=-1)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(results[0] / scale, expected / scale, rtol=0, atol=2e-6)
