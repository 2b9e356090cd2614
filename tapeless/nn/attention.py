"""Scaled dot-product attention.

    query (b, t, n, h), key (b, s, k, h), value (b, s, k, h) -> (b, t, n, h)

    probabilities = softmax(scale query key^T + bias, where mask)        (b, k, g, t, s)

The n query heads are k groups of g = n / k heads that share a head of key and value.  Scores and
probabilities are held in float32 at least.  Of complex scores the real part decides.

Many scores are too large to hold.  Then the queries are cut into blocks; each block is computed by
itself in a loop, and again when it is differentiated: never are more scores in memory than those of
one block.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.checkpoint import checkpoint
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.nn.normalization import logsumexp, softmax
from tapeless.numpy.choice import where
from tapeless.numpy.common import asarray, check_arraylike
from tapeless.tree.registry import register_dataclass
from tapeless.util.records import record

__all__ = ["dot_product_attention"]

# How many scores may be in memory at once.
_MAX_SCORES = 2**22
_MASKED = -0.7


@functools.partial(
    register_dataclass,
    data_fields=["key", "value", "bias", "mask", "query_lengths", "key_lengths"],
    meta_fields=["scale", "is_causal", "window"],
)
@record
class _Attention:
    """What a block of queries attends to, and how.

    key, value: (b, s, k, h); bias, mask: None or (b | 1, k | 1, g | 1, t | 1, s | 1);
    query_lengths, key_lengths: None or (b,); window: how many positions are seen to the left and
    to the right of the query's, or None.
    """

    key: Value
    value: Value
    bias: Value | None
    mask: Value | None
    query_lengths: Value | None
    key_lengths: Value | None
    scale: float
    is_causal: bool
    window: tuple[int, int] | None

    def of_rows(self, query: Value, first: Any) -> tuple[Value, Value]:
        """Return results (b, t, k, g, h) and log-sums (b, k, g, t) of queries from row `first`."""
        scores = self._scores(query, first)
        weights = lax.convert_element_type(softmax(scores), typeof(self.value).dtype)
        result = lax.dot_general(
            weights,
            self.value,
            (((4,), (1,)), ((0, 1), (0, 2))),
            preferred_element_type=typeof(self.value).dtype,
        )
        result = lax.transpose(result, (0, 3, 1, 2, 4))
        if self.query_lengths is not None:
            inside = self._is_below(_positions(query, 1, first), self.query_lengths)
            spread = lax.broadcast_in_dim(inside, typeof(result).shape, (0, 1))
            weight = lax.convert_element_type(spread, typeof(result).dtype)
            result = lax.mul(result, weight)
        return result, lax.stop_gradient(logsumexp(scores, axis=-1))

    def _scores(self, query: Value, first: Any) -> Value:
        """Return scores (b, k, g, t, s), with a very low number where the mask forbids."""
        wide = dtypes.promote_types(typeof(query).dtype, np.float32)
        products = lax.dot_general(
            query, self.key, (((4,), (3,)), ((0, 2), (0, 2))), preferred_element_type=wide
        )
        scores = lax.mul(products, wide.type(self.scale))
        scores = lax.transpose(scores, (0, 1, 3, 2, 4))
        shape = typeof(scores).shape
        if self.bias is not None:
            rows = _rows(self.bias, shape[3], first)
            rows = lax.convert_element_type(rows, wide)
            scores = lax.add(scores, lax.broadcast_in_dim(rows, shape, range(5)))
        if dtypes.issubdtype(wide, np.complexfloating):
            scores = lax.real(scores)
        allowed = self._allowed(query, first, shape)
        if allowed is None:
            return scores
        real = typeof(scores).dtype
        lowest = real.type(_MASKED * float(dtypes.finfo(real).max))
        return where(allowed, scores, lowest)

    def _allowed(
        self,
        query: Value,
        first: Any,
        shape: Sequence[int],
    ) -> Value | None:
        """Return where queries may look, (b, k, g, t, s), or None for everywhere."""
        masks = []
        if self.mask is not None:
            rows = _rows(self.mask, shape[3], first)
            masks.append(lax.broadcast_in_dim(rows, shape, range(5)))
        row, column = _positions(query, 1, first), _positions(self.key, 1, 0)
        row = lax.broadcast_in_dim(row, shape[3:], (0,))
        column = lax.broadcast_in_dim(column, shape[3:], (1,))
        if self.is_causal:
            past = lax.ge(row, column)
            masks.append(lax.broadcast_in_dim(past, shape, (3, 4)))
        if self.window is not None:
            left, right = map(np.int32, self.window)
            end, start = lax.add(column, left), lax.sub(column, right)
            not_after, not_before = lax.le(row, end), lax.ge(row, start)
            near = lax.bitwise_and(not_after, not_before)
            masks.append(lax.broadcast_in_dim(near, shape, (3, 4)))
        if self.query_lengths is not None:
            inside = self._is_below(_positions(query, 1, first), self.query_lengths)
            masks.append(lax.broadcast_in_dim(inside, shape, (0, 3)))
        if self.key_lengths is not None:
            inside = self._is_below(_positions(self.key, 1, 0), self.key_lengths)
            masks.append(lax.broadcast_in_dim(inside, shape, (0, 4)))
        return functools.reduce(lax.bitwise_and, masks) if masks else None

    @staticmethod
    def _is_below(positions: Value, lengths: Value) -> Value:
        """Compare positions (t,) with lengths (b,): (b, t)."""
        shape = (*typeof(lengths).shape, *typeof(positions).shape)
        ends = lax.broadcast_in_dim(lengths, shape, (0,))
        return lax.lt(lax.broadcast_in_dim(positions, shape, (1,)), ends)


def _positions(x: Value, axis: int, first: Any) -> Value:
    """Return the numbers of the elements along an axis, from `first`: (n,)."""
    steps = lax.iota(np.int32, typeof(x).shape[axis])
    return lax.add(steps, lax.convert_element_type(first, np.int32))


def _rows(x: Value, n: int, first: Any) -> Value:
    """Return `n` rows of a bias or mask from row `first`; one row is good for all."""
    if typeof(x).shape[3] in (1, n):
        return x
    return lax.dynamic_slice_in_dim(x, first, n, 3)


def _of_four_axes(x: Value) -> Value:
    """Return an argument with axes of length 1 in front: (t, s) -> (1, 1, t, s)."""
    missing = range(4 - typeof(x).ndim)
    return lax.expand_dims(x, tuple(missing)) if missing else x


def _check_array(
    x: Any,
    name: str,
    shape: Sequence[int | None] = (),
    dtype: Any = None,
) -> Value | None:
    """Check the shape (None is any extent) and the dtype of an argument."""
    if x is None:
        return None
    x = asarray(x)
    aval = typeof(x)
    if len(aval.shape) != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {len(aval.shape)}")
    if any(want not in (None, got) for want, got in zip(shape, aval.shape, strict=True)):
        raise ValueError(f"{name} shape should be {list(shape)}: but got {aval.shape}")
    if dtype is not None and aval.dtype != dtype:
        wanted, got = dtypes.dtype_name(np.dtype(dtype)), dtypes.dtype_name(aval.dtype)
        raise ValueError(f"{name} dtype should be {wanted}, but got {got}")
    return x


def _in_groups(
    x: Value | None,
    n_groups: int,
    name: str,
    full: Sequence[int],
) -> Value | None:
    """Return a bias or mask (b, n, t, s) as (b, k, g, t, s); extents may be 1."""
    if x is None:
        return None
    shape = typeof(x).shape
    if any(got not in (1, want) for got, want in zip(shape, full, strict=True)):
        raise TypeError(f"{name} of shape {shape} does not broadcast to {tuple(full)}")
    if shape[1] == 1:
        return lax.expand_dims(x, (1,))
    return lax.reshape(x, (shape[0], n_groups, shape[1] // n_groups, *shape[2:]))


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return softmax(scale query key^T + bias, where mask) value.

    query: (b, t, n, h), key, value: (b, s, k, h), k divides n; all without b, too -> as query.
    bias, mask: (b, n, t, s) with extents that may be 1; the mask is True where a query may look.
    scale: 1 / sqrt(h) if None.  is_causal: position i sees positions up to i.
    query_seq_lengths, key_value_seq_lengths: (b,) int32, how much of each sequence counts.
    local_window_size: how many positions are seen to each side, or (left, right).
    return_residual: return the log-sums of exponentials of the scores, (b, t, n), as well; in
    the dtype of the key.

    >>> import numpy as np
    >>> x = np.ones((1, 2, 1, 4), "float32")
    >>> dot_product_attention(x, x, x).shape
    (1, 2, 1, 4)
    """
    check_arraylike("dot_product_attention", query, key, value)
    if implementation == "cudnn":
        raise RuntimeError("cuDNN is not detected.")
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    query, key, value = (asarray(x) for x in (query, key, value))
    absent = tuple(range(4 - typeof(query).ndim))
    query, key, value = (_of_four_axes(x) for x in (query, key, value))
    bias, mask = (None if x is None else _of_four_axes(asarray(x)) for x in (bias, mask))
    query = _check_array(query, "query", (None,) * 4)
    b, t, n, h = typeof(query).shape
    key = _check_array(key, "key", (b, None, None, h))
    s, k = typeof(key).shape[1:3]
    _check_array(query, "query", (None,) * 4, typeof(key).dtype)
    _check_array(value, "value", (b, s, k, h), typeof(key).dtype)
    if n % k:
        raise ValueError(
            f"The number of query heads must be a multiple of key/value heads, but got {n} vs {k}"
        )
    full = (b, n, t, s)
    attention = _Attention(
        key,
        value,
        _in_groups(_check_array(bias, "bias", (None,) * 4), k, "bias", full),
        _in_groups(_check_array(mask, "mask", (None,) * 4, np.bool_), k, "mask", full),
        _check_array(query_seq_lengths, "query_seq_lengths", (b,), np.int32),
        _check_array(key_value_seq_lengths, "key_value_seq_lengths", (b,), np.int32),
        1 / math.sqrt(h) if scale is None else scale,
        bool(is_causal),
        _window(local_window_size),
    )
    result, sums = _in_blocks(attention, lax.reshape(query, (b, t, k, n // k, h)))
    result = lax.reshape(result, (b, t, n, h))
    sums = lax.transpose(lax.reshape(sums, (b, n, t)), (0, 2, 1))
    sums = lax.convert_element_type(sums, typeof(key).dtype)
    if absent:
        result, sums = lax.squeeze(result, absent), lax.squeeze(sums, absent[:3])
    return (result, sums) if return_residual else result


def _window(size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the extent of a window to the left and to the right."""
    if size is None:
        return None
    if isinstance(size, int):
        return size, size
    if len(size) != 2:
        raise ValueError(f"local_window_size should be one or two integers, but got {size}")
    return int(size[0]), int(size[1])


def _in_blocks(attention: _Attention, query: Value) -> tuple[Value, Value]:
    """Attend with all queries (b, t, k, g, h), a block of rows at a time if there are many."""
    b, t, k, g, h = typeof(query).shape
    s = typeof(attention.key).shape[1]
    n_rows = max(1, _MAX_SCORES // max(1, b * k * g * s))
    if n_rows >= t:
        return attention.of_rows(query, 0)
    n_blocks = -(-t // n_rows)
    # The last block ends with the last row: rows that it shares with the one before are equal.
    starts = np.minimum(np.arange(n_blocks) * n_rows, t - n_rows).astype(np.int32)

    @checkpoint
    def rows(attention: _Attention, query: Value, first: Value) -> tuple[Value, Value]:
        """Attend with one block."""
        return attention.of_rows(lax.dynamic_slice_in_dim(query, first, n_rows, 1), first)

    def step(carry: tuple, first: Value) -> tuple[tuple, None]:
        """Write the rows of one block."""
        result, sums = rows(attention, query, first)
        return (
            lax.dynamic_update_slice_in_dim(carry[0], result, first, 1),
            lax.dynamic_update_slice_in_dim(carry[1], sums, first, 3),
        ), None

    wide = dtypes.promote_types(typeof(query).dtype, np.float32)
    empty = (
        lax.full((b, t, k, g, h), 0, typeof(attention.value).dtype),
        lax.full((b, k, g, t), 0, dtypes.finfo(wide).dtype),
    )
    return lax.scan(step, empty, starts)[0]
