"""Discrete Fourier transforms over the last axes.

    fft[fft_type=0 fft_lengths=(n,)]: (..., n) -> (..., n)
        y[k] = sum over j of x[j] exp(-2 pi i j k / n)
    ifft: the inverse, divided by n.   rfft: real (..., n) -> (..., n/2 + 1).   irfft: its inverse.

All are linear.  The matrix of fft is symmetric, so that fft and ifft transpose to themselves.  rfft
keeps half of a spectrum that is its own mirror image; its transpose is an irfft in which the
elements that stand for two count half, and the other way round.

Lengths whose primes are small are transformed by routines of our own (`prims/fourier.py`), others
by SciPy, called on the arrays in memory.  The compiler lets fft and ifft take real numbers, whose
spectrum is computed by halves.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import mul
from tapeless.prims.common import batch_dim, const, dtype_of, move_dim, shape_of
from tapeless.prims.convert import convert
from tapeless.prims.parts import conj
from tapeless.prims.rearrangement import array_text
from tapeless.prims.rules import LinearUnary, is_complex
from tapeless.prims.structural import reshape
from tapeless.util import lazy
from tapeless.util.apart import apart
from tapeless.util.processors import thread_count

__all__ = ["FftType", "fft", "fft_p"]

_transforms = lazy.load("scipy.fft")
fourier = lazy.load("tapeless.prims.fourier")
_LONG = 1 << 20  # elements of a transform that takes tenths of a second
_PIECE = 1 << 18  # elements of a call: what stays in the cache, for some threads
_VECTORS = 32  # rows that fill vectors of any machine, for one thread
_SHARED = 1 << 15  # elements that are worth the start of threads


class FftType(enum.IntEnum):
    """The kinds of transforms: complex, its inverse, of real numbers, and its inverse."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def _copied(x: np.ndarray) -> np.ndarray:
    """Return a copy, made in pieces, between which signals are handled."""
    copy = np.empty(x.shape, x.dtype)
    source, target = x.reshape(-1), copy.reshape(-1)
    for start in range(0, x.size, _LONG):
        target[start : start + _LONG] = source[start : start + _LONG]
    return copy


def _as_complex(x: np.ndarray) -> np.ndarray:
    """View the memory of complex numbers, a last axis of two, as complex numbers."""
    return x.view(np.result_type(x.dtype, np.complex64))[..., 0]


