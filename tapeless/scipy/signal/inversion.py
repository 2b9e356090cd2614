"""Signals made of the spectra of their segments again: overlapped, added, weighed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_complex,
)
from tapeless.util import lazy

__all__ = ["istft"]

scipy_signal = lazy.load("scipy.signal")


def _lengths(
    n_frequencies: int, nperseg: int | None, nfft: int | None, is_half: bool
) -> tuple[int, int]:
    """Return the samples of a segment and of its transform."""
    whole = 2 * (n_frequencies - 1) if is_half else n_frequencies
    length = whole if nperseg is None else int(nperseg)
    if length < 1:
        raise ValueError("nperseg must be a positive integer")
    if nfft is None:
        is_odd = is_half and length == whole + 1
        return length, length if is_odd else whole
    if nfft < length:
        raise ValueError(f"FFT length ({nfft}) must be longer than nperseg ({length}).")
    return length, int(nfft)


def _window(window: Any, length: int) -> Value:
    """Return the window of segments of this length."""
    if isinstance(window, (str, tuple)):
        return asarray(scipy_signal.get_window(window, length))
    given = asarray(window)
    if given.ndim != 1:
        raise ValueError("window must be 1-D")
    if given.shape[0] != length:
        raise ValueError(f"window must have length of {length}")
    return given


def _added_up(segments: Value, step: int) -> Value:
    """Add segments that start `step` apart: (..., m, n) -> (..., (m - 1) step + n)."""
    m, n = segments.shape[-2:]
    places = np.arange(m)[:, None] * step + np.arange(n)
    zeros = jnp.zeros((*segments.shape[:-2], (m - 1) * step + n), segments.dtype)
    return zeros.at[..., places].add(segments)


def istft(
    Zxx: Any,  # noqa: N803
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Value, Value]:
    """Return times and the signal whose `stft` this is: (..., f, m) -> (n), (..., n).

    Of signals that fit no better, it is the one of least squares.  fs, window, nperseg, noverlap,
    nfft: those that `stft` had.  input_onesided: whether the spectra have half of the frequencies.
    boundary: whether the signal was extended by half a segment at either end, which is cut again.

    >>> from tapeless.scipy import signal
    >>> _, _, spectra = signal.stft(jnp.arange(8.0), nperseg=4)
    >>> istft(spectra, nperseg=4)[1].round(3) + 0.0
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    check_arraylike("istft", Zxx)
    (spectra,) = promote_dtypes_complex(asarray(Zxx))
    if spectra.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    time, frequency = (canonicalize_axis(axis, spectra.ndim) for axis in (time_axis, freq_axis))
    if time == frequency:
        raise ValueError("Must specify differing time and frequency axes!")
    length, size = _lengths(spectra.shape[frequency], nperseg, nfft, input_onesided)
    overlap = length // 2 if noverlap is None else int(noverlap)
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    weights = _window(window, length).astype(jnp.finfo(spectra.dtype).dtype)
    spectra = jnp.moveaxis(spectra, (time, frequency), (-2, -1))
    transform = jnp.fft.irfft if input_onesided else jnp.fft.ifft
    segments = transform(spectra, n=size)[..., :length] * (weights * jnp.sum(weights))
    total = _added_up(segments, length - overlap)
    squares = jnp.broadcast_to(weights * weights, segments.shape[-2:])
    weight = _added_up(squares, length - overlap)
    if boundary:
        half = length // 2
        bounds = slice(half, total.shape[-1] - half)
        total, weight = total[..., bounds], weight[bounds]
    signal = total / jnp.where(weight > 1e-10, weight, 1.0)
    times = (jnp.arange(signal.shape[-1]) / fs).astype(weights.dtype)
    outer = min(time, frequency)
    return times, jnp.moveaxis(signal, -1, outer) if outer < signal.ndim - 1 else signal
