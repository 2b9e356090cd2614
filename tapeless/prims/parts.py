"""Complex numbers from their parts and back: real, imag, conj, complex.

Differentiation treats a complex number as the pair of its parts; the transposes here are those of
complex-linear algebra without conjugation: the transpose of `real` is r -> r + 0i, of `imag` it is
r -> 0 - ri.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.common import (
    COMPLEX,
    PARTS,
    Elementwise,
    Tangents,
    broadcast_elements,
    const,
    dtype_of,
    strong_zero,
    unbroadcast,
    zero_cotangents,
)
from tapeless.prims.unary import neg

__all__ = ["complex", "complex_p", "conj", "conj_p", "imag", "imag_p", "real", "real_p"]


class Part(Elementwise):
    """One part of a complex number."""

    accepts = (COMPLEX,)

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return the dtype of the parts."""
        return np.zeros((), operands[0]).real.dtype

    def back(self, ct: Value) -> Value:
        """Return the complex cotangent."""
        raise NotImplementedError

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Put the cotangent in its place in a complex number."""
        (ct,), (x,) = cotangents, args
        return (Zero(x.aval) if isinstance(ct, Zero) else self.back(ct),)


class Real(Part):
    """The real part."""

    name = "real"
    partials = (lambda t, out, x: real(t),)
    kernel_name = "re"
    hlo_name = "stablehlo.real"
    numpy = np.real

    def back(self, ct: Value) -> Value:
        """r -> r + 0i."""
        return complex(ct, strong_zero(ct))


real_p = Real()


def real(x: Value) -> Value:
    """Return the real part, elementwise.

    >>> lax.real(jnp.array([1 + 2j, -3j]))
    Array([ 1., -0.], dtype=float32)
    """
    return real_p.bind(x)[0]


class Imag(Part):
    """The imaginary part."""

    name = "imag"
    partials = (lambda t, out, x: imag(t),)
    kernel_name = "im"
    hlo_name = "stablehlo.imag"
    numpy = np.imag

    def back(self, ct: Value) -> Value:
        """r -> 0 - ri."""
        return complex(strong_zero(ct), neg(ct))


imag_p = Imag()


def imag(x: Value) -> Value:
    """Return the imaginary part, elementwise.

    >>> lax.imag(jnp.array([1 + 2j, -3j]))
    Array([ 2., -3.], dtype=float32)
    """
    return imag_p.bind(x)[0]


class Complex(Elementwise):
    """x + iy."""

    name = "complex"
    accepts = (PARTS, PARTS)
    kernel_name = "pair"
    hlo_name = "stablehlo.complex"

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return the complex dtype."""
        return dtypes.to_complex_dtype(operands[0])

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Combine the tangents; a missing one is the scalar 0."""
        (out,) = self.bind(*primals)
        t, u = tangents
        aval = typeof(out).tangent()
        if isinstance(t, Zero) and isinstance(u, Zero):
            return (out,), (Zero(aval),)
        t = const(primals[0], 0) if isinstance(t, Zero) else t
        u = const(primals[1], 0) if isinstance(u, Zero) else u
        return (out,), (broadcast_elements(complex(t, u), aval),)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Take the parts: of ct for x, of -ct for y."""
        (ct,), (x, y) = cotangents, args
        if isinstance(ct, Zero):
            return zero_cotangents(args)
        first = unbroadcast(real(ct), x.aval) if isinstance(x, Linear) else None
        second = unbroadcast(imag(neg(ct)), y.aval) if isinstance(y, Linear) else None
        return first, second

    @staticmethod
    def numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Set both parts, so that infinities do not mix."""
        out = np.empty(np.broadcast_shapes(x.shape, y.shape), np.complex128)
        out.real, out.imag = x, y
        return out


complex_p = Complex()


def complex(x: Value, y: Value) -> Value:
    """Return x + iy, elementwise.

    >>> lax.complex(jnp.array([1.0, 2.0]), jnp.array([0.0, -1.0]))
    Array([1.+0.j, 2.-1.j], dtype=complex64)
    """
    return complex_p.bind(x, y)[0]


class Conj(Elementwise):
    """The complex conjugate, complex also for a real operand (of dtype `input_dtype`)."""

    name = "conj"
    accepts = ((*PARTS, *COMPLEX),)
    partials = (lambda t, out, x, **params: conj_p.bind(t, **params)[0],)

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return the complex dtype."""
        return dtypes.to_complex_dtype(operands[0])

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Conjugate the cotangent; for a real operand, take its real part."""
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        if dtypes.issubdtype(params["input_dtype"], np.complexfloating):
            return (conj(ct),)
        return (real(ct),)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Negate the imaginary part."""
        (x,) = scalars
        return b.pair(b.re(x), b.neg(b.im(x)))

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Negate the imaginary part."""
        (x,) = args
        if dtypes.issubdtype(params["input_dtype"], np.complexfloating):
            return (complex(real(x), neg(imag(x))),)
        return (complex(x, neg(const(x, 0))),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Conjugate with NumPy."""
        dtype = self.out_dtype(arrays[0].dtype)
        return (np.conj(arrays[0].astype(dtype)),)


conj_p = Conj()


def conj(x: Value) -> Value:
    """Return the complex conjugate, elementwise.

    >>> lax.conj(jnp.array([1 + 2j, -3j]))
    Array([ 1.-2.j, -0.+3.j], dtype=complex64)
    """
    return conj_p.bind(x, input_dtype=dtype_of(x))[0]
