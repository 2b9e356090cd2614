"""Rows of first-order operations: which axes of the operands have the rows of the result's axis.

A rule takes an equation and the axis of rows of its results; it returns the axes of the operands,
and the parameters that change when the axis is gone. It raises `MixedError` where rows meet.

Where rows are a part of an axis only (`rowaxes.py`), that axis stays; those rules are below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapeless.compiler.rowaxes import (
    UNUSED,
    Dim,
    Dims,
    MixedError,
    Part,
    Row,
    axis_or_part,
    dropped,
    row_aval,
    row_shape,
    without,
)
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Eqn, Jaxpr, Var
from tapeless.prims.common import Elementwise
from tapeless.prims.structural import reshape_p

__all__ = ["row_of_operation"]

Found = tuple[Dims, dict[str, Any]]


def row_of_operation(eqn: Eqn, dims: Dims) -> Row:
    """Return what an operation without programs does for one row, or raise `MixedError`."""
    if eqn.primitive.name == "optimization_barrier":
        return Row(tuple(None if dim == UNUSED else dim for dim in dims), dims, eqn.params)
    asked = {dim for dim in dims if dim != UNUSED}
    if len(asked) > 1 or None in asked:
        raise MixedError
    (dim,) = asked
    assert dim is not None, "some result has rows"
    if eqn.primitive.name == "conv_general_dilated":
        return _convolution(eqn, dim)
    if isinstance(dim, Part):
        operands, params = _rule(eqn, _PART_RULES, _elementwise_part)(eqn, dim)
    else:
        operands, params = _rule(eqn, _RULES, _elementwise)(eqn, dim)
    return Row(operands, (dim,) * len(dims), {**eqn.params, **params})


def _rule(
    eqn: Eqn,
    rules: Mapping[str, Callable],
    elementwise: Callable,
) -> Callable:
    """Return the rule of an operation."""
    if isinstance(eqn.primitive, Elementwise):
        return elementwise
    if eqn.primitive.name not in rules:
        raise MixedError
    return rules[eqn.primitive.name]


def _elementwise(eqn: Eqn, dim: int) -> Found:
    """Every operand has the axis, but scalars."""
    return tuple(dim if atom.aval.shape else None for atom in eqn.invars), {}


def _broadcast(eqn: Eqn, dim: int) -> Found:
    """The axis is an operand's, or the value is broadcast along it."""
    dims, shape = tuple(eqn.params["broadcast_dimensions"]), eqn.params["shape"]
    found = dims.index(dim) if dim in dims else None
    changes = {"shape": without(shape, dim), "broadcast_dimensions": dropped(dims, dim)}
    return (found, *(None,) * (len(eqn.invars) - 1)), changes


def _reshape(eqn: Eqn, dim: int | Part) -> Found:
    """Of the operand's elements, as many are before the rows, and belong to them.

    They have an axis for themselves there, or a part of one.
    """
    after = eqn.outvars[0].aval.shape
    if 0 in after:
        raise MixedError
    before, order = eqn.invars[0].aval.shape, eqn.params.get("dimensions")
    if order is not None:
        before = tuple(before[axis] for axis in order)
    part = dim if isinstance(dim, Part) else Part(dim, 1, after[dim], 1)
    found = _reshaped(before, math.prod(after[: part.axis]) * part.outer, part.count)
    whole = found.outer == found.inner == 1
    changes = {"new_sizes": row_shape(after, dim)}
    axis = found.axis
    if order is not None:
        axis = order[axis]
        changes["dimensions"] = dropped(order, axis) if whole else order
    return (axis_or_part(axis, found.outer, found.count, found.inner),), changes


def _reshaped(
    before: Sequence[int],
    ahead: int,
    count: int,
) -> Part:
    """Return where rows are in a shape; ahead: how many blocks of all rows there are."""
    found = None
    for axis, extent in enumerate(before):
        outer, rest = divmod(ahead, math.prod(before[:axis]))
        if rest or extent % (outer * count):
            continue
        found = Part(axis, outer, count, extent // (outer * count))
        if outer == 1 and count == extent:
            break
    if found is None:
        raise MixedError
    return found


def _squeeze(eqn: Eqn, dim: int) -> Found:
    """Count the axes that stay."""
    gone = tuple(eqn.params["dimensions"])
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in gone]
    return (left[dim],), {"dimensions": dropped(gone, left[dim])}


def _transpose(eqn: Eqn, dim: int) -> Found:
    """Follow the permutation."""
    permutation = eqn.params["permutation"]
    axis = permutation[dim]
    return (axis,), {"permutation": dropped(permutation, axis)}


