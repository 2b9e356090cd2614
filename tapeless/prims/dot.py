"""Products that contract axes: dot_general and its special cases.

    dot_general: (b, n, k), (b, k, m) -> (b, n, m)
        z[b, n, m] = sum over k of x[b, n, k] y[b, k, m]

`dimension_numbers` is ((lhs contracting, rhs contracting), (lhs batch, rhs batch)); each of b, n, m
and k stands for any number of axes, at any positions.  The result has the batch axes, then what is
left of the left operand, then what is left of the right one.

The operation is linear in each operand; a transposed product is a product.  A batch axis of both
operands becomes a batch axis of the product, one of a single operand an axis that is left: so a
batched matrix times one matrix is one big product.

Small products, and those of other dtypes, lower to a fold that their consumers pull; larger ones of
real numbers of 32 bits and doubles pack a factor and have loops of their own (`panels.py`); the
others call BLAS, whose matrices are transposed in memory only where their axes are interleaved.
16-bit floats are summed in 32 bits; large products of bfloat16 use the processor's matrix
registers, if it has some, and those of integers of 8 and 16 bits go by pairs of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.kernel.panels import PAIRS
from tapeless.prims.common import add_tangents, batch_dim, dtype_of, shape_of
from tapeless.prims.convert import convert
from tapeless.prims.precision import (
    PrecisionLike,
    canonical_precision,
)
from tapeless.prims.rules import is_complex
from tapeless.prims.structural import transpose
from tapeless.util import lazy

__all__ = [
    "DotDimensionNumbers",
    "ProductPlan",
    "batch_matmul",
    "dot",
    "dot_general",
    "dot_general_p",
    "packed_right",
    "product_with_packed",
    "sum_dtype",
]

blas = lazy.load("tapeless.prims.blas")
brainproducts = lazy.load("tapeless.prims.brainproducts")
panels = lazy.load("tapeless.prims.panels")

Dims = tuple[int, ...]
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]],
    tuple[Sequence[int], Sequence[int]],
]
SMALL = 32**3  # multiplications; below, a call costs more than the loops it saves
FEWEST_TERMS = 4  # of a sum; sums of fewer, outer products, are best fused with what reads them


def _left(ndim: int, *taken: Sequence[int]) -> list[int]:
    """Return the axes that are in none of the lists."""
    gone = {axis for axes in taken for axis in axes}
    return [axis for axis in range(ndim) if axis not in gone]


def _check_side(side: str, ndim: int, contracting: Dims, batch: Dims) -> None:
    """Raise TypeError for axes of one operand that repeat or do not exist."""
    if any(not 0 <= axis < ndim for axis in (*contracting, *batch)):
        raise TypeError(
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the "
            f"number of axes of the {side} value, got {side}_batch of {batch} and "
            f"{side}_contracting of {contracting} for {side} of rank {ndim}"
        )
    for what, axes, key in (
        ("batch", batch, "batch"),
        ("contracting", contracting, "contracting"),
    ):
        if len(axes) != len(set(axes)):
            text = f"dot_general requires {side} {what} dimensions to be distinct, "
            raise TypeError(text + f"got {side}_{key} {axes}.")
    if set(contracting) & set(batch):
        raise TypeError(
            f"dot_general requires {side} batch dimensions to be disjoint from contracting "
            f"dimensions, got {side}_batch {batch} and {side}_contracting {contracting}."
        )


def _check(x: ShapedArray, y: ShapedArray, dimension_numbers: Any) -> None:
    """Raise TypeError for dimension numbers that do not fit the operands."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    _check_side("lhs", x.ndim, x_contract, x_batch)
    _check_side("rhs", y.ndim, y_contract, y_batch)
    if len(x_batch) != len(y_batch):
        raise TypeError(
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, "
            f"got lhs_batch {x_batch} and rhs_batch {y_batch}."
        )
    for what, mine, other in (
        (
            "lhs batch dimensions and rhs batch dimensions",
            x_batch,
            y_batch,
        ),
        ("contracting dimensions", x_contract, y_contract),
    ):
        left = tuple(x.shape[axis] for axis in mine)
        right = tuple(y.shape[axis] for axis in other)
        if left != right:
            text = f"dot_general requires {what} to have the same shape, got {left} and {right}."
            raise TypeError(text)


