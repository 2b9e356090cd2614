"""Products, convolutions, Fourier transforms, and the linear algebra of the dialect itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.contraction import einsum
from tapeless.prims.linalg.matrices import adjoint
from tapeless.stablehlo.calls import Call, Rules

__all__ = ["RULES"]


def _precision(call: Call) -> Any:
    """Return what `precision_config` asks for; None if it asks for nothing."""
    levels = call.get("precision_config", None) or ()
    known = [lax.Precision.__members__.get(str(level)) for level in levels]
    return tuple(known) if len(known) == 2 and None not in known else None


def _algorithm(call: Call) -> Any:
    """Return the precision of a product: an algorithm by name, or the levels of the operands."""
    parts = call.get("algorithm", None)
    if not isinstance(parts, dict):
        return _precision(call)
    names = ("lhs_precision_type", "rhs_precision_type", "accumulation_type")
    words = [str(parts.get(name, "")).upper() for name in names]
    passes = parts.get("num_primitive_operations", 1)
    name = "_".join(words) + (f"_X{passes}" if passes != 1 else "")
    if name not in lax.DotAlgorithmPreset.__members__:
        call.refuse(f"the algorithm {name} is not known")
    return lax.DotAlgorithmPreset[name]


_DOT_KEYS = (
    "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
    "lhs_batching_dimensions",
    "rhs_batching_dimensions",
)


def _dot_general(call: Call, x: Value, y: Value) -> Value:
    """x: (b, n, k), y: (b, k, m) -> (b, n, m), whichever axes these are."""
    axes = call.axes("dot_dimension_numbers", *_DOT_KEYS)
    numbers = ((axes[0], axes[1]), (axes[2], axes[3]))
    return lax.dot_general(x, y, numbers, _algorithm(call), call.out.dtype)


def _dot(call: Call, x: Value, y: Value) -> Value:
    """x: (n, k) or (k), y: (k, m) or (k): the older form, without batches."""
    numbers = (((typeof(x).ndim - 1,), (0,)), ((), ()))
    return lax.dot_general(x, y, numbers, _precision(call), call.out.dtype)


def _ragged_dot(call: Call, x: Value, y: Value, sizes: Value) -> Value:
    """x: (n, k), y: (g, k, m), sizes: (g), how many rows of x go with each y[g] -> (n, m)."""
    keys = ("lhs_contracting_dimensions", "rhs_contracting_dimensions", "lhs_batching_dimensions")
    ragged = ("lhs_ragged_dimensions", "rhs_group_dimensions")
    found = call.axes("ragged_dot_dimension_numbers", *keys, *ragged)
    if found != [(1,), (1,), (), (0,), (0,)]:
        call.refuse("rows of a matrix in groups, without batches, are the only form")
    n, groups = typeof(x).shape[0], typeof(y).shape[0]
    ends = lax.cumsum(lax.convert_element_type(sizes, np.int32))
    row = lax.broadcasted_iota(np.int32, (n, groups), 0)
    ended = lax.le(lax.broadcast_in_dim(ends, (n, groups), (1,)), row)
    group = lax.reduce_sum(lax.convert_element_type(ended, np.int32), (1,))
    member = lax.eq(
        lax.broadcasted_iota(np.int32, (n, groups), 1),
        _columns(group, groups),
    )
    each = lax.dot_general(
        x,
        y,
        (((1,), (1,)), ((), ())),
        _precision(call),
        call.out.dtype,
    )
    mask = lax.broadcast_in_dim(member, typeof(each).shape, (0, 1))
    return lax.reduce_sum(lax.select(mask, each, lax.full_like(each, 0)), (1,))


def _columns(x: Value, n: int) -> Value:
    """x: (m) -> (m, n), columns all alike."""
    return lax.broadcast_in_dim(x, (typeof(x).shape[0], n), (0,))


def _spec(
    axes: Sequence[Any],
    first: str,
    second: str,
    call: Call,
) -> tuple[int, ...]:
    """Return the positions of two lettered axes, then of the spatial ones in their order."""
    spatial = sorted(axis for axis in axes if isinstance(axis, int))
    wanted = [first, second, *spatial]
    if len(set(axes)) != len(axes) or set(wanted) != set(axes):
        call.fail(f"axes must be {first}, {second} and spatial numbers, got {list(axes)}")
    return tuple(list(axes).index(axis) for axis in wanted)


def _convolution(call: Call, x: Value, kernel: Value) -> Value:
    """x: (b, i, n), kernel: (o, i, w) -> (b, o, m), whichever axes these are."""
    dims = call.get("dimension_numbers")
    if not isinstance(dims, tuple) or len(dims) != 3:
        call.fail("dimension_numbers such as [b, f, 0]x[o, i, 0]->[b, f, 0] are wanted")
    numbers = lax.ConvDimensionNumbers(
        _spec(dims[0], "b", "f", call),
        _spec(dims[1], "o", "i", call),
        _spec(dims[2], "b", "f", call),
    )
    n_spatial = len(dims[0]) - 2
    ones = [1] * n_spatial
    turned = call.get("window_reversal", [False] * n_spatial)
    spatial = numbers.rhs_spec[2:]
    kernel = lax.rev(kernel, [axis for axis, flag in zip(spatial, turned, strict=True) if flag])
    return lax.conv_general_dilated(
        x,
        kernel,
        call.integers("window_strides", ones),
        call.pairs("padding", n_spatial),
        call.integers("lhs_dilation", ones),
        call.integers("rhs_dilation", ones),
        numbers,
        call.integer("feature_group_count", 1),
        call.integer("batch_group_count", 1),
        _precision(call),
        call.out.dtype,
    )


def _fft(call: Call, x: Value) -> Value:
    """Transform the last axes."""
    kind = str(call.get("fft_type"))
    return lax.fft(x, kind, call.integers("fft_length"))


def _cholesky(call: Call, x: Value) -> Value:
    """x: (n, n), of which one triangle is read -> the factor."""
    if call.flag("lower"):
        return lax.linalg.cholesky(x, symmetrize_input=False)
    return adjoint(lax.linalg.cholesky(adjoint(x), symmetrize_input=False))


def _triangular_solve(call: Call, a: Value, b: Value) -> Value:
    """a: (n, n), b: (n, m) or (m, n) -> the solution, of the shape of b."""
    kind = call.word("transpose_a", "NO_TRANSPOSE")
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=call.flag("left_side"),
        lower=call.flag("lower"),
        transpose_a=kind in ("TRANSPOSE", "ADJOINT"),
        conjugate_a=kind == "ADJOINT",
        unit_diagonal=call.flag("unit_diagonal"),
    )


# Normalization


def _along(call: Call, x: Value, feature: Value) -> Value:
    """feature: (f) -> the shape of x, which has f features along `feature_index`."""
    return lax.broadcast_in_dim(feature, typeof(x).shape, (call.integer("feature_index"),))


def _epsilon(call: Call, like: Value) -> Value:
    """Return the number that keeps a variance from being zero."""
    return lax.full_like(like, float(call.get("epsilon")))


def _moments(call: Call, x: Value) -> tuple[Value, Value]:
    """Return mean and variance of each feature."""
    axes = [axis for axis in range(typeof(x).ndim) if axis != call.integer("feature_index")]
    count = int(np.prod([typeof(x).shape[axis] for axis in axes], dtype=int))
    mean = lax.reduce_sum(x, axes)
    mean = lax.div(mean, lax.full_like(mean, count))
    deviation = lax.sub(x, _along(call, x, mean))
    total = lax.reduce_sum(lax.mul(deviation, deviation), axes)
    return mean, lax.div(total, lax.full_like(total, count))


def _batch_norm_inference(
    call: Call, x: Value, scale: Value, offset: Value, mean: Value, variance: Value
) -> Value:
    """Normalize by given moments."""
    root = lax.sqrt(lax.add(variance, _epsilon(call, variance)))
    centred = lax.div(
        lax.sub(x, _along(call, x, mean)),
        _along(call, x, root),
    )
    return lax.add(
        lax.mul(centred, _along(call, x, scale)),
        _along(call, x, offset),
    )


def _batch_norm_training(call: Call, x: Value, scale: Value, offset: Value) -> list[Value]:
    """Normalize by the moments of x, and return these."""
    mean, variance = _moments(call, x)
    return [_batch_norm_inference(call, x, scale, offset, mean, variance), mean, variance]


def _batch_norm_grad(
    call: Call,
    x: Value,
    scale: Value,
    mean: Value,
    variance: Value,
    cotangent: Value,
) -> list[Value]:
    """Return the gradients of x, scale and offset, given that of the normalized x."""
    axes = [axis for axis in range(typeof(x).ndim) if axis != call.integer("feature_index")]
    count = typeof(x).size // max(typeof(mean).size, 1)
    root = lax.sqrt(lax.add(variance, _epsilon(call, variance)))
    normal = lax.div(
        lax.sub(x, _along(call, x, mean)),
        _along(call, x, root),
    )
    of_scale = lax.reduce_sum(lax.mul(cotangent, normal), axes)
    of_offset = lax.reduce_sum(cotangent, axes)
    shared = lax.mul(normal, _along(call, x, of_scale))
    shared = lax.add(shared, _along(call, x, of_offset))
    rest = lax.sub(cotangent, lax.div(shared, lax.full_like(shared, count)))
    return [lax.mul(rest, _along(call, x, lax.div(scale, root))), of_scale, of_offset]


def _einsum(call: Call, *operands: Value) -> Value:
    """Sum products as the letters say: the older form of `dot_general`."""
    return einsum(str(call.get("einsum_config")), *operands)


RULES: Rules = {
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dot": _dot,
    "stablehlo.convolution": _convolution,
    "stablehlo.fft": _fft,
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
    "stablehlo.batch_norm_inference": _batch_norm_inference,
    "stablehlo.batch_norm_training": _batch_norm_training,
    "stablehlo.batch_norm_grad": _batch_norm_grad,
    "stablehlo.einsum": _einsum,
    "stablehlo.unary_einsum": _einsum,
    "chlo.ragged_dot": _ragged_dot,
}
