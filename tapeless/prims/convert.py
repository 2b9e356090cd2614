"""Changes of dtype: by value (`convert_element_type`), by bits (`bitcast_convert_type`), and
rounding to a lower precision.

`convert_element_type` is linear, except to and from integers: its tangent is the converted tangent,
its transpose converts back.  Converting complex numbers to real ones drops the imaginary part.

A Python or NumPy value is converted at once and stays a constant, also while a function is traced;
at the base trace it becomes an Array.

`bitcast_convert_type` between dtypes of different widths adds, or removes, a last axis:

    f32[n] -> u8[n, 4]          u8[n, 4] -> f32[n]            (least significant bits first)
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import Literal
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value, context, current_trace
from tapeless.prims.common import (
    ANY,
    FLOAT,
    Avals,
    Dims,
    Elementwise,
    Tangents,
    as_value,
    dtype_of,
    is_float0,
    move_dim,
    no_tangents,
)

__all__ = [
    "bitcast_convert_type",
    "bitcast_convert_type_p",
    "convert",
    "convert_element_type",
    "convert_element_type_p",
    "reduce_precision",
    "reduce_precision_p",
]


class ConvertElementType(Elementwise):
    """y = x as `new_dtype`."""

    name = "convert_element_type"
    types_follow = True
    hidden = {"sharding": None}
    accepts = (ANY,)
    hlo_name = "stablehlo.convert"

    def abstract(self, x: ShapedArray, **params: Any) -> Avals:
        """Return the new type; every dtype of numbers converts to every other."""
        new, old = params["new_dtype"], x.dtype
        if new != old and not (isinstance(new, np.dtype) and isinstance(old, np.dtype)):
            raise ValueError(
                f"Cannot convert_element_type from {dtypes.dtype_name(old)} to "
                f"{dtypes.dtype_name(new)}"
            )
        return (ShapedArray(x.shape, params["new_dtype"], params["weak_type"]),)

    def stage(self, trace: Any, args: Values, params: dict[str, Any]) -> tuple[Value, ...]:
        """Convert a literal at once."""
        atom = trace.atom(args[0])
        if isinstance(atom, Literal):
            constant = _converted(atom.val, params["new_dtype"], params["weak_type"])
            if constant is not None:
                return (trace.constant(constant),)
        return trace.emit(self, args, params)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Convert the tangent, unless an integer dtype cuts the dependence."""
        (out,) = self.bind(*primals, **params)
        aval = typeof(out).tangent()
        if is_float0(aval) or isinstance(tangents[0], Zero):
            return (out,), (Zero(aval),)
        return (out,), self.bind(tangents[0], **params)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Convert the cotangent back."""
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        return (convert(ct, x.aval.dtype, x.aval.weak_type),)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Convert one element."""
        return b.convert(scalars[0], params["new_dtype"])

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Convert with NumPy; out-of-range floats saturate, NaN becomes 0."""
        (x,), dtype = arrays, np.dtype(params["new_dtype"])
        if not dtypes.issubdtype(dtype, np.integer) or not dtypes.issubdtype(x.dtype, np.inexact):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return (x.astype(dtype),)
        low, high = int(dtypes.iinfo(dtype).min), int(dtypes.iinfo(dtype).max)
        whole = np.trunc(np.nan_to_num(x.real.astype(np.float64), posinf=np.inf, neginf=-np.inf))
        clipped = [min(max(v, low), high) for v in np.ravel(whole).tolist()]
        exact = np.array([int(v) for v in clipped], object)
        return (exact.astype(dtype).reshape(x.shape),)


convert_element_type_p = ConvertElementType()


def convert(x: Value, dtype: dtypes.Dtype, weak_type: bool = False) -> Value:
    """Return `x` with this dtype and weakness: `x` itself if it has them."""
    if isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
        narrowed = isinstance(dtype, np.dtype) and dtypes.canonicalize_dtype(dtype) != dtype
        if narrowed or current_trace().parent is not None:
            constant = _converted(x, dtype, weak_type)
            if constant is not None:
                return constant
    else:
        aval = typeof(x)
        if aval.dtype == dtype and aval.weak_type == weak_type:
            return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)[0]


def _converted(x: Any, dtype: dtypes.Dtype, weak_type: bool) -> Any:
    """Return a constant of this type, or None if there is none such."""
    if not isinstance(dtype, np.dtype) or dtype not in _PLAIN_DTYPES:
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        constant = np.asarray(x).astype(dtype)
    if dtypes.canonicalize_dtype(dtype) != dtype:
        # A NumPy value would be narrowed.
        return context.base.array(constant, ShapedArray(constant.shape, dtype, weak_type))
    if not weak_type:
        return constant[()]
    is_scalar = constant.shape == ()
    kind = dtypes.scalar_type_of(dtype)
    return constant.item() if is_scalar and dtypes.python_scalar_dtype(kind) == dtype else None


def convert_element_type(operand: Value, new_dtype: object) -> Value:
    """Return `operand` with its elements converted to `new_dtype`: (...) -> (...).

    Floats become integers by truncation, and saturate.

    >>> lax.convert_element_type(jnp.array([1.75, -2.5]), "int32")
    Array([ 1, -2], dtype=int32)
    """
    dtype = dtypes.check_user_dtype_supported(new_dtype, "convert_element_type")
    old = dtype_of(operand)
    if dtypes.issubdtype(old, np.complexfloating) and not (
        dtype == np.bool_ or dtypes.issubdtype(dtype, np.complexfloating)
    ):
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=2,
        )
    return as_value(convert(operand, dtype))


class BitcastConvertType(Primitive):
    """y = the bits of x as `new_dtype`."""

    name = "bitcast_convert_type"
    types_follow = True

    def abstract(self, x: ShapedArray, **params: Any) -> Avals:
        """Return the type with a last axis added or removed when the widths differ."""
        dtype = params["new_dtype"]
        old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
        shape = x.shape
        if old_bits > new_bits:
            shape = (*x.shape, old_bits // new_bits)
        elif old_bits < new_bits:
            last = x.shape[-1] if x.shape else 1
            if not x.shape or last * old_bits != new_bits:
                raise ValueError(
                    f"Attempting to convert array of shape {x.shape} from "
                    f"{dtypes.dtype_name(x.dtype)} of size {old_bits} bits to "
                    f"{dtypes.dtype_name(dtype)} of size {new_bits}, bits but "
                    f"{last} * {old_bits} != {new_bits}"
                )
            shape = x.shape[:-1]
        whole = [
            side == np.bool_ or dtypes.issubdtype(side, np.complexfloating)
            for side in (x.dtype, dtype)
        ]
        if x.dtype != dtype and any(whole):
            raise TypeError(
                "lax.bitcast_convert_type does not support bool or complex values unless the "
                "operand and destination types match. Got operand dtype="
                f"{dtypes.dtype_name(x.dtype)}, new_dtype={dtype!r}. Consider using the "
                "arr.view() method instead."
            )
        return (ShapedArray(shape, dtype),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Return a zero tangent: bits are not differentiable."""
        (out,) = self.bind(*primals, **params)
        return (out,), no_tangents((out,))

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Keep the batch axis where it is, but not last when a last axis is consumed."""
        (x,), (dim,) = args, dims
        aval = typeof(x)
        wider = dtypes.itemsize_bits(aval.dtype) < dtypes.itemsize_bits(params["new_dtype"])
        if wider and dim == len(aval.shape) - 1:
            x, dim = move_dim(x, dim, 0), 0
        return self.bind(x, **params), (dim,)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Cut the bits of an element up, or put those of several together."""
        (x,), (out,) = args, outs
        old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(out.dtype)
        if x.dtype == out.dtype:
            return (x,)
        old, new = _unsigned(old_bits), _unsigned(new_bits)

        def same(index: tuple) -> Any:
            """Reinterpret one element."""
            return b.bitcast(x.at(*index), out.dtype)

        def narrower(index: tuple) -> Any:
            """Shift the part wanted down and drop what is above it."""
            bits = b.bitcast(x.at(*index[:-1]), old)
            count = b.convert(b.imul(index[-1], new_bits), old)
            return b.bitcast(b.convert(b.shift_right_logical(bits, count), new), out.dtype)

        def wider(index: tuple) -> Any:
            """Shift each part up and join them."""
            total = b.const(0, new)
            for part in range(new_bits // old_bits):
                bits = b.convert(b.bitcast(x.at(*index, part), old), new)
                total = b.or_(total, b.shift_left(bits, b.const(part * old_bits, new)))
            return b.bitcast(total, out.dtype)

        pull = same if old_bits == new_bits else narrower if old_bits > new_bits else wider
        return (b.virtual(out, pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        return b.op("stablehlo.bitcast_convert", args, outs, {})

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """View the memory; the last axis follows from the widths."""
        x, dtype = np.ascontiguousarray(arrays[0]), np.dtype(params["new_dtype"])
        shape = self.abstract(typeof(x), **params)[0].shape
        flat = np.frombuffer(x.tobytes(), dtype)
        return (flat.reshape(shape),)


bitcast_convert_type_p = BitcastConvertType()


def bitcast_convert_type(operand: Value, new_dtype: object) -> Value:
    """Return the bits of `operand` read as `new_dtype`: (...) -> (...) for elements of one width.

    When the widths differ, a last axis holds, or held, the parts of one wider element.

    >>> lax.bitcast_convert_type(jnp.float32(1.0), "int32")
    Array(1065353216, dtype=int32)
    """
    dtype = dtypes.check_user_dtype_supported(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)[0]


class ReducePrecision(Elementwise):
    """y = x rounded to a format with `exponent_bits` and `mantissa_bits`; linear by convention."""

    name = "reduce_precision"
    accepts = (FLOAT,)
    partials = (lambda t, out, x, **params: reduce_precision(t, **params),)
    hlo_name = "stablehlo.reduce_precision"

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Round the cotangent."""
        (ct,) = cotangents
        return (ct,) if isinstance(ct, Zero) else self.bind(ct, **params)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Round the mantissa to even in the bits; then overflow to inf, underflow to 0."""
        (x,) = scalars
        exponent_bits, mantissa_bits = _format_of(x.dtype)
        word = _unsigned(1 + exponent_bits + mantissa_bits)
        bits = b.bitcast(x, word)
        dropped = mantissa_bits - params["mantissa_bits"]
        if dropped > 0:
            down = b.shift_right_logical(bits, b.const(dropped, word))
            last = b.and_(down, b.const(1, word))
            bias = b.add(last, b.const((1 << (dropped - 1)) - 1, word))
            kept = ((1 << word.itemsize * 8) - 1) ^ ((1 << dropped) - 1)
            bits = b.and_(b.add(bits, bias), b.const(kept, word))
        if params["exponent_bits"] < exponent_bits:
            bits = _clamp_exponent(b, bits, word, x.dtype, params["exponent_bits"])
        is_nan = b.ne(x, x)
        return b.select(is_nan, x, b.bitcast(bits, x.dtype))

    def hlo_attributes(self, *outs: ShapedArray, **params: Any) -> dict[str, str]:
        """Write both widths."""
        return {name: f"{params[name]} : i32" for name in ("exponent_bits", "mantissa_bits")}

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Round m in x = m * 2**e, 0.5 <= |m| < 1, in double precision."""
        x = arrays[0].astype(np.float64)
        with np.errstate(all="ignore"):
            mantissa, exponent = np.frexp(x)
            scale = 2.0 ** (params["mantissa_bits"] + 1)
            y = np.ldexp(np.round(mantissa * scale) / scale, exponent)
            if params["exponent_bits"] < _format_of(arrays[0].dtype)[0]:
                bias = (1 << (params["exponent_bits"] - 1)) - 1
                too_large = np.abs(y) >= 2.0 ** (bias + 1)
                too_small = np.abs(y) < 2.0 ** (1 - bias)
                y = np.where(too_large, np.copysign(np.inf, y), y)
                y = np.where(too_small, np.copysign(0.0, y), y)
            rounded = np.where(np.isfinite(x), y, x)
            return (rounded.astype(arrays[0].dtype),)


reduce_precision_p = ReducePrecision()


def reduce_precision(operand: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Return `operand` rounded to a floating-point format of these widths, in its own dtype.

    Elementwise.

    >>> lax.reduce_precision(jnp.array([1.1]), 5, 2)
    Array([1.], dtype=float32)
    """
    exponent_bits, mantissa_bits = operator.index(exponent_bits), operator.index(mantissa_bits)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    params = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    return reduce_precision_p.bind(operand, **params)[0]


# Helpers

_PLAIN_DTYPES = frozenset(
    (
        np.dtype("bool"),
        np.dtype("int8"),
        np.dtype("int16"),
        np.dtype("int32"),
        np.dtype("int64"),
        np.dtype("uint8"),
        np.dtype("uint16"),
        np.dtype("uint32"),
        np.dtype("uint64"),
        np.dtype("float16"),
        np.dtype(dtypes.bfloat16),
        np.dtype("float32"),
        np.dtype("float64"),
        np.dtype("complex64"),
        np.dtype("complex128"),
    )
)


def _unsigned(bits: int) -> np.dtype:
    """Return the unsigned integer dtype of this width."""
    return np.dtype(f"uint{bits}")


def _format_of(dtype: np.dtype) -> tuple[int, int]:
    """Return the numbers of exponent and mantissa bits of a floating-point dtype."""
    info = dtypes.finfo(dtype)
    return info.bits - 1 - info.nmant, info.nmant


def _clamp_exponent(b: Any, bits: Any, word: np.dtype, dtype: np.dtype, wanted: int) -> Any:
    """Return the bits with exponents that do not fit in `wanted` bits made inf or 0."""
    exponent_bits, mantissa_bits = _format_of(dtype)
    bias, wanted_bias = (1 << (exponent_bits - 1)) - 1, (1 << (wanted - 1)) - 1
    field = b.const(((1 << exponent_bits) - 1) << mantissa_bits, word)
    sign = b.and_(bits, b.const(1 << (exponent_bits + mantissa_bits), word))
    exponent = b.and_(bits, field)
    too_large = b.gt(exponent, b.const((bias + wanted_bias) << mantissa_bits, word))
    too_small = b.le(exponent, b.const((bias - wanted_bias) << mantissa_bits, word))
    bits = b.select(too_large, b.or_(sign, field), bits)
    return b.select(too_small, sign, bits)