class DotGeneral(Primitive):
    """z[b, n, m] = sum over k of x[b, n, k] y[b, k, m]; see the module's docstring."""

    name = "dot_general"
    types_follow = True

    def abstract(
        self,
        x: ShapedArray,
        y: ShapedArray,
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        _check(x, y, dimension_numbers)
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
        shape = (
            *(x.shape[axis] for axis in x_batch),
            *(x.shape[axis] for axis in _left(x.ndim, x_contract, x_batch)),
            *(y.shape[axis] for axis in _left(y.ndim, y_contract, y_batch)),
        )
        dtype = _out_dtype(_common(x.dtype, y.dtype), params["preferred_element_type"])
        return (ShapedArray(shape, dtype, x.weak_type and y.weak_type),)

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters that programs show: axes as lists, defaults left out."""
        contract, batch = params["dimension_numbers"]
        axes = tuple(map(list, contract)), tuple(map(list, batch))
        rest = {key: value for key, value in params.items() if value is not None}
        return {**rest, "dimension_numbers": axes}

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        (x, y), (dx, dy) = primals, tangents
        (out,) = self.bind(x, y, **params)
        total = Zero(typeof(out).tangent())
        if not isinstance(dx, Zero):
            total = add_tangents(total, self.bind(dx, y, **params)[0])
        if not isinstance(dy, Zero):
            total = add_tangents(total, self.bind(x, dy, **params)[0])
        return (out,), (total,)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        **params: Any,
    ) -> tuple:
        (ct,), (x, y) = cotangents, args
        if isinstance(ct, Zero):
            return tuple(Zero(arg.aval) if isinstance(arg, Linear) else None for arg in args)
        if isinstance(x, Linear):
            return _transposed(ct, x.aval, y, False, **params), None
        (x_y, y_x) = params["dimension_numbers"]
        swapped = (x_y[::-1], y_x[::-1])
        params = {**params, "dimension_numbers": swapped}
        return None, _transposed(ct, y.aval, x, True, **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple:
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
        x_dim, y_dim = dims
        x_contract, x_batch = (
            _skip(x_contract, x_dim),
            _skip(x_batch, x_dim),
        )
        y_contract, y_batch = (
            _skip(y_contract, y_dim),
            _skip(y_batch, y_dim),
        )
        x_ndim = len(shape_of(args[0]))
        if x_dim is not None and y_dim is not None:
            x_batch, y_batch, out_dim = (
                (x_dim, *x_batch),
                (y_dim, *y_batch),
                0,
            )
        elif x_dim is not None:
            out_dim = len(x_batch) + _left(x_ndim, x_contract, x_batch).index(x_dim)
        else:
            y_left = _left(len(shape_of(args[1])), y_contract, y_batch)
            out_dim = x_ndim - len(x_contract) + y_left.index(batch_dim(dims))
        numbers = ((x_contract, y_contract), (x_batch, y_batch))
        return self.bind(*args, dimension_numbers=numbers, **params), (out_dim,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple:
        plan = ProductPlan(args[0].shape, args[1].shape, dimension_numbers)
        dtype = sum_dtype(args[0].dtype, args[1].dtype, outs[0].dtype, params["precision"])
        words = brainproducts.words_of(args[0].dtype, args[1].dtype, dtype)
        order = plan.y_batch + plan.y_contract + plan.y_left
        by_rows = order == tuple(range(len(order))) and args[1].dtype == dtype
        if by_rows and panels.pays_in_place(b.registers, plan.sizes, dtype):
            return (_lower_in_place(b, args, outs[0], plan, dtype),)
        if plan.work < SMALL or plan.k < FEWEST_TERMS:
            return (_lower_by_fold(b, args, outs[0], plan, dtype),)
        if (
            words == PAIRS
            and b.has_matrix_registers
            and brainproducts.pays_in_tiles(plan.n, plan.m, plan.k)
        ):
            return (_lower_narrow(b, args, outs[0], plan, None),)
        if words and brainproducts.pays_in_pairs(b.registers, plan.sizes, words):
            return (_lower_narrow(b, args, outs[0], plan, words),)
        across = plan.x_batch + plan.x_contract + plan.x_left == tuple(range(len(args[0].shape)))
        if panels.pays_apart(b.registers, plan.sizes, dtype, across):
            return (_lower_apart(b, args, outs[0], plan, dtype),)
        if panels.pays_in_panels(b.registers, plan.sizes, dtype):
            packed = packed_right(b, args[1], plan, dtype)
            return (product_with_packed(b, args[0], packed, plan, dtype, outs[0]),)
        if dtype not in blas.BLAS_LETTER:
            return (_lower_by_fold(b, args, outs[0], plan, dtype),)
        return (_lower_by_blas(b, args, outs[0], plan, dtype),)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple:
        if args[0].aval.dtype != args[1].aval.dtype:
            dtype = _common(*(x.aval.dtype for x in args))
            avals = [x.aval.update(dtype=dtype) for x in args]
            args = [
                b.op("stablehlo.convert", [x], [aval])[0]
                for x, aval in zip(args, avals, strict=True)
            ]
        precision = params["precision"]
        pair = precision if isinstance(precision, tuple) else (precision, precision)
        levels = [getattr(level, "name", "DEFAULT") for level in pair]
        return b.dot_general(args, outs, dimension_numbers, levels)

    def reference(self, x: Any, y: Any, *, dimension_numbers: Any, **params: Any) -> tuple:
        plan = ProductPlan(x.shape, y.shape, dimension_numbers)
        left = x.transpose(plan.x_batch + plan.x_left + plan.x_contract)
        right = y.transpose(plan.y_batch + plan.y_contract + plan.y_left)
        dtype = sum_dtype(
            x.dtype,
            y.dtype,
            params["preferred_element_type"] or _common(x.dtype, y.dtype),
            None,
        )
        left = left.reshape(plan.count, plan.n, plan.k).astype(dtype)
        right = right.reshape(plan.count, plan.k, plan.m).astype(dtype)
        aval = self.abstract(
            typeof(x),
            typeof(y),
            dimension_numbers=dimension_numbers,
            **params,
        )[0]
        return (np.matmul(left, right).reshape(aval.shape).astype(aval.dtype),)


dot_general_p = DotGeneral()


def _skip(axes: Sequence[int], dim: int | None) -> Dims:
    """Renumber a row's axes for an operand with a batch axis at `dim`."""
    return tuple(int(axis) if dim is None else int(axis) + (axis >= dim) for axis in axes)


def _rank(dtype: np.dtype) -> tuple[int, ...]:
    """Return what dtypes are compared by: kind, range and digits, bits, and whether signed."""
    real = np.empty(0, dtype).real.dtype
    floating = dtypes.issubdtype(real, np.floating)
    digits = (dtypes.finfo(real).maxexp, dtypes.finfo(real).nmant) if floating else (-1, -1)
    return is_complex(dtype), *digits, _bits(real), not dtypes.issubdtype(real, np.unsignedinteger)


def _bits(dtype: Any) -> int:
    """Return how many bits a number has; a bool has one."""
    return 1 if dtype == np.bool_ else dtypes.itemsize_bits(dtype)


def _common(x: np.dtype, y: np.dtype) -> np.dtype:
    """Return the dtype of a product: the one of greater range."""
    return x if x == y else max(x, y, key=_rank)


def _out_dtype(dtype: Any, preferred: Any) -> Any:
    """Return the dtype of the result: that of the product, or the preferred one."""
    if preferred is None:
        return dtype
    real = np.empty(0, dtype).real.dtype
    floating = dtypes.issubdtype(dtype, np.floating)
    if not floating and _bits(preferred) < _bits(real):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {preferred} for result type of {dtype}."
        )
    return preferred


