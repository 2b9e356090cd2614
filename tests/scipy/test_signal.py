"""Convolutions, trends and spectra against SciPy's and JAX's."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scipy import signal as scipy_signal

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.scipy import signal
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal, slope_error

MODES = ["full", "same", "valid"]
SHAPES = [((5,), (3,)), ((3,), (5,)), ((4, 5), (2, 3)), ((2, 3), (4, 5)), ((1,), (1,))]
T = (np.sin(np.arange(100)) + normal(100)).astype("float32")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("s", "t"), SHAPES, ids=str)
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
def test_convolutions_are_scipys(name, s, t, mode):
    libraries.check("signal", name, normal(*s), normal(*t, seed=1), mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("t", [(2, 3), (3, 2), (4, 5), (1, 1)], ids=str)
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_convolutions_of_matrices_are_scipys(name, t, mode):
    libraries.check("signal", name, normal(4, 5), normal(*t, seed=1), mode=mode)


def test_the_second_operand_of_a_correlation_is_conjugated():
    x, y = normal(5, dtype="complex64"), normal(3, dtype="complex64", seed=1)
    libraries.check("signal", "correlate", x, y)
    libraries.check("signal", "correlate", x, y, method="fft")
    libraries.check("signal", "convolve", normal(4, 4), normal(4, 4), method="fft", mode="same")


def test_axes_that_are_not_convolved_are_multiplied_in_pairs():
    libraries.check("signal", "fftconvolve", normal(4, 5), normal(2, 5), axes=0)
    libraries.check("signal", "fftconvolve", normal(4, 5), normal(4, 3), axes=[1], mode="same")
    x = normal(2, 3)
    np.testing.assert_allclose(signal.fftconvolve(x, x, axes=()), x * x, rtol=1e-6)


@pytest.mark.parametrize("options", [
    {}, {"axis": 0}, {"type": "constant"}, {"bp": 3}, {"bp": [2, 5]}, {"bp": np.array([2])},
], ids=str)  # fmt: skip
def test_trends_are_scipys(options):
    libraries.check("signal", "detrend", normal(6, 7), **options)


SPECTRA = [
    {},
    {"noverlap": 4, "nfft": 20, "fs": 2.0},
    {"nfft": 17, "scaling": "spectrum"},
    {"average": "median", "detrend": "linear"},
    {"detrend": False, "window": "boxcar"},
    {"return_onesided": False, "window": ("kaiser", 4.0)},
]


@pytest.mark.parametrize("options", SPECTRA, ids=str)
def test_powers_are_scipys(options):
    libraries.check("signal", "welch", T, nperseg=16, **options)
    libraries.check("signal", "csd", T, T[:80][::-1], nperseg=16, **options)


def test_powers_of_several_signals():
    x, y = T.reshape(2, 50), T[::-1].reshape(2, 50)
    libraries.check("signal", "welch", x.T, nperseg=16, axis=0)
    libraries.check("signal", "csd", x, y, nperseg=15)
    libraries.check("signal", "csd", x.T + 1j, y.T, nperseg=15, axis=0)


@pytest.mark.parametrize("options", [
    {}, {"boundary": None}, {"boundary": "even"}, {"boundary": "odd"}, {"boundary": "constant"},
    {"padded": False}, {"detrend": "constant", "fs": 3.0}, {"nfft": 21},
    {"return_onesided": False, "noverlap": 3}, {"nperseg": 15}, {"nperseg": 15, "boundary": None},
], ids=str)  # fmt: skip
def test_spectra_over_time_are_scipys(options):
    libraries.check("signal", "stft", T[:90], **{"nperseg": 16, **options})


@pytest.mark.parametrize(
    "options", [{}, {"noverlap": 12}, {"window": np.ones(16)}, {"nfft": 20}], ids=str
)
def test_inversion_is_scipys_and_gives_the_signal(options):
    spectra = scipy_signal.stft(T, nperseg=16, **options)[2].astype("complex64")
    libraries.check("signal", "istft", spectra, nperseg=16, fs=2, **options)
    np.testing.assert_allclose(signal.istft(spectra, nperseg=16, **options)[1][:100], T, atol=1e-5)


def test_inversion_along_other_axes():
    _, _, spectra = signal.stft(T.reshape(2, 50).T, nperseg=16, axis=0)
    times, found = signal.istft(spectra, nperseg=16, time_axis=-1, freq_axis=0)
    assert times.shape == (56,)
    np.testing.assert_allclose(found[:50], T.reshape(2, 50).T, atol=1e-5)


@pytest.mark.parametrize("call", [
    lambda x: signal.convolve(x, x[:3]) ** 2,
    lambda x: signal.fftconvolve(x, x[:3], "same") ** 2,
    lambda x: signal.detrend(x, bp=2) ** 2,
    lambda x: signal.welch(x, nperseg=4)[1],
    lambda x: jnp.abs(signal.stft(x, nperseg=4)[2]) ** 2,
    lambda x: signal.istft(signal.stft(x, nperseg=4)[2] ** 2, nperseg=4)[1],
])  # fmt: skip
def test_gradients_match_differences(call):
    with jax.enable_x64(True):
        assert slope_error(call, normal(9, dtype="float64")) < 1e-6


def test_a_batch_is_a_loop():
    x = normal(3, 12)
    call = jax.jit(jax.vmap(lambda x: signal.welch(signal.convolve(x, x, "same"), nperseg=4)[1]))
    expected = [signal.welch(signal.convolve(row, row, "same"), nperseg=4)[1] for row in x]
    np.testing.assert_allclose(call(x), expected, rtol=1e-4)


NAMES = {
    "x": normal(5),
    "m": normal(3, 4),
    "i": np.arange(12, dtype="int32").reshape(3, 4),
    "t": T,
    "s": scipy_signal.stft(T, nperseg=16)[2].astype("complex64"),
}
VALUES = [
    "jax.scipy.signal.convolve(i[0], i[1])",
    "jax.scipy.signal.convolve(i[0], i[1], method='fft')",
    "jax.scipy.signal.convolve(x, x, precision='highest')",
    "jax.scipy.signal.convolve(x.astype('float16'), np.ones(2, 'float16'))",
    "jax.scipy.signal.convolve(x, x, 'fancy')",
    "jax.scipy.signal.convolve(x, x, method='fancy')",
    "jax.scipy.signal.convolve(x[:0], x)",
    "jax.scipy.signal.convolve(m[:2], m[:, :2], 'valid')",
    "jax.scipy.signal.convolve2d(i, i)",
    "jax.scipy.signal.convolve2d(m, m, boundary='wrap')",
    "jax.scipy.signal.correlate2d(m, m, fillvalue=1)",
    "jax.scipy.signal.correlate2d(x, x)",
    "jax.scipy.signal.fftconvolve(2.0, 3.0)",
    "jax.scipy.signal.fftconvolve(m[:0], m[:2])",
    "jax.scipy.signal.fftconvolve(m, m[:2], axes=(1,))",
    "jax.scipy.signal.fftconvolve(m, x)",
    "jax.scipy.signal.fftconvolve(m[:2], m[:, :2], 'valid')",
    "jax.scipy.signal.fftconvolve(m, m, 'fancy')",
    "jax.scipy.signal.detrend(i, type='constant')",
    "jax.scipy.signal.detrend([1.0, 2.0])",
    "jax.scipy.signal.detrend(x, type='c')",
    "jax.scipy.signal.detrend(x, bp=9)",
    "jax.scipy.signal.detrend(x, overwrite_data=True)",
    "jax.scipy.signal.welch(t)",
    "jax.scipy.signal.welch((10 * t).astype('int32'), nperseg=16)",
    "jax.scipy.signal.welch(t, window=np.ones(16, 'float32'))",
    "jax.scipy.signal.welch(t, nperseg=16, detrend=lambda x: x - 1)",
    "jax.scipy.signal.welch(t, nperseg=16, fs=np.float32(3))",
    "jax.scipy.signal.welch(t[:0])",
    "jax.scipy.signal.welch(t, window=np.ones(16, 'f'), nperseg=8)",
    "jax.scipy.signal.welch(t, window=np.ones(200, 'f'))",
    "jax.scipy.signal.welch(t, nperseg=16, nfft=8)",
    "jax.scipy.signal.welch(t, nperseg=16, noverlap=16)",
    "jax.scipy.signal.welch(t, nperseg=16, scaling='fancy')",
    "jax.scipy.signal.welch(t, nperseg=16, average='fancy')",
    "jax.scipy.signal.welch(t, nperseg=16, window='fancy')",
    "jax.scipy.signal.csd(t[:0], t)",
    "jax.scipy.signal.csd(t, None, nperseg=16)",
    "jax.scipy.signal.stft(t)",
    "jax.scipy.signal.stft(t[:0])",
    "jax.scipy.signal.stft(t, boundary='fancy')",
    "jax.scipy.signal.stft(t, nperseg=16, detrend=True)",
    "jax.scipy.signal.istft(s, input_onesided=False)",
    "jax.scipy.signal.istft(s, boundary=False)",
    "jax.scipy.signal.istft(s.T, time_axis=0, freq_axis=1)",
    "jax.scipy.signal.istft(np.ones((9, 4), 'float32'))",
    "jax.scipy.signal.istft(s, window=np.ones(15))",
    "jax.scipy.signal.istft(s, nfft=10)",
    "jax.scipy.signal.istft(s, time_axis=0, freq_axis=0)",
    "jax.scipy.signal.istft(t)",
]
ERRORS = [
    "jax.scipy.signal.convolve(x, m)",
    "jax.scipy.signal.convolve2d(x, m)",
    "jax.scipy.signal.csd(t, t.reshape(2, 50))",
    "jax.scipy.signal.csd(t.reshape(2, 50), np.ones((3, 50), 'f'))",
    "jax.scipy.signal.detrend(2.0)",
    "jax.scipy.signal.detrend(x[:0])",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES, tolerance=2e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_spectra_of_signals_without_samples_have_single_precision_or_more(dtype: str) -> None:
    x = jnp.ones((5, 0), dtype)
    assert [y.dtype.name for y in signal.welch(x)] == ["float32", "float32"]
    assert [y.dtype.name for y in signal.csd(x, x)] == ["float32", "complex64"]
