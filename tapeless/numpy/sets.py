"""Arrays as sets: distinct elements, membership, union, intersection, differences.

Everything starts from a sorted array and a mask of the elements that differ from the one in front.
How many those are depends on values: outside of transformations the result has their number, inside
it has the `size` that the caller states; places left over are filled, elements left over dropped.
Membership is a comparison of all pairs for few candidates, and binary search for many.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value, context
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import nonzero, where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    concrete_value,
    convert,
    promote_dtypes,
    value_of,
)
from tapeless.numpy.creation import full, ones, zeros
from tapeless.numpy.cumulative import cumsum, diff
from tapeless.numpy.histograms import bincount
from tapeless.numpy.indexing import get_item
from tapeless.numpy.joining import concatenate
from tapeless.numpy.shaping import moveaxis, ravel, reshape, transpose
from tapeless.numpy.sorting import lexsort, searchsorted
from tapeless.prims.compare import eq, ne
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.sort import sort
from tapeless.prims.structural import broadcast_to_rank
from tapeless.runtime.array import Array, array_of

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

FEW = 16  # up to this many candidates are compared one by one
_I32 = np.dtype(np.int32)


class _UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class _UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Value
    counts: Value


class _UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Value
    inverse_indices: Value


def _known(name: str, size: int | None, *arrays: Any) -> None:
    """Check that the result's size is given or can be found out."""
    if size is not None:
        return
    for x in arrays:
        concrete_value(
            x,
            f"The error arose in jnp.{name}(). Specify the argument `size` to use it inside of "
            "transformations.",
        )


@functools.partial(jit, static_argnames=("axis", "equal_nan"))
def _unique_sorted_mask(x: Value, axis: int, equal_nan: bool = True) -> tuple[Value, Value, Value]:
    """Return the slices along the axis in order, which of them are new, and where they were.

    x: (n, m) -> (n, m), (n,), (n,) for axis 0
    """
    x = moveaxis(x, axis, 0)
    n, *rest = typeof(x).shape
    if n == 0 or typeof(x).size == 0:
        return x, ones(n, bool) if n < 2 else _first(n), broadcasted_iota(_I32, (n,), 0)
    if not rest:
        line, places = sort((x, broadcasted_iota(_I32, (n,), 0)), 0, num_keys=1)
    else:
        columns = transpose(reshape(x, (n, -1)))
        places = lexsort(tuple(get_item(columns, slice(None, None, -1))))
        line = get_item(x, places)
    after, before = get_item(line, slice(1, None)), get_item(line, slice(None, -1))
    differ = ne(after, before)
    if equal_nan and dtypes.issubdtype(typeof(x).dtype, np.inexact):
        both = arithmetic.bitwise_and(ne(after, after), ne(before, before))
        differ = arithmetic.bitwise_and(differ, arithmetic.equal(both, False))
    if rest:
        differ = reductions.any(reshape(differ, (n - 1, -1)), axis=1)
    return line, concatenate([ones(1, bool), differ]), places


def _first(n: int) -> Value:
    """Return the mask of the first of n elements."""
    return asarray(np.arange(n) == 0)


def _selected(mask: Value, size: int | None, fill: Any = None) -> Value:
    """Return the positions where the mask holds, `size` of them."""
    return nonzero(mask, size=size, fill_value=fill)[0]


def _at(x: Value, places: Value, size: int | None) -> Value:
    """Return the slices at places; by NumPy where a program would serve one size only."""
    if size is None and type(x) is Array and context.trace is context.base:
        found = np.asarray(x)[np.asarray(places)]
        return array_of(found, x.aval.update(shape=found.shape))
    return get_item(x, places)


def _positions(x: Value) -> Value:
    """Return positions or counts as integers of the default width."""
    return convert(x, dtypes.default_int_dtype())


def _filled(values: Value, mask: Value, size: int | None, fill: Any) -> Value:
    """Put `fill` where selected values were missing; without it they repeat the first.

    The result has the dtype that values, which are not weak, and `fill` promote to.
    """
    if size is None or fill is None:
        return values
    missing = arithmetic.greater_equal(broadcasted_iota(_I32, (size,), 0), _count(mask))
    extra = tuple(range(1, typeof(values).ndim))
    missing = missing if not extra else reshape(missing, (size, *(1 for _ in extra)))
    return where(missing, value_of(fill), convert(values, typeof(values).dtype))


def _count(mask: Value) -> Value:
    """Return how often the mask holds."""
    return reductions.sum(convert(mask, _I32))


@jit
def _numbers(mask: Value, places: Value) -> Value:
    """Return, in the original order, which of the distinct elements each element is."""
    number = arithmetic.subtract(cumsum(convert(mask, _I32)), 1)
    inverse: Any = zeros(typeof(places).shape, _I32)
    return inverse.at[places].set(number)