def sum_dtype(x: Any, y: Any, out: Any, precision: Any) -> Any:
    """Return the dtype in which products are summed: the widest, at least 32 bits for floats."""
    asked = getattr(precision, "accumulation_type", None)
    dtype = _join(_join(x, y), out)
    if asked is not None and not is_complex(dtype):
        dtype = asked
    narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.itemsize_bits(dtype) < 32
    return np.dtype(np.float32) if narrow else np.dtype(dtype)


def _join(x: Any, y: Any) -> Any:
    """Return a dtype that holds both; for narrow floats that have no common one, float32."""
    if x == y:
        return x
    small = [
        np.dtype(np.float32)
        if dtypes.itemsize_bits(dtype) < 32 and dtype.kind not in "biu"
        else dtype
        for dtype in (x, y)
    ]
    return dtypes.promote_types(*small)


def _transposed(
    ct: Value,
    aval: ShapedArray,
    y: Value,
    swapped: bool,
    *,
    dimension_numbers: Any,
    **params: Any,
) -> Value:
    """Return the cotangent of the operand of type `aval`, given the other one.

    ct: (b, n, m), or (b, m, n) when swapped; y: (b, k, m) -> (b, n, k), its axes put in order.
    """
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_left = _left(aval.ndim, x_contract, x_batch)
    y_left = _left(len(shape_of(y)), y_contract, y_batch)
    n_batch, n_first = (
        len(x_batch),
        len(y_left if swapped else x_left),
    )
    ct_batch = tuple(range(n_batch))
    first = tuple(range(n_batch, n_batch + n_first))
    second = tuple(range(n_batch + n_first, len(shape_of(ct))))
    ct_y = first if swapped else second
    numbers = ((ct_y, tuple(y_left)), (ct_batch, tuple(y_batch)))
    (product,) = dot_general_p.bind(ct, y, dimension_numbers=numbers, **params)
    by_y = [x_contract[i] for i in np.argsort(y_contract)]
    order = np.argsort([*x_batch, *x_left, *by_y])
    result = transpose(product, tuple(map(int, order)))
    return result if dtype_of(result) == aval.dtype else convert(result, aval.dtype)