def _reduction(eqn: Eqn, dim: int) -> Found:
    """Other axes are reduced."""
    axes = tuple(eqn.params["axes"])
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in axes]
    return (left[dim],) * len(eqn.invars), {"axes": dropped(axes, left[dim])}


def _along(name: str) -> Callable[[Eqn, int], Found]:
    """Return the rule of what works along the axis that the parameter `name` gives."""

    def rule(eqn: Eqn, dim: int) -> Found:
        """The axis must be another one."""
        axis = eqn.params[name]
        if axis == dim:
            raise MixedError
        return (dim,) * len(eqn.invars), {name: axis - (axis > dim)}

    return rule


def _stack(eqn: Eqn, dim: int) -> Found:
    """The operands have no axis of the result's new ones."""
    axis = eqn.params["axis"]
    if axis == dim:
        raise MixedError
    return (dim - (dim > axis),) * len(eqn.invars), {"axis": axis - (axis > dim)}


def _unstack(eqn: Eqn, dim: int) -> Found:
    """The operand has an axis that the results have not."""
    axis = eqn.params["axis"]
    behind = dim >= axis
    return (dim + behind,), {"axis": axis - (not behind)}


def _tile(eqn: Eqn, dim: int) -> Found:
    """The axis is not repeated."""
    reps = eqn.params["reps"]
    if reps[dim] != 1:
        raise MixedError
    return (dim,), {"reps": without(reps, dim)}


def _slice(eqn: Eqn, dim: int) -> Found:
    """The whole of the axis must be taken."""
    params, extent = eqn.params, eqn.invars[0].aval.shape[dim]
    strides = params["strides"]
    if params["start_indices"][dim] != 0 or params["limit_indices"][dim] != extent:
        raise MixedError
    if strides is not None and strides[dim] != 1:
        raise MixedError
    names = ("start_indices", "limit_indices", "strides")
    return (dim,), {
        name: params[name] if params[name] is None else without(params[name], dim) for name in names
    }


def _pad(eqn: Eqn, dim: int) -> Found:
    """Nothing must be added along the axis."""
    config = eqn.params["padding_config"]
    if any(config[dim]):
        raise MixedError
    return (dim, None), {"padding_config": without(config, dim)}


def _rev(eqn: Eqn, dim: int) -> Found:
    """Other axes are reversed."""
    axes = tuple(eqn.params["dimensions"])
    if dim in axes:
        raise MixedError
    return (dim,), {"dimensions": dropped(axes, dim)}


def _iota(eqn: Eqn, dim: int) -> Found:
    """The numbers run along another axis."""
    axis = eqn.params["dimension"]
    if axis == dim or eqn.invars:
        raise MixedError
    return (), {"dimension": axis - (axis > dim), "shape": without(eqn.params["shape"], dim)}


def _same(eqn: Eqn, dim: int) -> Found:
    """Operands and results have the axis alike."""
    rank = eqn.outvars[0].aval.ndim
    if any(atom.aval.ndim != rank for atom in eqn.invars):
        raise MixedError
    return (dim,) * len(eqn.invars), {}


def _select(eqn: Eqn, dim: int) -> Found:
    """The choice is made per element, or once."""
    which, *cases = eqn.invars
    return (dim if which.aval.shape else None, *(dim,) * len(cases)), {}


def _leading(n_core: int) -> Callable[[Eqn, int], Found]:
    """Return the rule of what works on the last `n_core` axes of all operands."""

    def rule(eqn: Eqn, dim: int) -> Found:
        """The axis must be before those."""
        if any(dim >= atom.aval.ndim - n_core for atom in eqn.invars):
            raise MixedError
        return (dim,) * len(eqn.invars), {}

    return rule


def _cores(*ranks: int) -> Callable[[Eqn, int], Found]:
    """Return the rule of what works on the last axes of its operands, so many of each."""

    def rule(eqn: Eqn, dim: int) -> Found:
        """The axis must be before those."""
        for atom, rank in zip(eqn.invars, ranks, strict=True):
            if dim >= atom.aval.ndim - rank:
                raise MixedError
        return (dim,) * len(ranks), {}

    return rule


def _fold(eqn: Eqn, dim: int) -> Found:
    """Other axes are folded by a function of the user's; the initial values have none."""
    axes = tuple(eqn.params["dimensions"])
    count = len(eqn.invars) // 2
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in axes]
    return (left[dim],) * count + (None,) * count, {"dimensions": dropped(axes, left[dim])}