def _counts(mask: Value, chosen: Value) -> Value:
    """Return how far apart the selected positions are, the last one from the end."""
    n = typeof(mask).shape[0]
    if type(chosen) is Array and context.trace is context.base:
        return asarray(np.diff(np.asarray(chosen), append=n).astype(_I32))
    return diff(chosen, append=n)


@functools.partial(jit, static_argnames=("size",))
def _sized_counts(mask: Value, size: int) -> Value:
    """Return how often each of the first `size` distinct elements occurs."""
    return bincount(arithmetic.subtract(cumsum(convert(mask, _I32)), 1), length=size)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements in order: (n,) -> (k,); of an axis, the distinct slices.

    return_index, return_inverse, return_counts: also where each occurs first, which of them each
    element is, and how often each occurs.
    size: k, needed inside of transformations.  fill_value: for missing ones; the least by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.unique(jnp.array([3, 1, 3]), return_counts=True)
    (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    del sorted  # they are anyway
    check_arraylike("unique", ar)
    _known("unique", size, ar)
    x = asarray(ar)
    if axis is None:
        shape, x, axis = x.shape, ravel(x), 0
    else:
        axis = canonicalize_axis(axis, x.ndim)
        shape = (x.shape[axis],)
    if x.size == 0 and size and fill_value is None:
        raise ValueError(
            "jnp.unique: for zero-sized input with nonzero size argument, fill_value must be "
            "specified"
        )
    line, mask, places = _unique_sorted_mask(x, axis, equal_nan)
    if x.size == 0 and size:
        values, chosen = full((size, *line.shape[1:]), fill_value, line.dtype), zeros(size, _I32)
        first = chosen
    else:
        chosen = _selected(mask, size)
        fill = None if fill_value is None else convert(value_of(fill_value), line.dtype)
        values = _filled(_at(line, chosen, size), mask, size, fill)
        first = _at(places, chosen, size)
    results = [moveaxis(values, 0, axis)]
    if return_index:
        results.append(_positions(first))
    if return_inverse:
        results.append(_positions(reshape(_numbers(mask, places), shape)))
    if return_counts:
        counts = _counts(mask, chosen) if size is None else _sized_counts(mask, size)
        results.append(_positions(counts))
    return results[0] if len(results) == 1 else tuple(results)


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueAllResult:
    """Return the distinct elements, where they occur first, which one each is, and their counts.

    Shapes: (n,) -> (k,), (k,), (n,), (k,).

    >>> import tapeless.numpy as jnp
    >>> jnp.unique_all(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    check_arraylike("unique_all", x)
    options = {"size": size, "fill_value": fill_value, "equal_nan": False}
    return _UniqueAllResult(*unique(x, True, True, True, **options))


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> _UniqueCountsResult:
    """Return the distinct elements and how often each occurs: (n,) -> (k,), (k,).

    >>> import tapeless.numpy as jnp
    >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    check_arraylike("unique_counts", x)
    options = {"size": size, "fill_value": fill_value, "equal_nan": False}
    return _UniqueCountsResult(*unique(x, return_counts=True, **options))


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> _UniqueInverseResult:
    """Return the distinct elements and which of them each element is.

    >>> import tapeless.numpy as jnp
    >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    check_arraylike("unique_inverse", x)
    options = {"size": size, "fill_value": fill_value, "equal_nan": False}
    return _UniqueInverseResult(*unique(x, return_inverse=True, **options))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the distinct elements: (n,) -> (k,).

    >>> import tapeless.numpy as jnp
    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    check_arraylike("unique_values", x)
    return unique(x, size=size, fill_value=fill_value, equal_nan=False)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Value:
    """Return whether each element is among the test elements: (n, m), (k,) -> (n, m), booleans.

    method: compare_all, or binary_search (as which sort counts too); auto chooses by k.

    >>> import tapeless.numpy as jnp
    >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1]))
    Array([ True, False,  True], dtype=bool)
    """
    check_arraylike("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"{method=} is not implemented; options are 'compare_all', 'binary_search', 'sort', "
            "and 'auto'"
        )
    x, tests = promote_dtypes(value_of(element), value_of(test_elements))
    few = method == "compare_all" or (method == "auto" and typeof(tests).size <= FEW)
    found = _is_among(asarray(x), ravel(tests), few)
    return arithmetic.equal(found, False) if invert else found


@functools.partial(jit, static_argnames=("few",))
def _is_among(x: Value, tests: Value, few: bool) -> Value:
    """Tell for each element whether it equals a test element."""
    n = typeof(tests).shape[0]
    if n == 0 or typeof(x).size == 0:
        return zeros(typeof(x).shape, bool)
    if few:
        column = get_item(x, (..., None))
        pairs = arithmetic.equal(column, broadcast_to_rank(tests, typeof(column).ndim))
        return reductions.any(pairs, axis=-1)
    tests = sort(tests, 0)
    place = arithmetic.minimum(searchsorted(tests, x), n - 1)
    return eq(get_item(tests, place), x)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the distinct elements of both arrays, in order: (n,), (m,) -> (k,).

    size, fill_value: as in `unique`.

    >>> import tapeless.numpy as jnp
    >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("union1d", ar1, ar2)
    _known("union1d", size, ar1, ar2)
    joined = concatenate([ravel(ar1), ravel(ar2)])
    return unique(joined, size=size, fill_value=fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements that both arrays have, in order: (n,), (m,) -> (k,).

    return_indices: also where each occurs first in both.  size, fill_value: as in `unique`.

    >>> import tapeless.numpy as jnp
    >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([3, 1]))
    Array([1, 3], dtype=int32)
    """
    del assume_unique  # sorting is needed anyway
    check_arraylike("intersect1d", ar1, ar2)
    _known("intersect1d", size, ar1, ar2)
    x, y = (ravel(each) for each in promote_dtypes(value_of(ar1), value_of(ar2)))
    line, new, places = _unique_sorted_mask(x, 0)
    mask = arithmetic.bitwise_and(new, isin(line, y))
    n, m = typeof(x).shape[0], typeof(y).shape[0]
    if 0 in (n, m):
        values = full(size or 0, 0 if fill_value is None else fill_value, typeof(x).dtype)
        outside = (_positions(full(size or 0, each, _I32)) for each in (n, m))
        return (values, *outside) if return_indices else values
    chosen = _first_repeated(_selected(mask, size), mask, size)
    values = _at(line, chosen, size)
    results = [_filled(values, mask, size, fill_value)]
    if return_indices:
        other, _, other_places = _unique_sorted_mask(y, 0)
        second = arithmetic.minimum(searchsorted(other, values), m - 1)
        first = _filled(_at(places, chosen, size), mask, size, n)
        second = _filled(_at(other_places, second, size), mask, size, m)
        results += [_positions(first), _positions(second)]
    return tuple(results) if return_indices else results[0]