class ProductPlan:
    """The axes and sizes of a product: x is (count, n, k), y is (count, k, m)."""

    def __init__(
        self,
        x: Sequence[int],
        y: Sequence[int],
        dimension_numbers: Any,
    ) -> None:
        """x, y: the operands' shapes."""
        contract, batch = dimension_numbers
        self.x_contract, self.y_contract = (tuple(map(int, axes)) for axes in contract)
        self.x_batch, self.y_batch = (tuple(map(int, axes)) for axes in batch)
        self.x_left = tuple(_left(len(x), self.x_contract, self.x_batch))
        self.y_left = tuple(_left(len(y), self.y_contract, self.y_batch))
        self.batch_shape = tuple(x[axis] for axis in self.x_batch)
        self.k_shape = tuple(x[axis] for axis in self.x_contract)
        self.n_shape = tuple(x[axis] for axis in self.x_left)
        self.m_shape = tuple(y[axis] for axis in self.y_left)
        self.count, self.n, self.m, self.k = (
            int(np.prod(shape, dtype=int))
            for shape in (
                self.batch_shape,
                self.n_shape,
                self.m_shape,
                self.k_shape,
            )
        )
        self.sizes = (self.count, self.n, self.m, self.k)
        self.work = self.n * self.m * self.k


def _place(ndim: int, *groups: tuple[Dims, Sequence[Any]]) -> list[Any]:
    """Return the index that has the given indices at the given axes."""
    index: list[Any] = [None] * ndim
    for axes, values in groups:
        for axis, value in zip(axes, values, strict=True):
            index[axis] = value
    return index


def _lower_by_fold(b: Any, args: Sequence, out: ShapedArray, plan: ProductPlan, dtype: Any) -> Any:
    """Return the product as sums that are computed where they are pulled."""
    x, y = args
    logical = dtype == np.bool_
    n_batch, n_left = len(plan.batch_shape), len(plan.n_shape)
    init = b.const(0, dtype)

    def pull(index: Sequence[Any]) -> Any:
        """Sum the products for one element of the result."""
        batch, rest = index[:n_batch], index[n_batch:]
        left, right = rest[:n_left], rest[n_left:]

        def element(inner: Sequence[Any]) -> Any:
            """Return one product."""
            x_index = _place(
                len(x.shape),
                (plan.x_batch, batch),
                (plan.x_left, left),
                (plan.x_contract, inner),
            )
            y_index = _place(
                len(y.shape),
                (plan.y_batch, batch),
                (plan.y_contract, inner),
                (plan.y_left, right),
            )
            p, q = (b.convert(v.at(*i), dtype) for v, i in ((x, x_index), (y, y_index)))
            return b.and_(p, q) if logical else b.mul(p, q)

        total = b.fold(plan.k_shape, element, "or" if logical else "add", init)
        return b.convert(total, out.dtype)

    return b.virtual(out, pull)


def _matrix(b: Any, x: Any, groups: Sequence[Dims], shape: Dims, dtype: Any) -> tuple[Any, bool]:
    """Return x stored as matrices of `shape` (count, rows, columns), and whether they are flipped.

    groups: the axes of count, rows and columns.  What lies in memory as (count, columns, rows) is
    left there and called flipped.
    """
    batch, rows, columns = groups
    flipped = batch + columns + rows == tuple(range(len(x.shape))) != batch + rows + columns
    order = batch + columns + rows if flipped else batch + rows + columns
    count, n, m = shape
    wanted = ShapedArray((count, m, n) if flipped else (count, n, m), dtype)
    if order == tuple(range(len(order))) and x.dtype == dtype:
        return b.reshape(b.stored(x), wanted), flipped
    sizes = [x.shape[axis] for axis in order]
    n_batch = len(batch)

    def pull(index: Sequence[Any]) -> Any:
        """Return the element of x at the number of a matrix and the indices in it."""
        places = (*b.unravel(index[0], sizes[:n_batch]), *index[1:])
        return b.convert(x.at(*_place(len(order), (order, places))), dtype)

    copied = b.stored(b.virtual(ShapedArray((count, *sizes[n_batch:]), dtype), pull))
    return b.reshape(copied, wanted), flipped


