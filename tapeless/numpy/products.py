"""Products of vectors, matrices and tensors: `dot`, `matmul`, `tensordot`, `kron`, ...

Each is one `dot_general`, which contracts pairs of axes and runs others in parallel.  Operands of
different dtypes are not converted: the operation reads both and computes in the dtype they promote
to.  `preferred_element_type` asks for another; `precision` for more or fewer digits than usual.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    convert,
    promote_args,
    promote_dtypes,
    value_of,
)
from tapeless.numpy.indexing import get_item
from tapeless.numpy.shaping import moveaxis, ravel
from tapeless.numpy.vectorization import vectorize
from tapeless.prims import binary, bitwise, structural
from tapeless.prims.dot import dot_general
from tapeless.prims.parts import conj

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

Axes = int | Sequence[int] | Sequence[Sequence[int]]
DimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


_TYPES = ("precision", "preferred_element_type")
# Compiled where they are called outside of transformations; inside, no call shows in the program.
_inlined = functools.partial(jit, inline="early")
_typed = functools.partial(_inlined, static_argnames=_TYPES)
_placed = functools.partial(_inlined, static_argnames=(*_TYPES, "out_sharding"))


def result_type_of_product(name: str, preferred: Any, *args: Value) -> tuple[Any, bool]:
    """Return the dtype of a product and whether it is weak."""
    if preferred is None:
        return dtypes.lattice_result_type(*args)
    return dtypes.check_user_dtype_supported(preferred, name), False


def _product(
    name: str, a: Value, b: Value, numbers: DimensionNumbers, precision: Any, preferred: Any,
    out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Return the `dot_general` of two checked operands in the dtype wanted."""
    dtype, weak = result_type_of_product(name, preferred, a, b)
    result = dot_general(a, b, numbers, precision, dtype, out_sharding=out_sharding)
    return convert(result, dtype, weak)


@_placed
def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product over the last axis of `a` and the last but one of `b`.

    (n, k), (k, m) -> (n, m); (k,), (k,) -> (); (i, n, k), (j, k, m) -> (i, n, j, m)

    A scalar operand scales.  `matmul` treats leading axes differently: it pairs them.

    >>> import tapeless.numpy as jnp
    >>> jnp.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    check_arraylike("dot", a, b)
    a, b = value_of(a), value_of(b)
    left, right = typeof(a).ndim, typeof(b).ndim
    pair = ((left - 1,), (max(right - 2, 0),)) if left and right else ((), ())
    numbers = (pair, ((), ()))
    return _product("dot", a, b, numbers, precision, preferred_element_type, out_sharding)


@_placed
def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return products of matrices in the last two axes; leading axes broadcast in pairs.

    (b, n, k), (b, k, m) -> (b, n, m); (k,), (b, k, m) -> (b, m); (b, n, k), (k,) -> (b, n)

    >>> import tapeless.numpy as jnp
    >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    check_arraylike("matmul", a, b)
    a, b = value_of(a), value_of(b)
    for position, operand in enumerate((a, b)):
        if typeof(operand).ndim == 0:
            raise ValueError(
                f"matmul input operand {position} must have ndim at least 1, but it has ndim 0"
            )
    plan = _plan_matmul(typeof(a), typeof(b))
    if plan.drop_a:
        a = structural.squeeze(a, plan.drop_a)
    if plan.drop_b:
        b = structural.squeeze(b, plan.drop_b)
    dtype, weak = result_type_of_product("matmul", preferred_element_type, a, b)
    result = dot_general(a, b, plan.numbers, precision, dtype, out_sharding=out_sharding)
    if plan.permutation is not None:
        result = structural.transpose(result, plan.permutation)
    if plan.ones:
        result = structural.expand_dims(result, plan.ones)
    return convert(result, dtype, weak)


