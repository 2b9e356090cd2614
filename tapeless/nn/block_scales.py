"""Products of numbers in few bits, with a scale for each block of them.

An operand is cut, along the axis that is summed over, into blocks that share a scale:

    x (b, m, k)  ->  data (b, m, k) in 4 or 8 bits, scales (b, m, k / block);   x = data * scales

The scale takes the largest number of a block to the largest number of the format.  `mxfp8` and
`mxfp4` have powers of two as scales, rounded up; `nvfp4` has scales of 8 bits, and one more for the
whole array, which the user knows (`global_scale`).

Accelerators multiply such numbers directly.  Here they are widened before the product, so what is
had is their arithmetic, not their speed.  A block of zeros has the scale 0 and stays zero.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tapeless import dtypes, lax
from tapeless.api.custom import custom_vjp
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.choice import clip, where
from tapeless.numpy.common import asarray, check_arraylike
from tapeless.numpy.joining import repeat
from tapeless.numpy.reductions import max as maximum

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]

_MX_MODES = ("mxfp8", "mxfp4")
_RESULTS = (np.float32, ml_dtypes.bfloat16, np.float16)


@dataclass(frozen=True)
class BlockScaleConfig:
    """How an operand is cut into blocks, and the formats of its numbers and its scales.

    global_scale: (1,), of the whole array; None where the format has none.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any

    @property
    def largest(self) -> float:
        """The largest number of the format."""
        return float(ml_dtypes.finfo(self.data_type).max)


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """Return how `scaled_dot_general` is to cut one operand: "mxfp8", "mxfp4" or "nvfp4".

    global_scale: (1,), for "nvfp4"; 1 if not given.  "mxfp4" refuses one, "mxfp8" ignores it.

    >>> get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "nvfp4":
        scale = np.ones(1, np.float32) if global_scale is None else global_scale
        return BlockScaleConfig(
            mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, asarray(scale)
        )
    if mode not in _MX_MODES:
        raise ValueError(f"Unsupported mode: {mode}; give 'mxfp8', 'mxfp4' or 'nvfp4'")
    if mode == "mxfp4" and global_scale is not None:
        raise ValueError("mxfp4 has no global_scale, but got one; leave it out, or use 'nvfp4'")
    data_type = ml_dtypes.float8_e4m3fn if mode == "mxfp8" else ml_dtypes.float4_e2m1fn
    return BlockScaleConfig(mode, 32, data_type, ml_dtypes.float8_e8m0fnu, None)


def scaled_matmul(
    lhs: Any,
    rhs: Any,
    lhs_scales: Any,
    rhs_scales: Any,
    preferred_element_type: Any = np.float32,
) -> Value:
    """Return the product, over the last axis, of operands whose blocks have scales.

        result[b, m, n] = sum_k lhs[b, m, k] lhs_scales[b, m, k // block] rhs[...] rhs_scales[...]

    lhs: (b, m, k), rhs: (b, n, k), lhs_scales: (b, m, k / block), rhs_scales: (b, n, k / block)
    -> (b, m, n) of `preferred_element_type`, in which everything is computed.  Unlike JAX's it has
    derivatives.  Raises ValueError for shapes that do not match.

    >>> a, b = np.array([[[1, 2, 3]]]), np.array([[[4, 5, 6]]])
    >>> half = np.full((1, 1, 1), 0.5, "float32")
    >>> scaled_matmul(a, b, half, half)
    Array([[[8.]]], dtype=float32)
    """
    check_arraylike("scaled_matmul", lhs, rhs, lhs_scales, rhs_scales)
    _check_shapes([np.shape(x) for x in (lhs, rhs, lhs_scales, rhs_scales)])
    dtype = dtypes.canonicalize_dtype(preferred_element_type)
    return _product(_widened(lhs, lhs_scales, dtype), _widened(rhs, rhs_scales, dtype), dtype)


def _check_shapes(shapes: Sequence[tuple[int, ...]]) -> None:
    """Refuse shapes of operands and scales that do not belong together."""
    lhs, rhs, lhs_scales, rhs_scales = shapes
    if any(len(shape) != 3 for shape in shapes):
        raise ValueError(
            f"scaled_matmul requires all inputs to be 3-dimensional arrays, but got the shapes "
            f"{', '.join(map(str, shapes))}"
        )
    if lhs[0] != rhs[0] or lhs[2] != rhs[2]:
        raise ValueError(
            f"scaled_matmul requires inputs a and b to have matching batch (B) and contract (K) "
            f"dimensions, but got shapes {lhs} and {rhs}"
        )
    if lhs_scales[0] != rhs_scales[0] or lhs_scales[2] != rhs_scales[2]:
        raise ValueError(
            f"scaled_matmul requires scales to have matching batch (B) and contract (K) "
            f"dimensions, but got shapes {lhs_scales} and {rhs_scales}"
        )
    for operand, scales in ((lhs, lhs_scales), (rhs, rhs_scales)):
        if operand[:2] != scales[:2] or scales[2] == 0 or operand[2] % scales[2]:
            raise ValueError(
                f"scaled_matmul requires one scale for each block of a row, but got an operand of "
                f"shape {operand} and scales of shape {scales}; make them "
                f"{operand[:2] + ('K / block',)}"
            )


def _widened(x: Any, scales: Any, dtype: np.dtype) -> Value:
    """x: (b, m, k), scales: (b, m, k / block) -> their product (b, m, k) in `dtype`."""
    x, scales = (lax.convert_element_type(value, dtype) for value in (x, scales))
    return x * repeat(scales, typeof(x).shape[-1] // typeof(scales).shape[-1], axis=-1)


def _product(lhs: Value, rhs: Value, dtype: Any) -> Value:
    """lhs: (b, m, k), rhs: (b, n, k) -> (b, m, n)."""
    return lax.dot_general(lhs, rhs, (((2,), (2,)), ((0,), (0,))), preferred_element_type=dtype)


def _quantize(x: Value, config: BlockScaleConfig) -> tuple[Value, Value]:
    """x: (b, m, k) -> data (b, m, k), scales (b, m, k / block), both held in float32."""
    b, m, k = typeof(x).shape
    if k % config.block_size:
        raise ValueError(
            f"scaled_dot_general in {config.mode} cuts the contracted axes into blocks of "
            f"{config.block_size}, but they have {k} numbers; pad them (the gradient contracts "
            f"the other axes, so it needs this of them too)"
        )
    blocks = lax.reshape(x, (b, m, k // config.block_size, config.block_size))
    if config.global_scale is not None:
        blocks = blocks / config.global_scale
    wanted = maximum(abs(blocks), axis=-1, keepdims=True) / config.largest
    if config.mode in _MX_MODES:
        scales = _powers_of_two(lax.convert_element_type(wanted, np.float32))
    else:
        top = float(ml_dtypes.finfo(config.scale_type).max)
        scales = _rounded(clip(wanted, 0, top), config.scale_type)
    divisor = lax.convert_element_type(scales, typeof(blocks).dtype)
    data = clip(blocks / where(divisor > 0, divisor, 1), -config.largest, config.largest)
    return (
        lax.reshape(_rounded(data, config.data_type), (b, m, k)),
        lax.reshape(scales, (b, m, k // config.block_size)),
    )


def _rounded(x: Value, dtype: Any) -> Value:
    """Round numbers in the range of a narrow format to it, and return them in float32."""
    if dtype is not ml_dtypes.float4_e2m1fn:
        x = lax.convert_element_type(x, dtype)
        return lax.convert_element_type(x, np.float32)
    # The compiler has no four-bit floats: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
    x = lax.convert_element_type(x, np.float32)
    step = where(abs(x) < 2, 0.5, where(abs(x) < 4, 1.0, 2.0))
    return lax.round(x / step, lax.RoundingMethod.TO_NEAREST_EVEN) * step


def _powers_of_two(x: Value) -> Value:
    """Return the smallest power of two in 2**-127 ... 2**127 that is at least x."""
    bits = lax.bitcast_convert_type(x, np.uint32)
    exponent, mantissa = bits >> 23, bits & 0x7FFFFF
    # Below 2**-126 numbers lose their leading one: what is left of 2**-127 is 0x400000.
    is_between = where(exponent == 0, mantissa > 0x400000, (mantissa > 0) & (exponent < 254))
    power = where(is_between, exponent + 1, exponent)
    return lax.bitcast_convert_type(where(power == 0, 0x400000, power << 23), np.float32)


def _scaled_product(
    lhs: Value,
    rhs: Value,
    lhs_config: BlockScaleConfig,
    rhs_config: BlockScaleConfig,
    dtype: Any,
) -> Value:
    """Cut both operands into blocks and multiply: (b, m, k), (b, n, k) -> (b, m, n)."""
    global_scales = [
        config.global_scale
        for config in (lhs_config, rhs_config)
        if config.global_scale is not None
    ]
    inner = np.dtype(np.float32) if global_scales else dtype
    result = _product(
        _widened(*_quantize(lhs, lhs_config), inner),
        _widened(*_quantize(rhs, rhs_config), inner),
        inner,
    )
    for scale in global_scales:
        result = result * scale
    return lax.convert_element_type(result, dtype)


def _cotangent(
    ct: Value,
    other: Value,
    operand: Value,
    configs: tuple[BlockScaleConfig, BlockScaleConfig, BlockScaleConfig],
    dtype: Any,
) -> Value:
    """Return the cotangent of one operand, from that of the product and the other operand.

    ct: (b, m, n), other: (b, n, k), operand: (b, m, k) -> (b, m, k); the configs are those of the
    operand, of the other one, and of cotangents.  With `nvfp4` the rounding is passed over, but
    for numbers that were cut off.
    """
    own, others, config = configs
    transposed = lax.transpose(other, (0, 2, 1))
    if config.mode in _MX_MODES:
        result = _scaled_product(ct, transposed, config, others, dtype)
        return lax.convert_element_type(result, typeof(operand).dtype)
    result = _product(ct, lax.convert_element_type(transposed, typeof(ct).dtype), typeof(ct).dtype)
    if own.global_scale is not None:
        limit = own.global_scale * (own.largest * float(ml_dtypes.finfo(own.scale_type).max))
        result = where(abs(operand) <= limit, result, 0)
    return lax.convert_element_type(result, typeof(operand).dtype)


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Value:
    """Return `lax.dot_general` of operands that are rounded to blocks of few bits.

    lhs: (b, m, k), rhs: (b, n, k), k contracted -> (b, m, n)
    configs: of lhs, of rhs and of cotangents, as `get_scaled_dot_general_config` makes them; None
    computes the product without rounding.  preferred_element_type: float32, bfloat16 or float16.
    `implementation` is ignored, and deprecated.  Raises ValueError where the contracted axes are
    not full blocks, and TypeError for other results.

    >>> config = get_scaled_dot_general_config("mxfp4")
    >>> x, y = np.full((1, 32), 0.3, "float32"), np.full((1, 32), 2, "float32")
    >>> scaled_dot_general(x, y, (((1,), (1,)), ((), ())), configs=[config] * 3)
    Array([[16.]], dtype=float32)
    """
    check_arraylike("scaled_dot_general", lhs, rhs)
    if implementation is not None:
        message = "implementation is ignored: there is one; leave the argument out"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
    dtype = np.dtype(preferred_element_type)
    if configs is None:
        return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=dtype)
    if dtype not in _RESULTS:
        raise TypeError(
            f"Only support preferred_element_type in (f32, bf16, f16), but got {dtype.name}"
        )
    if len(configs) < 3:
        raise ValueError(
            f"scaled_dot_general needs three configs, of lhs, of rhs and of cotangents, but got "
            f"{len(configs)}"
        )
    contracted, batch = dimension_numbers
    operands = [_as_matrices(asarray(x), contracted[i], batch[i]) for i, x in enumerate((lhs, rhs))]
    (lhs_matrix, batch_shape, rows), (rhs_matrix, _, columns) = operands
    result = _with_gradient(configs, dtype)(lhs_matrix, rhs_matrix)
    return lax.reshape(result, batch_shape + rows + columns)


def _as_matrices(
    x: Value, contracted: Sequence[int], batch: Sequence[int]
) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
    """Return x as floating (b, m, k), with the shapes that b and m stand for."""
    shape = typeof(x).shape
    rows = [dim for dim in range(len(shape)) if dim not in (*contracted, *batch)]
    batch_shape, row_shape, sums = (
        tuple(shape[dim] for dim in dims) for dims in (batch, rows, contracted)
    )
    if not dtypes.issubdtype(typeof(x).dtype, np.floating):
        x = lax.convert_element_type(x, np.float32)
    moved = lax.transpose(x, (*batch, *rows, *contracted))
    matrices = lax.reshape(moved, tuple(map(math.prod, (batch_shape, row_shape, sums))))
    return matrices, batch_shape, row_shape


def _with_gradient(configs: Sequence[BlockScaleConfig], dtype: Any) -> Any:
    """Return the product of blocks with its gradient, which is cut into blocks as well."""
    ours, theirs, config = configs[:3]

    @custom_vjp
    def product(lhs: Value, rhs: Value) -> Value:
        """lhs: (b, m, k), rhs: (b, n, k) -> (b, m, n)."""
        return _scaled_product(lhs, rhs, ours, theirs, dtype)

    def forward(lhs: Value, rhs: Value) -> tuple[Value, tuple[Value, Value]]:
        """Keep the operands as they were."""
        return product(lhs, rhs), (lhs, rhs)

    def backward(kept: tuple[Value, Value], ct: Value) -> tuple[Value, Value]:
        """ct: (b, m, n)."""
        lhs, rhs = kept
        turned = lax.transpose(ct, (0, 2, 1))
        return (
            _cotangent(ct, rhs, lhs, (ours, theirs, config), dtype),
            _cotangent(turned, lhs, rhs, (theirs, ours, config), dtype),
        )

    product.defvjp(forward, backward)
    return product