def _merged(b: Any, x: Any, order: Sequence[int], shape: Dims) -> Callable[[Sequence[Any]], Any]:
    """Return the function that pulls from x, its axes put in `order` and merged to `shape`."""
    sizes = [x.shape[axis] for axis in order]

    def pull(index: Sequence[Any]) -> Any:
        """Return the element of x at (count, row, column), or (count, column, row)."""
        merged = b.unravel(b.flat_index(index, shape), sizes)
        return x.at(*_place(len(order), (tuple(order), merged)))

    return pull


def _narrow(b: Any, x: Any, groups: Sequence[Dims], shape: Dims, is_stored: bool = False) -> Any:
    """Return a factor as matrices of `shape`; what would be read across its rows is copied first.

    groups: the axes of count, rows and columns.  What is stored has 16 bits a number.
    """
    order = [axis for group in groups for axis in group]
    dtype = np.dtype(np.int16) if is_stored and x.dtype.kind in "iu" else x.dtype
    aval = ShapedArray(shape, dtype)
    if is_stored and order == sorted(order) and x.dtype == dtype:
        return b.reshape(b.stored(x), aval)
    batch, rows, columns = groups
    lies_flipped = [*batch, *columns, *rows] == sorted(order) != order
    pull = _merged(b, x, order, shape)
    matrix = b.virtual(aval, lambda index: b.convert(pull(index), dtype))
    return b.stored(matrix) if lies_flipped or is_stored else matrix


def _lower_narrow(b: Any, args: Sequence, out: ShapedArray, plan: ProductPlan, words: Any) -> Any:
    """Return the product of narrow numbers by words, or, with None, in matrix registers."""
    x_groups = (plan.x_batch, plan.x_left, plan.x_contract)
    y_groups = (plan.y_batch, plan.y_contract, plan.y_left)
    left = _narrow(b, args[0], x_groups, (plan.count, plan.n, plan.k), words is not None)
    right = _narrow(b, args[1], y_groups, (plan.count, plan.k, plan.m))
    if words is not None:
        return _shaped(b, brainproducts.multiply_pairs(b, left, right, plan.sizes, words), out)
    product = brainproducts.multiply_brains(b, left, right, plan.sizes)
    axes = (plan.batch_shape, plan.n_shape, plan.m_shape)
    ends = np.cumsum([len(part) for part in axes])

    def pull(index: Sequence[Any]) -> Any:
        """Return an element of the product, in the dtype of the result."""
        parts = (index[: ends[0]], index[ends[0] : ends[1]], index[ends[1] :])
        place = [b.flat_index(part, shape) for part, shape in zip(parts, axes, strict=True)]
        return b.convert(product.at(*place), out.dtype)

    return b.virtual(out, pull)


def packed_right(b: Any, y: Any, plan: ProductPlan, dtype: Any) -> Any:
    """Return the right factors in panels, stored."""
    order = (*plan.y_batch, *plan.y_contract, *plan.y_left)
    shape = (plan.count, plan.k, plan.m)
    layout = (dtype, order[-1] != len(order) - 1)
    return panels.packed_panels(b, _merged(b, y, order, shape), shape, layout)


def product_with_packed(
    b: Any, x: Any, packed: Any, plan: ProductPlan, dtype: Any, out: ShapedArray
) -> Any:
    """Return the product of x and right factors in panels, of type `out`."""
    groups = (plan.x_batch, plan.x_left, plan.x_contract)
    left, flipped = _matrix(b, x, groups, (plan.count, plan.n, plan.k), dtype)
    return _shaped(b, panels.multiply_panels(b, left, packed, plan.sizes, (dtype, flipped)), out)


def _lower_apart(b: Any, args: Sequence, out: ShapedArray, plan: ProductPlan, dtype: Any) -> Any:
    """Return the product of which some columns are packed and used at a time."""
    groups = (plan.x_batch, plan.x_left, plan.x_contract)
    left, flipped = _matrix(b, args[0], groups, (plan.count, plan.n, plan.k), dtype)
    order = (*plan.y_batch, *plan.y_contract, *plan.y_left)
    y = b.stored(args[1])
    pull = _merged(b, y, order, (plan.count, plan.k, plan.m))
    layout = (dtype, flipped, order[-1] != len(order) - 1)
    return _shaped(b, panels.multiply_apart(b, left, pull, plan.sizes, layout), out)