class _MatmulPlan:
    """How `matmul` becomes a `dot_general`.

    drop_a, drop_b: axes of extent 1 that the other operand stretches.
    permutation: of the result, which has paired axes, then those of `a`, then those of `b`.
    ones: axes of the result where both operands have extent 1.
    """

    __slots__ = ("drop_a", "drop_b", "numbers", "ones", "permutation")

    def __init__(self, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        """Plan for operands of these shapes."""
        self.drop_a, self.drop_b, self.ones = [], [], []
        lead_a, lead_b = left[:-2], right[:-2]
        rank = max(len(lead_a), len(lead_b))
        pairs, only_a, only_b = [], [], []  # of positions among the result's leading axes
        for position in range(rank):
            i, j = position - rank + len(lead_a), position - rank + len(lead_b)
            if i < 0 or j < 0:
                (only_b if i < 0 else only_a).append(position)
            elif lead_a[i] == lead_b[j] == 1:
                self.drop_a.append(i)
                self.drop_b.append(j)
                self.ones.append(position)
            elif lead_b[j] == 1:
                self.drop_b.append(j)
                only_a.append(position)
            elif lead_a[i] == 1:
                self.drop_a.append(i)
                only_b.append(position)
            elif lead_a[i] == lead_b[j]:
                pairs.append(position)
            else:
                raise ValueError("the leading axes do not fit")
        self._finish(len(left), len(right), rank, pairs, only_a, only_b)

    def _finish(
        self, rank_a: int, rank_b: int, rank: int, pairs: list[int], only_a: list[int],
        only_b: list[int],
    ) -> None:  # fmt: skip
        """Number the axes that remain."""
        kept = [position for position in range(rank) if position not in self.ones]
        own_a = sorted(pairs + only_a)
        own_b = sorted(pairs + only_b)
        batch = ([own_a.index(each) for each in pairs], [own_b.index(each) for each in pairs])
        contract_a = len(own_a) + (1 if rank_a > 1 else 0)
        self.numbers = (((contract_a,), (len(own_b),)), batch)
        order = [*pairs, *only_a, *["row"] * (rank_a > 1), *only_b, *["column"] * (rank_b > 1)]
        wanted = [*kept, *["row"] * (rank_a > 1), *["column"] * (rank_b > 1)]
        permutation = tuple(order.index(each) for each in wanted)
        self.permutation = None if permutation == tuple(range(len(order))) else permutation


@functools.lru_cache(maxsize=1024)
def _matmul_plan_of_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> _MatmulPlan:
    """Return the plan for operands of these shapes, made once."""
    return _MatmulPlan(left, right)


def _plan_matmul(a: Any, b: Any) -> _MatmulPlan:
    """Return the plan for operands of these types, or raise an error that shows them."""
    try:
        return _matmul_plan_of_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(
            f"Incompatible types for matmul arguments: {a.str_short(False)} and "
            f"{b.str_short(False)}"
        ) from None


@_typed
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Value:
    """Return the product of the flattened operands, the first one conjugated: (n,), (n,) -> ().

    >>> import tapeless.numpy as jnp
    >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 3]))
    Array(7.+0.j, dtype=complex64)
    """
    check_arraylike("vdot", a, b)
    a, b = asarray(a), asarray(b)
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        a = conj(a)
    return dot(
        ravel(a), ravel(b), precision=precision, preferred_element_type=preferred_element_type
    )


@functools.partial(_inlined, static_argnames=("axis", *_TYPES))
def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return products of the vectors along `axis`, the first conjugated: (b, n), (b, n) -> (b,).

    >>> import tapeless.numpy as jnp
    >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    check_arraylike("vecdot", x1, x2)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"axes must match; got shapes {x1.shape} and {x2.shape} with axis={axis!r}"
        )
    left, right = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    of_vectors = functools.partial(
        vdot, precision=precision, preferred_element_type=preferred_element_type
    )
    try:
        return vectorize(of_vectors, signature="(n),(n)->()")(left, right)
    except ValueError as error:
        error.add_note(f"vecdot got shapes {x1.shape} and {x2.shape} with axis={axis!r}.")
        raise


