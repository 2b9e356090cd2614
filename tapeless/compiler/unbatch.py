"""Row programs: what a program over a batch does for one row of it.

`vmap` leaves equations over whole batches. Nearly all of them are maps along the batch's axis: row
i of a result needs row i of some operands and the whole of others. This file finds such axes, and
writes the program for one row; it is the inverse of batching, by inspection of the equations alone,
so that it does not matter which transformations made them.

The question runs backwards: "axis d of this result is the rows; which axes of the operands are?"
The answer is one `Row` per equation, or None where rows meet (a sum over them) or are told apart
(an iota along them). An operand's answer may be an axis, or None: the operand is wanted whole and
is the same for every row. An axis of extent 1 that is stretched is an axis all the same, whose only
row belongs to all.

Loops answer for their bodies, by a fixed point over the carry. A loop whose condition has a bool
for each row becomes a loop with one bool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tapeless.compiler.simplify import simplify
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, DebugInfo, Eqn, Jaxpr, Var
from tapeless.prims.common import Elementwise
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record
from tapeless.util.seqs import split_at

__all__ = ["UNUSED", "Row", "RowProgram", "row_aval", "row_of_eqn", "row_program"]

UNUSED = -1  # in the place of an axis: nobody asks for this result, or nothing uses this input
Dim = int | None
Dims = tuple[Dim, ...]


@record
class Row:
    """One equation for one row.

    operands, results: their axes of rows; an operand that is `UNUSED` is not one of the operation
    on a row, which has the parameters `params`.
    """

    operands: Dims
    results: Dims
    params: Mapping[str, Any]

    def kept(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Return the operands that the operation on a row has."""
        return [atom for atom, dim in zip(atoms, self.operands, strict=True) if dim != UNUSED]


@record
class RowProgram:
    """A program for one row, and per input of the batched program its axis of rows."""

    jaxpr: Jaxpr
    dims: Dims


class _Mixed(Exception):
    """Rows are not independent, or a rule does not know that they are."""


def row_aval(aval: ShapedArray, dim: Dim) -> ShapedArray:
    """Return the type of a row of a value; of the value itself if it has no rows."""
    if dim is None or dim == UNUSED:
        return aval
    return aval.update(shape=_without(aval.shape, dim))


def row_of_eqn(eqn: Eqn, dims: Dims) -> Row | None:
    """Return what an equation does for one row, given the axes of rows of its results."""
    try:
        return _row(eqn, dims)
    except _Mixed:
        return None


def row_program(jaxpr: Jaxpr, dims: Dims) -> RowProgram | None:
    """Return the program for one row, given the axes of rows of its results."""
    try:
        return _program(jaxpr, dims)
    except _Mixed:
        return None


@weak_identity_cache
def _program(jaxpr: Jaxpr, dims: Dims) -> RowProgram:
    """Return the program for one row, or raise `_Mixed`."""
    program = simplify(jaxpr)
    walk = _Walk()
    for atom, dim in zip(program.outvars, dims, strict=True):
        walk.want(atom, dim)
    rows: list[tuple[Eqn, Row]] = []
    for eqn in reversed(program.eqns):
        if eqn.effects:
            raise _Mixed
        asked = tuple(walk.dims.get(var, UNUSED) for var in eqn.outvars)
        if all(dim == UNUSED for dim in asked):
            continue
        row = _row(eqn, asked)
        for atom, dim in zip(eqn.invars, row.operands, strict=True):
            walk.want(atom, dim)
        for var, dim in zip(eqn.outvars, row.results, strict=True):
            walk.dims.setdefault(var, dim)
        rows.append((eqn, row))
    if any(walk.dims.get(var) is not None for var in program.constvars if var in walk.dims):
        raise _Mixed
    eqns = []
    for eqn, row in reversed(rows):
        invars = walk.all(row.kept(eqn.invars))
        outvars = walk.all(eqn.outvars)
        eqns.append(eqn.replace(invars=invars, outvars=outvars, params=row.params))
    made = Jaxpr(
        walk.all(program.constvars),
        walk.all(program.invars),
        walk.all(program.outvars),
        eqns,
        program.consts,
        DebugInfo(program.debug.function),
    )
    return RowProgram(made, tuple(walk.dims.get(var, UNUSED) for var in program.invars))