def _windows(eqn: Eqn, dim: int) -> Found:
    """Windows are one element wide along the axis, and there is one for each element."""
    names = [name for name in _PER_AXIS if eqn.params.get(name) is not None]
    for name in names:
        if eqn.params[name][dim] != ((0, 0) if name == "padding" else 1):
            raise MixedError
    dims = tuple(dim if atom.aval.shape else None for atom in eqn.invars)
    return dims, {name: without(eqn.params[name], dim) for name in names}


def _fft(eqn: Eqn, dim: int) -> Found:
    """The last axes are transformed."""
    return _leading(len(eqn.params["fft_lengths"]))(eqn, dim)


def _dot_general(eqn: Eqn, dim: int) -> Found:
    """The axis is one of both operands, or a free one of either."""
    (x_contract, y_contract), (x_batch, y_batch) = eqn.params["dimension_numbers"]
    x, y = (atom.aval for atom in eqn.invars)
    x_free = [axis for axis in range(x.ndim) if axis not in (*x_contract, *x_batch)]
    y_free = [axis for axis in range(y.ndim) if axis not in (*y_contract, *y_batch)]
    x_dim = y_dim = None
    if dim < len(x_batch):
        x_dim, y_dim = x_batch[dim], y_batch[dim]
    elif dim < len(x_batch) + len(x_free):
        x_dim = x_free[dim - len(x_batch)]
    else:
        y_dim = y_free[dim - len(x_batch) - len(x_free)]
    if x_dim is not None:
        x_contract, x_batch = dropped(x_contract, x_dim), dropped(x_batch, x_dim)
    if y_dim is not None:
        y_contract, y_batch = dropped(y_contract, y_dim), dropped(y_batch, y_dim)
    return (x_dim, y_dim), {"dimension_numbers": ((x_contract, y_contract), (x_batch, y_batch))}


def _dynamic_slice(eqn: Eqn, dim: int) -> Found:
    """A slice of the full extent starts at 0, whatever its index."""
    sizes = eqn.params["slice_sizes"]
    if sizes[dim] != eqn.invars[0].aval.shape[dim]:
        raise MixedError
    starts = [UNUSED if axis == dim else None for axis in range(len(sizes))]
    return (dim, *starts), {"slice_sizes": without(sizes, dim)}


def _dynamic_update_slice(eqn: Eqn, dim: int) -> Found:
    """An update of the full extent starts at 0, whatever its index."""
    x, update = eqn.invars[0].aval, eqn.invars[1].aval
    if x.shape[dim] != update.shape[dim]:
        raise MixedError
    return (dim, dim, *(UNUSED if axis == dim else None for axis in range(x.ndim))), {}


def _gather(eqn: Eqn, dim: int) -> Found:
    """The axis is one of the windows, taken whole, or one of the indices."""
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    x, y = eqn.invars[0].aval, eqn.outvars[0].aval
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    x_dim = i_dim = None
    if dim in numbers.offset_dims:
        windows = [axis for axis in range(x.ndim) if axis not in gone]
        x_dim = windows[numbers.offset_dims.index(dim)]
        if sizes[x_dim] != x.shape[x_dim] or x_dim in numbers.start_index_map:
            raise MixedError
    else:
        i_dim = [axis for axis in range(y.ndim) if axis not in numbers.offset_dims].index(dim)
        if i_dim in numbers.start_indices_batching_dims:
            place = numbers.start_indices_batching_dims.index(i_dim)
            x_dim = numbers.operand_batching_dims[place]
    params = {"dimension_numbers": _window_numbers(numbers, dim, x_dim, i_dim)}
    if x_dim is not None:
        params["slice_sizes"] = without(sizes, x_dim)
    return (x_dim, i_dim), params


def _scatter(eqn: Eqn, dim: int) -> Found:
    """The axis is one of the windows, written whole, or one of the indices."""
    numbers = eqn.params["dimension_numbers"]
    windows, batching = numbers.update_window_dims, numbers.operand_batching_dims
    x, updates = eqn.invars[0].aval, eqn.invars[2].aval
    i_dim = None
    if dim in batching:
        i_dim = numbers.scatter_indices_batching_dims[batching.index(dim)]
        u_dim = [axis for axis in range(updates.ndim) if axis not in windows][i_dim]
    else:
        gone = (*numbers.inserted_window_dims, *batching)
        if dim in gone or dim in numbers.scatter_dims_to_operand_dims:
            raise MixedError
        u_dim = windows[[axis for axis in range(x.ndim) if axis not in gone].index(dim)]
        if updates.shape[u_dim] != x.shape[dim]:
            raise MixedError
    return (dim, i_dim, u_dim), {"dimension_numbers": _window_numbers(numbers, u_dim, dim, i_dim)}


