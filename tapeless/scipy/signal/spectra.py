"""Spectra of signals, by Fourier transforms of windowed segments.

    signal  (..., n)  ->  segments  (..., m, nperseg)  ->  spectra  (..., m, f)

Segments start nperseg - noverlap apart.  From each its trend is taken, it is multiplied by the
window and transformed to nfft frequencies, or to half of them for real signals.

    stft    the spectra, over time
    csd     conj(X) Y of the spectra of two signals, averaged over time;  welch: |X|^2

scaling "density" divides by fs sum(w^2), "spectrum" by sum(w)^2; stft divides by sum(w).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
)
from tapeless.scipy.signal.trends import detrend as without_trend
from tapeless.util import frames, lazy
from tapeless.util.records import record

__all__ = ["csd", "stft", "welch"]

scipy_signal = lazy.load("scipy.signal")
_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


@record
class _Plan:
    """How a signal is cut and weighted: lengths in samples, and the window (nperseg)."""

    window: Value
    nperseg: int
    noverlap: int
    nfft: int

    @property
    def step(self) -> int:
        """How far apart segments start."""
        return self.nperseg - self.noverlap


def window_and_length(window: Any, nperseg: int | None, n: int) -> tuple[Any, int]:
    """Return the window, an array, and the length of segments, for a signal of n samples."""
    if isinstance(window, (str, tuple)):
        length = 256 if nperseg is None else nperseg
        if length > n:
            frames.warn(
                f"nperseg={length} is greater than signal length max(len(x), len(y)) = {n}, using "
                f"nperseg = {n}"
            )
            length = n
        return asarray(scipy_signal.get_window(window, length)), length
    given = asarray(window)
    if given.ndim != 1:
        raise ValueError("window must be 1-D")
    length = given.shape[0]
    if length > n:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != length:
        raise ValueError("value specified for nperseg is different from length of window")
    return given, length


def _plan(
    window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None, n: int, dtype: Any
) -> _Plan:
    """Check the lengths that the user gave, for a signal of n samples."""
    if nperseg is not None and int(nperseg) < 1:
        raise ValueError("nperseg must be a positive integer")
    values, length = window_and_length(window, None if nperseg is None else int(nperseg), n)
    if nfft is not None and nfft < length:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    overlap = length // 2 if noverlap is None else int(noverlap)
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    weights = values.astype(_real_dtype(dtype))
    return _Plan(weights, length, overlap, length if nfft is None else int(nfft))


def _extended(x: Value, reach: int, boundary: str | None) -> Value:
    """Return a signal with `reach` samples more at either end."""
    if boundary is None or reach == 0:
        return x
    widths = [(0, 0)] * (x.ndim - 1) + [(reach, reach)]
    if boundary == "zeros":
        return jnp.pad(x, widths)
    if boundary == "constant":
        return jnp.pad(x, widths, mode="edge")
    return jnp.pad(x, widths, mode="reflect", reflect_type=boundary)


def _segments(x: Value, plan: _Plan) -> Value:
    """Return the segments of a signal: (..., n) -> (..., m, nperseg)."""
    starts = np.arange(0, x.shape[-1] - plan.nperseg + 1, plan.step)
    return x[..., starts[:, None] + np.arange(plan.nperseg)]


def _trend_remover(trend: Any) -> Callable[[Value], Value]:
    """Return the function of segments that an argument `detrend` stands for."""
    if trend is False:
        return lambda segments: segments
    if callable(trend):
        return trend
    if isinstance(trend, str):
        return lambda segments: without_trend(segments, axis=-1, type=trend)
    raise ValueError(f"Unsupported detrend type: {trend}")


def _spectra(x: Value, plan: _Plan, trend: Any, is_half: bool) -> Value:
    """Return the spectra of the segments of a signal: (..., n) -> (..., m, f)."""
    segments = _trend_remover(trend)(_segments(x, plan)) * plan.window
    transform = jnp.fft.rfft if is_half else jnp.fft.fft
    return transform(segments, n=plan.nfft)


def _frequencies(nfft: int, fs: Any, is_half: bool, dtype: Any) -> Value:
    """Return the frequencies of spectra."""
    numbers = jnp.fft.rfftfreq(nfft) if is_half else jnp.fft.fftfreq(nfft)
    return (numbers * fs).astype(_real_dtype(dtype))


def _real_dtype(dtype: Any) -> Any:
    """Return the dtype of frequencies and times, for signals of this dtype."""
    return jnp.finfo(jnp.result_type(dtype, jnp.complex64)).dtype


def _on_last_axis(x: Value, axis: int) -> Value:
    """Return a signal with time as its last axis."""
    return jnp.moveaxis(x, canonicalize_axis(axis, x.ndim), -1)


def _density_factor(plan: _Plan, fs: Any, scaling: str) -> Value:
    """Return what products of spectra are multiplied by."""
    if scaling == "density":
        return 1.0 / (fs * jnp.sum(plan.window * plan.window))
    if scaling == "spectrum":
        return 1.0 / jnp.sum(plan.window) ** 2
    raise ValueError(f"Unknown scaling: {scaling}")


def _median_bias(n: int) -> float:
    """Return the mean of the median of n exponential variables of mean 1."""
    even = 2.0 * np.arange(1, (n - 1) // 2 + 1)
    return float(1 + np.sum(1 / (even + 1) - 1 / even))


def _averaged(spectra: Value, average: str) -> Value:
    """Return the average over segments: (..., m, f) -> (..., f)."""
    if average == "mean":
        return spectra.mean(axis=-2)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    bias = _median_bias(spectra.shape[-2])
    if jnp.iscomplexobj(spectra):
        parts = jnp.median(spectra.real, axis=-2), jnp.median(spectra.imag, axis=-2)
        return jnp.asarray(parts[0] + 1j * parts[1]) / bias
    return jnp.median(spectra, axis=-2) / bias


def _two_signals(x: Any, y: Any, axis: int) -> tuple[Value, Value | None]:
    """Return one or two signals of one dtype, whose shapes fit but for the axis of time."""
    if y is None:
        check_arraylike("csd", x)
        return promote_dtypes_inexact(asarray(x))[0], None
    check_arraylike("csd", x, y)
    first, second = promote_dtypes_inexact(asarray(x), asarray(y))
    if first.ndim != second.ndim:
        raise ValueError(f"two-arguments must have the same rank ({first.ndim} vs {second.ndim}).")
    axis = canonicalize_axis(axis, first.ndim)
    shapes = [np.delete(each.shape, axis) for each in (first, second)]
    try:
        np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        raise ValueError(
            f"x and y cannot be broadcast together: shapes {first.shape}, {second.shape}."
        ) from None
    return first, second


def _no_spectrum(x: Value, y: Value | None, axis: int) -> tuple[Value, Value]:
    """Return the empty result for signals without samples."""
    shape = list(x.shape)
    spectrum = jnp.result_type(x, jnp.complex64)
    real = jnp.finfo(spectrum).dtype
    if y is not None:
        n = min(x.shape[axis], y.shape[axis])
        shape = list(np.broadcast_shapes(*(tuple(np.delete(v.shape, axis)) for v in (x, y))))
        shape.insert(axis % x.ndim, n)
    return jnp.zeros(shape, real), jnp.zeros(shape, real if y is None else spectrum)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Value, Value]:
    """Return frequencies and the cross spectral density: (..., n), (..., n) -> (f), (..., f).

    y: a second signal, filled with zeros to the length of x (or x to its); None: x itself, which
    gives real numbers.  fs: samples a unit of time.  window: a name or tuple for SciPy's
    get_window, or an array.  nperseg: samples a segment, 256 by default.  noverlap: how many of
    them segments share, half by default.  nfft: to how many samples segments are filled with zeros.
    detrend: "constant", "linear", a function of segments (along their last axis), or False.
    return_onesided: half of the frequencies, with twice the power, for real signals.
    scaling: "density" or "spectrum".  average: "mean" or "median".

    >>> frequencies, density = csd(jnp.arange(8.0), jnp.ones(8), nperseg=4)
    >>> density.shape, density.dtype
    ((3,), dtype('complex64'))
    """
    x, y = _two_signals(x, y, axis)
    axis = canonicalize_axis(axis, x.ndim)
    if x.size == 0 or (y is not None and y.size == 0):
        return _no_spectrum(x, y, axis)
    signals = [_on_last_axis(each, axis) for each in ((x,) if y is None else (x, y))]
    n = max(each.shape[-1] for each in signals)
    signals = [
        jnp.pad(each, [(0, 0)] * (x.ndim - 1) + [(0, n - each.shape[-1])]) for each in signals
    ]
    plan = _plan(window, nperseg, noverlap, nfft, n, x.dtype)
    is_half = return_onesided and not jnp.iscomplexobj(x)
    spectra = [_spectra(each, plan, detrend, is_half) for each in signals]
    first, last = spectra[0], spectra[-1]
    power = jnp.real(first) ** 2 + jnp.imag(first) ** 2 if y is None else jnp.conj(first) * last
    power = power * _density_factor(plan, fs, scaling)
    if is_half:
        twice = np.full(power.shape[-1], 2)
        twice[0] = 1
        if plan.nfft % 2 == 0:
            twice[-1] = 1
        power = power * twice
    frequencies = _frequencies(plan.nfft, fs, is_half, x.dtype)
    return frequencies, jnp.moveaxis(_averaged(power, average), -1, axis)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Value, Value]:
    """Return frequencies and the power spectral density: (..., n) -> (f), (..., f).

    This is Welch's method: the powers of segments, averaged.  The parameters are those of `csd`.

    >>> frequencies, density = welch(jnp.array([1.0, -1.0] * 8), nperseg=8)
    >>> frequencies[density.argmax()]
    Array(0.5, dtype=float32)
    """
    return csd(
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Value, Value, Value]:
    """Return frequencies, times and spectra of segments: (..., n) -> (f), (m), (..., f, m).

    boundary: how the signal is extended by half a segment at either end: "zeros", "even", "odd",
    "constant", or None.  padded: whether zeros fill the last segment.  The others: as in `csd`.

    >>> frequencies, times, spectra = stft(jnp.ones(8), nperseg=4)
    >>> times
    Array([0., 2., 4., 6., 8.], dtype=float32)
    """
    if boundary not in _BOUNDARIES:
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}"
        )
    check_arraylike("stft", x)
    (signal,) = promote_dtypes_inexact(asarray(x))
    axis = canonicalize_axis(axis, signal.ndim)
    if signal.size == 0:
        empty = jnp.zeros(signal.shape, jnp.finfo(signal.dtype).dtype)
        return empty, empty, jnp.zeros(signal.shape, jnp.result_type(signal, jnp.complex64))
    moved = _on_last_axis(signal, axis)
    plan = _plan(window, nperseg, noverlap, nfft, moved.shape[-1], signal.dtype)
    moved = _extended(moved, plan.nperseg // 2, boundary)
    if padded:
        missing = (-(moved.shape[-1] - plan.nperseg) % plan.step) % plan.nperseg
        moved = jnp.pad(moved, [(0, 0)] * (moved.ndim - 1) + [(0, missing)])
    is_half = return_onesided and not jnp.iscomplexobj(signal)
    spectra = _spectra(moved, plan, detrend, is_half) / jnp.sum(plan.window)
    starts = np.arange(spectra.shape[-2]) * plan.step
    middle = plan.nperseg / 2 if boundary is None else 0.0
    times = (jnp.asarray(starts + middle) / fs).astype(_real_dtype(signal.dtype))
    frequencies = _frequencies(plan.nfft, fs, is_half, signal.dtype)
    return frequencies, times, jnp.moveaxis(jnp.swapaxes(spectra, -1, -2), -2, axis)