@dataclass(slots=True)
class _Walk:
    """The axes of rows that were asked for, and the variables of the row program."""

    dims: dict[Var, Dim] = field(default_factory=dict)
    rows: dict[Var, Var] = field(default_factory=dict)

    def want(
        self,
        atom: Atom,
        dim: Dim,
    ) -> None:
        """Ask for the rows of an atom along an axis; a value cannot be asked in two ways."""
        if dim == UNUSED:
            return
        if type(atom) is not Var:
            if dim is not None:
                raise _Mixed
        elif self.dims.setdefault(atom, dim) != dim:
            raise _Mixed

    def all(self, atoms: Sequence[Atom]) -> tuple:
        """Return what stands for atoms in the row program."""
        return tuple(map(self.row, atoms))

    def row(self, atom: Atom) -> Any:
        """Return what stands for an atom in the row program."""
        if type(atom) is not Var:
            return atom
        found = self.rows.get(atom)
        if found is None:
            found = self.rows[atom] = Var(row_aval(atom.aval, self.dims.get(atom)))
        return found


# Rules


def _row(eqn: Eqn, dims: Dims) -> Row:
    """Return what an equation does for one row, or raise `_Mixed`."""
    if eqn.effects:
        raise _Mixed
    if all(dim is None or dim == UNUSED for dim in dims):
        return Row((None,) * len(eqn.invars), (None,) * len(dims), eqn.params)
    name = eqn.primitive.name
    if name in _PROGRAMS:
        return _PROGRAMS[name](eqn, dims)
    asked = {dim for dim in dims if dim != UNUSED}
    if len(asked) > 1 or None in asked:
        raise _Mixed
    (dim,) = asked
    assert dim is not None, "some result has rows"
    rule = _elementwise if isinstance(eqn.primitive, Elementwise) else _RULES.get(name)
    if rule is None:
        raise _Mixed
    operands, params = rule(eqn, dim)
    return Row(operands, (dim,) * len(dims), {**eqn.params, **params})


Found = tuple[Dims, dict[str, Any]]


def _without(values: Sequence, position: int) -> tuple:
    """Return the entries but one."""
    return (*values[:position], *values[position + 1 :])


def _drop(axes: Sequence[int], gone: int) -> tuple[int, ...]:
    """Number axes anew, without the axis `gone`."""
    return tuple(axis - (axis > gone) for axis in axes if axis != gone)


def _elementwise(eqn: Eqn, dim: int) -> Found:
    """Every operand has the axis, but scalars."""
    return tuple(dim if atom.aval.shape else None for atom in eqn.invars), {}


def _broadcast(eqn: Eqn, dim: int) -> Found:
    """The axis is an operand's, or the value is broadcast along it."""
    dims, shape = tuple(eqn.params["broadcast_dimensions"]), eqn.params["shape"]
    found = dims.index(dim) if dim in dims else None
    changes = {"shape": _without(shape, dim), "broadcast_dimensions": _drop(dims, dim)}
    return (found, *(None,) * (len(eqn.invars) - 1)), changes


def _reshape(eqn: Eqn, dim: int) -> Found:
    """The axis stays one if the same number of elements is before it, and in it."""
    before, after = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if eqn.params.get("dimensions") is not None or 0 in after:
        raise _Mixed
    ahead = math.prod(after[:dim])
    for axis, extent in enumerate(before):
        if extent == after[dim] and math.prod(before[:axis]) == ahead:
            return (axis,), {"new_sizes": _without(after, dim)}
    raise _Mixed


def _squeeze(eqn: Eqn, dim: int) -> Found:
    """Count the axes that stay."""
    gone = tuple(eqn.params["dimensions"])
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in gone]
    return (left[dim],), {"dimensions": _drop(gone, left[dim])}