def _first_repeated(chosen: Value, mask: Value, size: int | None) -> Value:
    """Put the first position in for those missing."""
    return chosen if not size else _filled(chosen, mask, size, get_item(chosen, 0))


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Value:
    """Return the distinct elements of the first array that the second lacks: (n,), (m,) -> (k,).

    assume_unique: `ar1` has no repetitions; it is not sorted then.  size: k, needed inside of
    transformations.  fill_value: for missing ones, 0 by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([3, 1]))
    Array([2], dtype=int32)
    """
    check_arraylike("setdiff1d", ar1, ar2)
    _known("setdiff1d", size, ar1, ar2)
    line = ravel(ar1)
    new = ones(typeof(line).shape, bool)
    if not assume_unique:
        line, new, _ = _unique_sorted_mask(line, 0)
    mask = arithmetic.bitwise_and(new, isin(line, ar2, invert=True))
    if typeof(line).shape[0] == 0:
        return full(size or 0, 0 if fill_value is None else fill_value, typeof(line).dtype)
    values = _at(line, _selected(mask, size), size)
    kind = typeof(line)
    fill = convert(value_of(0 if fill_value is None else fill_value), kind.dtype)
    return convert(_filled(values, mask, size, fill), kind.dtype, kind.weak_type)


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Value:
    """Return the distinct elements that one of the arrays has only: (n,), (m,) -> (k,).

    size, fill_value: as in `unique`.

    >>> import tapeless.numpy as jnp
    >>> jnp.setxor1d(jnp.array([1, 2, 3]), jnp.array([3, 4]))
    Array([1, 2, 4], dtype=int32)
    """
    del assume_unique  # sorting is needed anyway
    check_arraylike("setxor1d", ar1, ar2)
    _known("setxor1d", size, *(each for each in (ar1, ar2) if typeof(value_of(each)).size))
    x, y = (ravel(each) for each in promote_dtypes(value_of(ar1), value_of(ar2)))
    line, new, _ = _unique_sorted_mask(concatenate([x, y]), 0)
    in_both = arithmetic.bitwise_and(isin(line, x), isin(line, y))
    mask = arithmetic.bitwise_and(new, arithmetic.equal(in_both, False))
    if typeof(line).shape[0] == 0:
        return full(size or 0, 0 if fill_value is None else fill_value, typeof(line).dtype)
    chosen = _first_repeated(_selected(mask, size), mask, size)
    return _filled(_at(line, chosen, size), mask, size, fill_value)