@jit
def matvec(x1: Any, x2: Any, /) -> Value:
    """Return products of matrices and vectors: (b, n, m), (b, m) -> (b, n).

    >>> import tapeless.numpy as jnp
    >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    check_arraylike("matvec", x1, x2)
    return vectorize(matmul, signature="(n,m),(m)->(n)")(x1, x2)


@jit
def vecmat(x1: Any, x2: Any, /) -> Value:
    """Return products of vectors, conjugated, and matrices: (b, n), (b, n, m) -> (b, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.vecmat(jnp.array([1, 10]), jnp.array([[1, 2], [3, 4]]))
    Array([31, 42], dtype=int32)
    """
    check_arraylike("vecmat", x1, x2)
    x1 = asarray(x1)
    if dtypes.issubdtype(x1.dtype, np.complexfloating):
        x1 = conj(x1)
    return vectorize(matmul, signature="(n),(n,m)->(m)")(x1, x2)


@_typed
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Value:
    """Return the product over the last axes of both: (i, n), (j, n) -> (i, j).

    >>> import tapeless.numpy as jnp
    >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    check_arraylike("inner", a, b)
    a, b = value_of(a), value_of(b)
    left, right = typeof(a).ndim, typeof(b).ndim
    if not left or not right:
        dtype, weak = result_type_of_product("inner", preferred_element_type, a, b)
        return binary.mul(convert(a, dtype, weak), convert(b, dtype, weak))
    numbers = (((left - 1,), (right - 1,)), ((), ()))
    return _product("inner", a, b, numbers, precision, preferred_element_type)


@_inlined
def outer(a: Any, b: Any, out: None = None) -> Value:
    """Return the products of all pairs of elements, the operands flattened: (n,), (m,) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.outer is not supported.")
    check_arraylike("outer", a, b)
    a, b = (ravel(each) for each in promote_dtypes(value_of(a), value_of(b)))
    multiply = bitwise.bitwise_and if typeof(a).dtype == np.bool_ else binary.mul
    return multiply(structural.expand_dims(a, (1,)), structural.expand_dims(b, (0,)))


def tensordot(
    a: Any,
    b: Any,
    axes: Axes = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product over some axes of both operands.

    axes: how many of the last of `a` and the first of `b`; or a pair of axes; or a pair of lists.
    (i, k, l), (k, l, j) -> (i, j) with axes=2, the same as axes=([1, 2], [0, 1]).

    >>> import tapeless.numpy as jnp
    >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))).shape
    (2, 5)
    """
    check_arraylike("tensordot", a, b)
    a, b = value_of(a), value_of(b)
    contract = _tensordot_axes(axes, typeof(a).shape, typeof(b).shape)
    return _tensordot(
        a,
        b,
        contract=contract,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


@functools.partial(_inlined, static_argnames=("contract", *_TYPES, "out_sharding"))
def _tensordot(
    a: Value,
    b: Value,
    contract: tuple[tuple[int, ...], tuple[int, ...]],
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> Value:
    """Contract pairs of axes."""
    numbers = (contract, ((), ()))
    return _product("tensordot", a, b, numbers, precision, preferred_element_type, out_sharding)


def _tensordot_axes(
    axes: Any, left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of both operands that are contracted."""
    if isinstance(axes, (int, np.integer)):
        if axes > min(len(left), len(right)):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks ({left} and {right})"
            )
        return tuple(range(len(left) - axes, len(left))), tuple(range(axes))
    if not isinstance(axes, (tuple, list)) or len(axes) != 2:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of "
            "ints."
        )
    first, second = axes
    if isinstance(first, int) and isinstance(second, int):
        first, second = (first,), (second,)
    elif not (isinstance(first, (tuple, list)) and isinstance(second, (tuple, list))):
        raise TypeError(
            "tensordot requires both axes lists to be either ints, tuples or lists, got "
            f"{first} and {second}"
        )
    if len(first) != len(second):
        raise TypeError(
            f"tensordot requires axes lists to have equal length, got {first} and {second}."
        )
    return (
        tuple(canonicalize_axis(each, len(left)) for each in first),
        tuple(canonicalize_axis(each, len(right)) for each in second),
    )


@jit
def kron(a: Any, b: Any) -> Value:
    """Return the Kronecker product: blocks of `b`, scaled by the elements of `a`.

    (n, m), (p, q) -> (n * p, m * q)

    >>> import tapeless.numpy as jnp
    >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2, 3]))
    Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(value_of(a), value_of(b))
    rank = max(typeof(a).ndim, typeof(b).ndim)
    if typeof(a).ndim < rank:
        a = structural.expand_dims(a, range(rank - typeof(a).ndim))
    if typeof(b).ndim < rank:
        b = structural.expand_dims(b, range(rank - typeof(b).ndim))
    shape = [n * m for n, m in zip(typeof(a).shape, typeof(b).shape, strict=True)]
    a = structural.expand_dims(a, range(1, 2 * rank, 2))
    b = structural.expand_dims(b, range(0, 2 * rank, 2))
    return structural.reshape(binary.mul(a, b), shape)


@functools.partial(jit, static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    """Return the cross product of vectors of three components: (n, 3), (n, 3) -> (n, 3).

    axisa, axisb, axisc: where the components are in `a`, in `b` and in the result; axis: all three.

    Unlike in NumPy 1, vectors of two components are refused.

    >>> import tapeless.numpy as jnp
    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    check_arraylike("cross", a, b)
    left, right = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise ValueError(
            "Dimension must be 3 for cross product\n"
            f"Got shapes {typeof(value_of(a)).shape}, of which axis {axisa} counts, and "
            f"{typeof(value_of(b)).shape}, of which axis {axisb}."
        )
    x = [get_item(left, (..., i)) for i in range(3)]
    y = [get_item(right, (..., i)) for i in range(3)]
    parts = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        first = _times(x[i], y[j])
        parts.append(binary.sub(first, _times(x[j], y[i])))
    return moveaxis(asarray(parts), 0, axisc)


def _times(x: Value, y: Value) -> Value:
    """Return the product of promoted operands."""
    return binary.mul(*promote_args("multiply", x, y))
