"""`einsum`: sums of products written with letters, such as `bnk,bkm->bnm`.

opt_einsum parses the text and chooses the order of contractions; each contraction takes one or two
operands to one.  A contraction has four steps:

1. an axis of extent 1 that the partner stretches is dropped;
2. letters that only one operand has and the result lacks are summed;
3. a letter that an operand repeats becomes a diagonal: zero off it, then sum;
4. the pair becomes one `dot_general`, letters of both and of the result running in parallel; its
   operands change places if the result then needs no transposing.

The plan depends on the text and the shapes alone, and is remembered.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.source import name_scope
from tapeless.core.trace import Value
from tapeless.numpy.common import check_arraylike, const, convert, value_of
from tapeless.numpy.products import result_type_of_product
from tapeless.prims import structural
from tapeless.prims.bitwise import bitwise_and
from tapeless.prims.compare import eq
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.dot import dot_general
from tapeless.prims.reduce import reduce_or, reduce_sum
from tapeless.prims.select import select
from tapeless.util import lazy

__all__ = ["einsum", "einsum_path"]

opt_einsum = lazy.load("opt_einsum")
Contraction = tuple[tuple[int, ...], tuple[str, ...], str]
Term = tuple[Value, str]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable = dot_general,
    out_sharding: Any = None,
) -> Value:
    """Return the sum of products that `subscripts` describe.

    Letters name axes; those missing after `->` are summed; `...` stands for leading axes.  Instead
    of text, operands may alternate with lists of axis numbers.

    optimize: how to order contractions: a strategy of opt_einsum, True (the best), False (left to
    right) or a path from `einsum_path`.

    >>> import tapeless.numpy as jnp
    >>> jnp.einsum("ij,j->i", jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    text, arrays = _parse(subscripts, operands)
    how = (precision, preferred_element_type, _dot_general, out_sharding)
    with name_scope(text):
        return _einsum(text, _path(optimize), how, *arrays)


@functools.partial(jit, static_argnums=(0, 1, 2), inline="early")
def _einsum(text: str, path: Any, how: tuple, *operands: Value) -> Value:
    """Contract step by step.

    how: precision, preferred dtype, what multiplies, and the sharding of the result.
    """
    precision, preferred, product, out_sharding = how
    arrays = list(operands)
    shapes = tuple(typeof(each).shape for each in arrays)
    contractions = _contractions(text, shapes, path)
    dtype, weak = result_type_of_product("einsum", preferred, *arrays)
    multiply = functools.partial(
        product,
        precision=precision,
        preferred_element_type=dtype,
        out_sharding=out_sharding,
    )
    if len(arrays) == 1 and preferred is not None:
        arrays = [convert(arrays[0], dtype, weak)]
    for positions, summed, equation in contractions:
        names, result = equation.split("->")
        terms = [
            (arrays.pop(position), letters)
            for position, letters in zip(positions, names.split(","), strict=True)
        ]
        arrays.append(_contract(terms, result, summed, multiply))
    return convert(arrays[0], dtype, weak)


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[tuple[int, ...]], Any]:
    """Return the order of contractions that `einsum` takes, and a report on its costs.

    >>> import tapeless.numpy as jnp
    >>> jnp.einsum_path("ij,jk,k", jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4))[0]
    [(1, 2), (0, 1)]
    """
    text, arrays = _parse(subscripts, operands)
    shapes = [typeof(each).shape for each in arrays]
    strategy = _strategy(_path(optimize), len(shapes))
    return opt_einsum.contract_path(text, *shapes, shapes=True, optimize=strategy)