def _function(fft_type: int, lengths: Sequence[int]) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return the function that transforms an array over its last axes, into another one.

    It takes arrays as they are in memory: complex numbers are a last axis of two.
    """
    kind = FftType(fft_type)
    whole = "ifft" if kind in (FftType.IFFT, FftType.IRFFT) else "fft"
    others = range(-len(lengths), -1)
    along = partial(_along, thread_count())

    def transform(x: np.ndarray, out: np.ndarray) -> None:
        """Transform one array, axis by axis, where the result lies if it can be there."""
        if kind is FftType.RFFT:
            target = _as_complex(out)
            along(-1, "rfft", lengths[-1], x, target)
        elif kind is FftType.IRFFT:
            target = _copied(_as_complex(x)) if others else _as_complex(x)
        else:
            target = _as_complex(out)
            along(-1, whole, lengths[-1], x if x.ndim < out.ndim else _as_complex(x), target)
        for axis in others:
            along(axis, whole, lengths[axis], target, target)
        if kind is FftType.IRFFT:
            along(-1, "irfft", lengths[-1], target, out)

    return transform


def _along(
    most_threads: int,
    axis: int,
    name: str,
    length: int,
    source: np.ndarray,
    target: np.ndarray,
) -> None:
    """Transform one axis, in pieces that stay in the cache.

    source: (..., m, ...), target: (..., n, ...), in memory without gaps, or the same array.
    """
    run, in_place = getattr(_transforms, name), source is target
    before, after = source.shape[:axis], source.shape[axis:][1:]
    outer, inner = math.prod(before), math.prod(after)
    source, target = (x.reshape(outer, x.shape[axis], inner) for x in (source, target))
    if inner == 1:
        source, target = source[..., 0], target[..., 0]
    if outer == inner == 1:  # SciPy is quicker without a second axis
        return _transform(run, source[0], length, 0, 1, target[0])
    cut = 0 if outer >= inner else 2
    count = max(outer, inner)
    for start, stop, workers in _pieces(count, source.size // count, most_threads):
        place = (*(slice(None),) * cut, slice(start, stop))
        other = target[place]
        one = other if in_place else source[place]
        _transform(run, one, length, 1, workers, other)


def _transform(
    run: Callable, x: np.ndarray, length: int, axis: int, workers: int, target: np.ndarray
) -> None:
    """Transform one array into another one, or in place."""
    if x.size >= _LONG:
        own = _copied(x)  # the memory of x may be gone before a call that was left ends
        result = apart(lambda: run(own, length, axis, overwrite_x=True, workers=workers))
    elif x.dtype == target.dtype:
        if x is not target:
            target[...] = x
        result = run(target, length, axis, overwrite_x=True, workers=workers)
    else:
        result = run(x, length, axis, workers=workers)
    if not np.may_share_memory(result, target):
        target[...] = result


def _pieces(count: int, size: int, most_threads: int) -> Iterator[tuple[int, int, int]]:
    """Yield the starts and ends of pieces of rows, and how many threads are to transform each.

    A row may have other bits if it is not beside others in a vector, so that threads share whole
    vectors alone: the same rows are by themselves for any number of threads.
    """
    n_threads = most_threads if count * size >= _SHARED else 1
    unit = _VECTORS * n_threads
    step = unit * max(1, _PIECE // (unit * size))
    whole = count // unit * unit
    for start in range(0, whole, step):
        yield start, min(start + step, whole), n_threads
    if whole < count:
        yield whole, count, 1


class FFT(LinearUnary):
    """x (..., n) -> its transform over the last axes; see the module's docstring."""

    name = "fft"

    def abstract(
        self, x: ShapedArray, *, fft_type: int, fft_lengths: Sequence[int]
    ) -> tuple[ShapedArray, ...]:
        lengths = tuple(fft_lengths)
        rank = len(lengths)
        if rank > x.ndim:
            raise ValueError(
                f"FFT input shape {x.shape} must have at least as many input dimensions as "
                f"fft_lengths {lengths}."
            )
        batch, minor = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
        half = (*lengths[:-1], lengths[-1] // 2 + 1)
        expected = half if fft_type == FftType.IRFFT else lengths
        if minor != expected:
            kind = FftType(fft_type).name
            name = "FFT" if fft_type in (FftType.FFT, FftType.IFFT) else kind
            what = f"fft_lengths {lengths}"
            if fft_type == FftType.IRFFT:
                what = f"the half-complex lengths {half} of {what}"
            raise ValueError(
                f"{name} input shape {x.shape} minor dimensions must be equal to {what}"
            )
        if fft_type == FftType.RFFT:
            return (ShapedArray(batch + half, np.result_type(x.dtype, np.complex64)),)
        if fft_type == FftType.IRFFT:
            real = np.float32 if x.dtype == np.complex64 else np.float64
            return (ShapedArray(batch + lengths, real),)
        return (x.update(dtype=np.result_type(x.dtype, np.complex64)),)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        fft_type: int,
        fft_lengths: Sequence[int],
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        lengths = tuple(fft_lengths)
        if fft_type in (FftType.FFT, FftType.IFFT):
            return self.bind(ct, fft_type=fft_type, fft_lengths=lengths)
        size = int(np.prod(lengths))
        if fft_type == FftType.RFFT:
            weights = _weights(lengths, dtype_of(ct), 0.5)
            halved = mul(conj(ct), _stretched(weights, shape_of(ct)))
            (out,) = self.bind(halved, fft_type=FftType.IRFFT, fft_lengths=lengths)
            return (mul(out, const(out, size)),)
        (out,) = self.bind(ct, fft_type=FftType.RFFT, fft_lengths=lengths)
        weights = _weights(lengths, dtype_of(out), 2.0) / size
        weights = weights.astype(dtype_of(out))
        return (conj(mul(out, _stretched(weights, shape_of(out)))),)

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        return self.bind(move_dim(args[0], batch_dim(dims), 0), **params), (0,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        fft_type: int,
        fft_lengths: Sequence[int],
    ) -> tuple:
        if outs[0].size == 0 or args[0].aval.size == 0:
            return (b.constant(0, outs[0]),)
        kind = FftType(fft_type)
        is_inverse = kind in (FftType.IFFT, FftType.IRFFT)
        avals = (args[0].aval, outs[0])
        shape = fourier.shape_of_transform(b.registers, *avals, is_inverse, fft_lengths)
        if shape is not None:
            return (fourier.fourier_transform(b, args[0], outs[0], shape),)
        return b.host_call(_function(fft_type, fft_lengths), args, outs)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        fft_type: int,
        fft_lengths: Sequence[int],
    ) -> tuple:
        attributes = {
            "fft_length": array_text(fft_lengths),
            "fft_type": f"#stablehlo<fft_type {FftType(fft_type).name}>",
        }
        return b.op("stablehlo.fft", args, outs, attributes)

    def reference(self, x: np.ndarray, *, fft_type: int, fft_lengths: Sequence[int]) -> tuple:
        kind = FftType(fft_type).name.lower() + "n"
        lengths = tuple(fft_lengths)
        out = getattr(np.fft, kind)(x, s=lengths, axes=tuple(range(-len(lengths), 0)))
        double = x.dtype in (np.dtype(np.float64), np.dtype(np.complex128))
        wide = np.complex128 if double else np.complex64
        real = np.float64 if double else np.float32
        return (out.astype(real if fft_type == FftType.IRFFT else wide),)


def _weights(lengths: Sequence[int], dtype: Any, twice: float) -> np.ndarray:
    """Return `twice` for the elements of a half spectrum that stand for two, else 1."""
    n = lengths[-1]
    weights = np.full(n // 2 + 1, twice)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.astype(dtype)


def _stretched(x: np.ndarray, shape: Sequence[int]) -> Value:
    """Return a vector as an array of rank len(shape) that stretches to it along the last axis."""
    return reshape(x, (*(1 for _ in shape[1:]), x.shape[0]))


fft_p = FFT()


def fft(x: Value, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Value:
    """Return the Fourier transform over the last axes, of the given lengths.

    fft_type: "fft", "ifft", "rfft" or "irfft".
    x: (..., n) -> (..., n), or (..., n/2 + 1) for rfft.

    >>> lax.fft(jnp.array([1, 2, 3, 4], "complex64"), "fft", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    if isinstance(fft_type, str):
        if fft_type.upper() not in FftType.__members__:
            raise ValueError(f"Unknown FFT type '{fft_type}'")
        kind = FftType[fft_type.upper()]
    else:
        kind = FftType(fft_type)
    if kind is FftType.RFFT:
        if is_complex(dtype_of(x)):
            raise ValueError("only real valued inputs supported for rfft")
        x = convert(x, dtypes.to_inexact_dtype(dtype_of(x)))
    else:
        x = convert(x, dtypes.to_complex_dtype(dtype_of(x)))
    lengths = tuple(map(int, fft_lengths))
    return fft_p.bind(x, fft_lengths=lengths, fft_type=kind)[0] if lengths else x