def _transpose(eqn: Eqn, dim: int) -> Found:
    """Follow the permutation."""
    permutation = eqn.params["permutation"]
    axis = permutation[dim]
    return (axis,), {"permutation": _drop(permutation, axis)}


def _reduction(eqn: Eqn, dim: int) -> Found:
    """Other axes are reduced."""
    axes = tuple(eqn.params["axes"])
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in axes]
    return (left[dim],) * len(eqn.invars), {"axes": _drop(axes, left[dim])}


def _along(name: str) -> Callable[[Eqn, int], Found]:
    """Return the rule of what works along the axis that the parameter `name` gives."""

    def rule(eqn: Eqn, dim: int) -> Found:
        """The axis must be another one."""
        axis = eqn.params[name]
        if axis == dim:
            raise _Mixed
        return (dim,) * len(eqn.invars), {name: axis - (axis > dim)}

    return rule


def _slice(eqn: Eqn, dim: int) -> Found:
    """The whole of the axis must be taken."""
    params, extent = eqn.params, eqn.invars[0].aval.shape[dim]
    strides = params["strides"]
    if params["start_indices"][dim] != 0 or params["limit_indices"][dim] != extent:
        raise _Mixed
    if strides is not None and strides[dim] != 1:
        raise _Mixed
    names = ("start_indices", "limit_indices", "strides")
    return (dim,), {
        name: params[name] if params[name] is None else _without(params[name], dim)
        for name in names
    }


def _pad(eqn: Eqn, dim: int) -> Found:
    """Nothing must be added along the axis."""
    config = eqn.params["padding_config"]
    if any(config[dim]):
        raise _Mixed
    return (dim, None), {"padding_config": _without(config, dim)}


def _rev(eqn: Eqn, dim: int) -> Found:
    """Other axes are reversed."""
    axes = tuple(eqn.params["dimensions"])
    if dim in axes:
        raise _Mixed
    return (dim,), {"dimensions": _drop(axes, dim)}


def _iota(eqn: Eqn, dim: int) -> Found:
    """The numbers run along another axis."""
    axis = eqn.params["dimension"]
    if axis == dim or eqn.invars:
        raise _Mixed
    return (), {"dimension": axis - (axis > dim), "shape": _without(eqn.params["shape"], dim)}


def _same(eqn: Eqn, dim: int) -> Found:
    """Operands and results have the axis alike."""
    rank = eqn.outvars[0].aval.ndim
    if any(atom.aval.ndim != rank for atom in eqn.invars):
        raise _Mixed
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
            raise _Mixed
        return (dim,) * len(eqn.invars), {}

    return rule


def _cores(*ranks: int) -> Callable[[Eqn, int], Found]:
    """Return the rule of what works on the last axes of its operands, so many of each."""

    def rule(eqn: Eqn, dim: int) -> Found:
        """The axis must be before those."""
        for atom, rank in zip(eqn.invars, ranks, strict=True):
            if dim >= atom.aval.ndim - rank:
                raise _Mixed
        return (dim,) * len(ranks), {}

    return rule


def _fold(eqn: Eqn, dim: int) -> Found:
    """Other axes are folded by a function of the user's; the initial values have none."""
    axes = tuple(eqn.params["dimensions"])
    count = len(eqn.invars) // 2
    left = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in axes]
    return (left[dim],) * count + (None,) * count, {"dimensions": _drop(axes, left[dim])}


def _windows(eqn: Eqn, dim: int) -> Found:
    """Windows are one element wide along the axis, and there is one for each element."""
    names = [name for name in _PER_AXIS if eqn.params.get(name) is not None]
    for name in names:
        if eqn.params[name][dim] != ((0, 0) if name == "padding" else 1):
            raise _Mixed
    dims = tuple(dim if atom.aval.shape else None for atom in eqn.invars)
    return dims, {name: _without(eqn.params[name], dim) for name in names}


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
        x_contract, x_batch = _drop(x_contract, x_dim), _drop(x_batch, x_dim)
    if y_dim is not None:
        y_contract, y_batch = _drop(y_contract, y_dim), _drop(y_batch, y_dim)
    return (x_dim, y_dim), {"dimension_numbers": ((x_contract, y_contract), (x_batch, y_batch))}