def _window_numbers(
    numbers: Any,
    window_dim: int,
    x_dim: int | None,
    i_dim: int | None,
) -> Any:
    """Return the numbers of a gather or scatter without one axis of each array."""
    offsets, collapsed, index_map, batching, i_batching = numbers
    if x_dim is not None:
        collapsed, index_map = dropped(collapsed, x_dim), dropped(index_map, x_dim)
        batching = dropped(batching, x_dim)
    if i_dim is not None:
        i_batching = dropped(i_batching, i_dim)
    return type(numbers)(dropped(offsets, window_dim), collapsed, index_map, batching, i_batching)


def _drawn(eqn: Eqn, dim: int) -> Found:
    """The axis is one of the keys; each of them has an element of the parameter, or several."""
    if dim >= eqn.invars[0].aval.ndim:
        raise MixedError
    return (dim,) * len(eqn.invars), {}


def _search(eqn: Eqn, dim: int) -> Found:
    """The axis is shared by lines and queries, or one of either."""
    n_shared = eqn.params["batch_dims"]
    n_lines = eqn.invars[0].aval.ndim - 1
    if dim >= n_lines:
        return (None, dim - n_lines + n_shared), {}
    shared = {"dimension": eqn.params["dimension"] - 1}
    if dim >= n_shared:
        return (dim, None), shared
    return (dim, dim), {**shared, "batch_dims": n_shared - 1}


def _keys(eqn: Eqn, dim: int) -> Found:
    """The axis is one of the keys; what a key gives has further axes behind."""
    if dim >= eqn.invars[0].aval.ndim:
        raise MixedError
    return (dim,), {}


_PER_AXIS = (
    "window_dimensions",
    "window_strides",
    "padding",
    "base_dilation",
    "window_dilation",
)
_RULES: dict[str, Callable[[Eqn, int], Found]] = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "rev": _rev,
    "iota": _iota,
    "select_n": _select,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "fft": _fft,
    "concatenate": _along("dimension"),
    "split": _along("axis"),
    "sort": _along("dimension"),
    "lu_pivots_to_permutation": _leading(1),
    "reduce": _fold,
    "random_gamma": _drawn,
    "SearchSorted": _search,
    "stack": _stack,
    "unstack": _unstack,
    "tile": _tile,
    "random_fold_in": _elementwise,
    "tridiagonal_solve": _cores(1, 1, 1, 2),
    "householder_product": _cores(2, 1),
    "ormqr": _cores(2, 1, 2),
    "cholesky_update": _cores(2, 1),
    "approx_top_k": _along("reduction_dimension"),
}


def _add_rules(
    rule: Callable[[Eqn, int], Found],
    names: str,
) -> None:
    """Give several operations one rule."""
    _RULES.update(dict.fromkeys(names.split(), rule))


_add_rules(_same, "copy stop_gradient name bitcast_convert_type threefry2x32")
_add_rules(_same, "random_seed random_clone")
_add_rules(_keys, "random_bits random_wrap random_unwrap random_split")
_add_rules(_along("axis"), "top_k cumsum cumprod cummax cummin cumlogsumexp")
_add_rules(_reduction, "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or")
_add_rules(_reduction, "reduce_xor argmax argmin")
_add_rules(_leading(2), "cholesky lu triangular_solve eigh qr svd eig schur hessenberg geqrf")
_add_rules(_leading(2), "tridiagonal symmetric_product")
_add_rules(_windows, "reduce_window reduce_window_sum reduce_window_max reduce_window_min")
_add_rules(_windows, "select_and_gather_add select_and_scatter_add")
_add_rules(_scatter, "scatter scatter-add scatter-sub scatter-mul scatter-min scatter-max")


# Where rows are a part of an axis


def _elementwise_part(eqn: Eqn, part: Part) -> Found:
    """Every operand has the axis, but scalars and those that are stretched along it."""
    return tuple(_in_operand(atom.aval, part) for atom in eqn.invars), {}


def _in_operand(aval: ShapedArray, part: Part) -> Dim:
    """Return the axis of rows of an operand that has the result's axes, or 1 in their place."""
    return part if aval.shape and aval.shape[part.axis] > 1 else None