def _lower_in_place(b: Any, args: Sequence, out: ShapedArray, plan: ProductPlan, dtype: Any) -> Any:
    """Return the product whose right factor is read where it lies."""
    groups = (plan.x_batch, plan.x_left, plan.x_contract)
    left, flipped = _matrix(b, args[0], groups, (plan.count, plan.n, plan.k), dtype)
    right = b.reshape(b.stored(args[1]), ShapedArray((plan.count, plan.k, plan.m), dtype))
    return _shaped(b, panels.multiply_in_place(b, left, right, plan.sizes, flipped), out)


def _shaped(b: Any, result: Any, out: ShapedArray) -> Any:
    """Return products in their shape and dtype.  result: (count, n, m)"""
    shaped = b.reshape(result, ShapedArray(out.shape, result.dtype))
    if result.dtype == out.dtype:
        return shaped
    return b.virtual(out, lambda index: b.convert(shaped.at(*index), out.dtype))


def _lower_by_blas(b: Any, args: Sequence, out: ShapedArray, plan: ProductPlan, dtype: Any) -> Any:
    """Return the product computed by one BLAS call for each batch."""
    x_groups = (plan.x_batch, plan.x_left, plan.x_contract)
    y_groups = (plan.y_batch, plan.y_contract, plan.y_left)
    x, flip_x = _matrix(b, args[0], x_groups, (plan.count, plan.n, plan.k), dtype)
    y, flip_y = _matrix(b, args[1], y_groups, (plan.count, plan.k, plan.m), dtype)
    result = b.buffer(ShapedArray((plan.count, plan.n, plan.m), dtype))
    blas.gemm(b, x, y, result, plan.sizes, (flip_x, flip_y))
    return _shaped(b, result, out)


def dot_general(
    lhs: Value,
    rhs: Value,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: object = None,
) -> Value:
    """Return the product that contracts and batches the given axes.

    dimension_numbers: ((lhs contracting, rhs contracting), (lhs batch, rhs batch)).
    lhs: (b, n, k), rhs: (b, k, m), (([2], [1]), ([0], [0])) -> (b, n, m).
    preferred_element_type: the dtype of the result.

    >>> lax.dot_general(jnp.ones((2, 3)), jnp.ones((4, 3)), (((1,), (1,)), ((), ()))).shape
    (2, 4)
    """
    contract, batch = dimension_numbers
    numbers = tuple(
        tuple(tuple(map(int, np.atleast_1d(axes))) for axes in pair) for pair in (contract, batch)
    )
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype_supported(preferred_element_type, "dot")
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=numbers,
        out_sharding=out_sharding,
        precision=canonical_precision(precision),
        preferred_element_type=preferred_element_type,
    )[0]


def dot(
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: object = None,
) -> Value:
    """Return the product of vectors and matrices: (n, k), (k, m) -> (n, m).

    With `dimension_numbers` it is `dot_general`.

    >>> lax.dot(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([1.0, 1.0]))
    Array([3., 7.], dtype=float32)
    """
    if dimension_numbers is None:
        left, right = shape_of(lhs), shape_of(rhs)
        if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; "
                f"got lhs_shape={left} rhs_shape={right}"
            )
        dimension_numbers = (((len(left) - 1,), (0,)), ((), ()))
    return dot_general(
        lhs,
        rhs,
        dimension_numbers,
        precision,
        preferred_element_type,
        out_sharding=out_sharding,
    )


def batch_matmul(lhs: Value, rhs: Value, precision: PrecisionLike = None) -> Value:
    """Return products of the matrices in the last two axes: (b, n, k), (b, k, m) -> (b, n, m).

    >>> lax.batch_matmul(jnp.ones((2, 1, 3)), jnp.ones((2, 3, 2))).shape
    (2, 1, 2)
    """
    left, right = len(shape_of(lhs)), len(shape_of(rhs))
    if left < 2 or right < 2:
        text = f"Arguments to batch_matmul must be at least 2D, got {left}, {right}"
        raise ValueError(text)
    if left != right:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {left}, {right}")
    batch = tuple(range(left - 2))
    return dot_general(
        lhs,
        rhs,
        (((left - 1,), (right - 2,)), (batch, batch)),
        precision,
    )