def _dynamic_slice(eqn: Eqn, dim: int) -> Found:
    """A slice of the full extent starts at 0, whatever its index."""
    sizes = eqn.params["slice_sizes"]
    if sizes[dim] != eqn.invars[0].aval.shape[dim]:
        raise _Mixed
    starts = [UNUSED if axis == dim else None for axis in range(len(sizes))]
    return (dim, *starts), {"slice_sizes": _without(sizes, dim)}


def _dynamic_update_slice(eqn: Eqn, dim: int) -> Found:
    """An update of the full extent starts at 0, whatever its index."""
    x, update = eqn.invars[0].aval, eqn.invars[1].aval
    if x.shape[dim] != update.shape[dim]:
        raise _Mixed
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
            raise _Mixed
    else:
        i_dim = [axis for axis in range(y.ndim) if axis not in numbers.offset_dims].index(dim)
        if i_dim in numbers.start_indices_batching_dims:
            place = numbers.start_indices_batching_dims.index(i_dim)
            x_dim = numbers.operand_batching_dims[place]
    params = {"dimension_numbers": _window_numbers(numbers, dim, x_dim, i_dim)}
    if x_dim is not None:
        params["slice_sizes"] = _without(sizes, x_dim)
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
            raise _Mixed
        u_dim = windows[[axis for axis in range(x.ndim) if axis not in gone].index(dim)]
        if updates.shape[u_dim] != x.shape[dim]:
            raise _Mixed
    return (dim, i_dim, u_dim), {"dimension_numbers": _window_numbers(numbers, u_dim, dim, i_dim)}


def _window_numbers(
    numbers: Any,
    window_dim: int,
    x_dim: Dim,
    i_dim: Dim,
) -> Any:
    """Return the numbers of a gather or scatter without one axis of each array."""
    offsets, collapsed, index_map, batching, i_batching = numbers
    if x_dim is not None:
        collapsed, index_map = _drop(collapsed, x_dim), _drop(index_map, x_dim)
        batching = _drop(batching, x_dim)
    if i_dim is not None:
        i_batching = _drop(i_batching, i_dim)
    return type(numbers)(_drop(offsets, window_dim), collapsed, index_map, batching, i_batching)


def _drawn(eqn: Eqn, dim: int) -> Found:
    """The axis is one of the keys; each of them has an element of the parameter, or several."""
    if dim >= eqn.invars[0].aval.ndim:
        raise _Mixed
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
        raise _Mixed
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
_add_rules(_same, "random_seed random_fold_in random_clone")
_add_rules(_keys, "random_bits random_wrap random_unwrap random_split")
_add_rules(_along("axis"), "unstack top_k cumsum cumprod cummax cummin cumlogsumexp")
_add_rules(_reduction, "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or")
_add_rules(_reduction, "reduce_xor argmax argmin")
_add_rules(_leading(2), "cholesky lu triangular_solve eigh qr svd eig schur hessenberg geqrf")
_add_rules(_leading(2), "tridiagonal")
_add_rules(_windows, "reduce_window reduce_window_sum reduce_window_max reduce_window_min")
_add_rules(_windows, "select_and_gather_add select_and_scatter_add")
_add_rules(_scatter, "scatter scatter-add scatter-sub scatter-mul scatter-min scatter-max")


# Operations that contain programs


def _body(
    jaxpr: Jaxpr,
    outs: list[Dim],
    carried: slice,
    first: int,
) -> tuple[RowProgram, Dims]:
    """Return a loop's body for one row and the axes of the carry: its own results' axes.

    carried: where the carry is among the inputs; first: where it begins among the results.
    """
    count = carried.stop - carried.start
    while True:
        found = _program(jaxpr, tuple(outs))
        carry = outs[first : first + count]
        for number, dim in enumerate(found.dims[carried]):
            if carry[number] == UNUSED:
                carry[number] = dim
            elif dim not in (UNUSED, carry[number]):
                raise _Mixed
        if carry == outs[first : first + count]:
            if UNUSED in carry:
                raise _Mixed
            return found, tuple(carry)
        outs[first : first + count] = carry