def _broadcast_part(eqn: Eqn, part: Part) -> Found:
    """The axis is an operand's, or the value is broadcast along it."""
    dims, shape = tuple(eqn.params["broadcast_dimensions"]), eqn.params["shape"]
    found: Dim = None
    if part.axis in dims:
        axis = dims.index(part.axis)
        if eqn.invars[0].aval.shape[axis] > 1:
            found = Part(axis, part.outer, part.count, part.inner)
    return (found, *(None,) * (len(eqn.invars) - 1)), {"shape": row_shape(shape, part)}


def _transpose_part(eqn: Eqn, part: Part) -> Found:
    """Follow the permutation."""
    axis = eqn.params["permutation"][part.axis]
    return (Part(axis, part.outer, part.count, part.inner),), {}


def _reduction_part(eqn: Eqn, part: Part) -> Found:
    """Other axes are reduced."""
    axes = tuple(eqn.params["axes"])
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in axes]
    found = Part(left[part.axis], part.outer, part.count, part.inner)
    return (found,) * len(eqn.invars), {}


_PART_RULES: dict[str, Callable[[Eqn, Part], Found]] = {
    "reshape": _reshape,
    "broadcast_in_dim": _broadcast_part,
    "transpose": _transpose_part,
    **dict.fromkeys(("select_n", "copy", "stop_gradient", "name"), _elementwise_part),
    **dict.fromkeys("reduce_sum reduce_max reduce_min reduce_prod".split(), _reduction_part),
}


def _convolution(eqn: Eqn, dim: int | Part) -> Row:
    """Rows are images, groups of channels, or kernels; a batch is merged into those axes.

    An axis that consists of rows alone has one element in the convolution of a row.
    """
    out = eqn.outvars[0].aval
    part = dim if isinstance(dim, Part) else Part(dim, 1, out.shape[dim], 1)
    parts, params = _convolution_parts(eqn, part)
    row = [Var(row_aval(atom.aval, at)) for atom, at in zip(eqn.invars, parts, strict=True)]
    result = Var(row_aval(out, part))
    eqns = [eqn.replace(invars=tuple(row), outvars=(result,), params=params)]
    dims = tuple(at and axis_or_part(at.axis, at.outer, at.count, at.inner) for at in parts)
    operands = list(row)
    for number, at in enumerate(dims):
        if at is not None and not isinstance(at, Part):
            operands[number] = Var(row_aval(eqn.invars[number].aval, at))
            eqns.insert(0, _reshaping(eqn, operands[number], row[number]))
    if not isinstance(dim, Part):
        eqns.append(_reshaping(eqn, result, Var(row_aval(out, dim))))
    program = Jaxpr((), operands, eqns[-1].outvars, eqns)
    return Row(dims, (dim,), eqn.params, program)


def _convolution_parts(eqn: Eqn, part: Part) -> tuple[tuple[Part | None, ...], dict[str, Any]]:
    """Return where the rows of a result are in the images and in the kernels, and the
    parameters of a row.
    """
    numbers = eqn.params["dimension_numbers"]
    x, k = (atom.aval for atom in eqn.invars)
    by_images = eqn.params["batch_group_count"] > 1
    name = "batch_group_count" if by_images else "feature_group_count"
    groups, blocks = eqn.params[name], part.outer * part.count
    if part.axis == numbers.out_spec[0]:
        outer = part.outer * eqn.params["batch_group_count"]
        return (_part_of(x, numbers.lhs_spec[0], outer, part.count), None), dict(eqn.params)
    if part.axis != numbers.out_spec[1]:
        raise MixedError
    kernels = _part_of(k, numbers.rhs_spec[0], part.outer, part.count)
    if part.outer % groups == 0:
        return (None, kernels), dict(eqn.params)
    if groups % blocks:
        raise MixedError
    images = _part_of(x, numbers.lhs_spec[0 if by_images else 1], part.outer, part.count)
    return (images, kernels), {**eqn.params, name: groups // part.count}


def _part_of(
    aval: ShapedArray,
    axis: int,
    outer: int,
    count: int,
) -> Part:
    """Return the part of an axis of a value that has so many rows."""
    return Part(axis, outer, count, aval.shape[axis] // (outer * count))


def _reshaping(
    like: Eqn,
    source: Var,
    target: Var,
) -> Eqn:
    """Return the equation that adds or drops axes of one element."""
    params = {"new_sizes": target.aval.shape, "dimensions": None, "sharding": None}
    return like.replace(primitive=reshape_p, invars=(source,), outvars=(target,), params=params)