def _parse(subscripts: Any, operands: Sequence[Any]) -> tuple[str, list[Value]]:
    """Return the text and the operands of a call in either form."""
    if isinstance(subscripts, str):
        check_arraylike("einsum", *operands)
        return subscripts, [value_of(each) for each in operands]
    given = (subscripts, *operands)
    arrays = [value_of(each) for each in given[0 : 2 * (len(given) // 2) : 2]]
    check_arraylike("einsum", *arrays)
    lists = list(given[1::2])
    text = ",".join(map(_letters, lists))
    if len(given) % 2:
        text += "->" + _letters(given[-1])
    return text, arrays


def _letters(axes: Sequence[Any]) -> str:
    """Return a list of axis numbers as text."""
    return "".join("..." if each is Ellipsis else opt_einsum.get_symbol(each) for each in axes)


def _path(optimize: Any) -> Any:
    """Return a hashable form of the argument `optimize`."""
    if isinstance(optimize, (list, tuple)):
        return tuple(map(tuple, optimize))
    return optimize


def _strategy(path: Any, count: int) -> Any:
    """Return what opt_einsum takes for `optimize`, with `count` operands."""
    if path is True:
        return "optimal"
    if path is False:
        return [(0, 1)] * (count - 1) if count > 1 else [(0,)]
    return list(path) if isinstance(path, tuple) else path


@functools.lru_cache(maxsize=4096)
def _contractions(
    text: str, shapes: tuple[tuple[int, ...], ...], path: Any
) -> tuple[Contraction, ...]:
    """Return positions of operands, summed letters and the equation of each contraction."""
    strategy = _strategy(path, len(shapes))
    _, steps = opt_einsum.contract_path(
        text, *shapes, shapes=True, einsum_call=True, use_blas=True, optimize=strategy
    )
    return tuple((tuple(step[0]), tuple(sorted(step[1])), step[2]) for step in steps)


def _contract(
    terms: list[Term],
    result: str,
    summed: Sequence[str],
    multiply: Callable,
) -> Value:
    """Contract one operand, or two."""
    if len(terms) == 1:
        ((value, names),) = terms
        value, names = _sum_alone(value, names, "", summed)
        value, names = _take_diagonals(value, names, result)
    elif len(terms) == 2:
        left, right = terms
        value, names = _contract_pair(left, right, result, summed, multiply)
    else:
        raise NotImplementedError(
            "jax.numpy.einsum does not support simultaneous contraction of 3 or more operands. "
            "Typically this means you've passed an unsupported path to the einsum optimize "
            "parameter."
        )
    if names == result:
        return value
    return structural.transpose(value, tuple(names.index(each) for each in result))


def _contract_pair(
    left: Term, right: Term, result: str, summed: Sequence[str], multiply: Callable
) -> Term:
    """Contract two operands: the steps of the module's docstring."""
    (x, x_names), (y, y_names) = left, right
    x_extents, y_extents = _extents(x, x_names), _extents(y, y_names)
    x, x_names = _drop_ones(x, x_names, y_extents)
    y, y_names = _drop_ones(y, y_names, x_extents)
    x, x_names = _sum_alone(x, x_names, y_names, summed)
    y, y_names = _sum_alone(y, y_names, x_names, summed)
    x, x_names = _take_diagonals(x, x_names, result + y_names)
    y, y_names = _take_diagonals(y, y_names, result + x_names)
    both = set(x_names) & set(y_names)
    batch = [name for name in result if name in both]
    contracted = [name for name in summed if name in both]
    deleted = set(batch) | set(contracted)
    own_x = "".join(name for name in x_names if name not in deleted)
    own_y = "".join(name for name in y_names if name not in deleted)
    names = "".join(batch) + own_x + own_y
    swapped = "".join(batch) + own_y + own_x
    if swapped == result:
        x, y, x_names, y_names, names = y, x, y_names, x_names, swapped
    numbers = tuple(
        (tuple(map(x_names.index, axes)), tuple(map(y_names.index, axes)))
        for axes in (contracted, batch)
    )
    return multiply(x, y, numbers), names


def _extents(x: Value, names: str) -> dict[str, int]:
    """Return the extent of each letter."""
    return dict(zip(names, typeof(x).shape, strict=True))


def _drop_ones(x: Value, names: str, others: dict[str, int]) -> Term:
    """Drop axes of extent 1 that the other operand has longer."""
    shape = typeof(x).shape
    ones = [
        axis for axis, name in enumerate(names) if shape[axis] == 1 and others.get(name, 1) != 1
    ]
    if not ones:
        return x, names
    kept = "".join(name for axis, name in enumerate(names) if axis not in ones)
    return structural.squeeze(x, ones), kept


def _add_up(x: Value, axes: Sequence[int]) -> Value:
    """Sum over axes; for truth values, "or"."""
    return (reduce_or if typeof(x).dtype == np.bool_ else reduce_sum)(x, axes)


def _sum_alone(
    x: Value,
    names: str,
    others: str,
    summed: Sequence[str],
) -> Term:
    """Sum over letters that occur once, here only."""
    alone = [name for name in summed if names.count(name) == 1 and name not in others]
    if not alone:
        return x, names
    result = _add_up(x, tuple(names.index(name) for name in alone))
    return result, "".join(name for name in names if name not in alone)


def _take_diagonals(x: Value, names: str, needed: str) -> Term:
    """Replace the axes of a repeated letter by their diagonal, or its sum if it is not needed."""
    for name, count in Counter(names).items():
        if count == 1:
            continue
        axes = [axis for axis, each in enumerate(names) if each == name]
        shape = typeof(x).shape
        x = select(_diagonal(shape, axes), x, structural.broadcast(const(x, 0), shape))
        gone = axes[:-1] if name in needed else axes
        x = _add_up(x, tuple(gone))
        names = "".join(each for axis, each in enumerate(names) if axis not in gone)
    return x, names


def _diagonal(shape: tuple[int, ...], axes: Sequence[int]) -> Value:
    """Return where all the given axes have the same index."""
    extents = tuple(shape[axis] for axis in axes)
    indices = [broadcasted_iota(np.uint32, extents, axis) for axis in range(len(axes))]
    same = [eq(first, second) for first, second in zip(indices[:-1], indices[1:], strict=True)]
    on = functools.reduce(bitwise_and, same)
    return structural.broadcast_in_dim(on, shape, axes)