def _in_program(jaxpr: Jaxpr, found: RowProgram, dims: Dims) -> Jaxpr:
    """Return the row program with inputs of the types that rows of the operands have.

    Inputs that are `UNUSED` are left out.
    """
    invars = []
    for var, old, dim in zip(found.jaxpr.invars, jaxpr.invars, dims, strict=True):
        aval = row_aval(old.aval, dim)
        if dim != UNUSED:
            invars.append(var if var.aval is aval else Var(aval))
    return found.jaxpr.replace(invars=invars)


def _count(dims: Dims) -> int:
    """Return how many values are used."""
    return sum(dim != UNUSED for dim in dims)


def _shifted(dims: Sequence[Dim], by: int) -> Dims:
    """Return axes of slices as those of stacked arrays, or the other way round."""
    return tuple(dim + by if dim is not None and dim != UNUSED else dim for dim in dims)


def _scan(eqn: Eqn, dims: Dims) -> Row:
    """The carry keeps its axes; slices have them one axis earlier than the stacked arrays."""
    params = eqn.params
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    carry, ys = split_at(dims, n_carry)
    if 0 in ys or UNUSED in ys:
        raise _Mixed
    outs = [*carry, *_shifted(ys, -1)]
    found, carry = _body(params["jaxpr"], outs, slice(n_consts, n_consts + n_carry), 0)
    consts, _, xs = split_at(found.dims, n_consts, n_carry)
    new: dict[str, Any] = {"num_consts": _count(tuple(consts))}
    new["jaxpr"] = _in_program(params["jaxpr"], found, (*consts, *carry, *xs))
    return Row((*consts, *carry, *_shifted(xs, 1)), (*carry, *ys), {**params, **new})


def _while(eqn: Eqn, dims: Dims) -> Row:
    """All carries have their rows in front if the condition has; else the rows share it."""
    params = eqn.params
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    by_row = bool(cond.out_avals[0].shape)
    if by_row and any(dim not in (0, UNUSED) for dim in dims):
        raise _Mixed
    outs: list[Dim] = [0] * len(dims) if by_row else list(dims)
    found, carry = _body(body, outs, slice(n_body, n_body + len(dims)), 0)
    asks = _program(cond, (0 if by_row else None,))
    for dim, asked in zip(carry, asks.dims[n_cond:], strict=True):
        if asked not in (UNUSED, dim):
            raise _Mixed
    of_cond, of_body = asks.dims[:n_cond], found.dims[:n_body]
    new: dict[str, Any] = {"cond_nconsts": _count(of_cond), "body_nconsts": _count(of_body)}
    new["cond_jaxpr"] = _in_program(cond, asks, (*of_cond, *carry))
    new["body_jaxpr"] = _in_program(body, found, (*of_body, *carry))
    return Row((*of_cond, *of_body, *carry), carry, {**params, **new})


def _cond(eqn: Eqn, dims: Dims) -> Row:
    """All rows go into one branch."""
    branches = eqn.params["branches"]
    if UNUSED in dims:
        raise _Mixed
    found = [_program(branch, dims) for branch in branches]
    operands: list[Dim] = []
    for asked in zip(*(program.dims for program in found), strict=True):
        wanted = {dim for dim in asked if dim != UNUSED}
        if len(wanted) > 1:
            raise _Mixed
        operands.append(wanted.pop() if wanted else UNUSED)
    inside = tuple(operands)
    rows = []
    for branch, program in zip(branches, found, strict=True):
        rows.append(_in_program(branch, program, inside))
    return Row((None, *inside), dims, {**eqn.params, "branches": tuple(rows)})


_PROGRAMS: dict[str, Callable[[Eqn, Dims], Row]] = {"scan": _scan, "while": _while, "cond": _cond}
