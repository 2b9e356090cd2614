"""`vmap` as users call it: axes as trees, their checks, and where the batch comes out."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.aval import is_value, typeof
from tapeless.core.linear import Zero
from tapeless.core.source import VMAP, name_scope
from tapeless.core.trace import Axis, Value, array_methods
from tapeless.prims.common import batch_dim_to
from tapeless.transforms.batch import batch_flat
from tapeless.tree.arguments import argument_names, check_callable, leaf_names, wraps
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.prefix import flatten_axes
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.frames import api_boundary
from tapeless.util.seqs import few

__all__ = ["vmap"]

_KEYWORDS_NOTE = (
    " Note that the function was called with keyword arguments {}, which the entries of a tuple "
    "in_axes never correspond to: keyword arguments are always mapped along their leading axis "
    "(axis 0). If that is the intended mapping, make in_axes correspond to the positional "
    "arguments "
    "only; otherwise pass the arguments positionally, or bind unmapped keyword arguments with "
    "functools.partial before applying vmap."
)


def vmap(
    fun: Callable,
    in_axes: int | None | Sequence[Any] = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable:
    """Return `fun` mapped over an axis of its arguments.

    fun: (n,) -> (m,) gives the function (k, n) -> (k, m).
    in_axes: per positional argument the axis to map, or None to share the argument; an int for
    all; inside a tuple, trees that are prefixes of the arguments.  Keyword arguments are mapped
    over axis 0.  out_axes: where the mapped axis stands in the results; None for results that do
    not depend on it (or, with sum_match, that are to be summed over it).  axis_name: for
    collectives.

    >>> from tapeless.prims.binary import add
    >>> import numpy as np
    >>> vmap(add, in_axes=(0, None))(np.arange(3.0, dtype="float32"), 10.0)
    Array([10., 11., 12.], dtype=float32)
    """
    check_callable(fun)
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    _check_in_axes(axes)
    _check_out_axes(out_axes)

    @wraps(fun)
    @api_boundary
    def mapped(*args: Any, **kwargs: Any) -> Any:
        """Call `fun` on every row at once."""
        if isinstance(axes, tuple) and len(axes) != len(args):
            note = _KEYWORDS_NOTE.format(list(kwargs)) if kwargs else ""
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                "positional arguments passed to the function, but got "
                f"len(in_axes)={len(axes)}, len(args)={len(args)}.{note}"
            )
        leaves, tree = tree_flatten((args, kwargs))
        dims = flatten_axes("vmap in_axes", tree, (axes, 0), kws=True)
        names = functools.partial(_descriptions, fun, args, kwargs)
        in_dims = [_normalised(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
        size = axis_size_of(leaves, dims, axis_size, names, (args, kwargs))
        out_trees: list[PyTreeDef] = []

        def flat(*rows: Value) -> list[Value]:
            """Call `fun` on one row."""
            row_args, row_kwargs = tree_unflatten(tree, rows)
            outs, out_tree = tree_flatten(fun(*row_args, **row_kwargs))
            out_trees.append(out_tree)
            for out in outs:
                if not is_value(out) and type(out) is not Zero:
                    raise TypeError(
                        f"Output from batched function {out!r} with type {type(out)} is not a "
                        "valid JAX type"
                    )
            return outs

        functools.update_wrapper(flat, fun, (), ())
        with name_scope(VMAP):
            outs, out_dims = batch_flat(flat, Axis(size, axis_name), leaves, in_dims)
            (out_tree,) = out_trees
            places = flatten_axes("vmap out_axes", out_tree, out_axes)
            if not sum_match:
                _check_shared(out_dims, places, out_tree)
            results = [
                _placed(out, dim, place, size)
                for out, dim, place in zip(outs, out_dims, places, strict=True)
            ]
        return tree_unflatten(out_tree, results)

    return mapped


def _check_in_axes(axes: Any) -> None:
    """Refuse what is not an axis specification at all."""
    if axes is not None and type(axes) not in (int, tuple):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {axes}."
        )
    for leaf in tree_leaves(axes):
        if type(leaf) is not int:
            raise TypeError(
                "vmap in_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes}."
            )


def _check_out_axes(axes: Any) -> None:
    """Refuse what is no axis."""
    if any(type(leaf) is not int for leaf in tree_leaves(axes)):
        raise TypeError(
            "vmap out_axes must be an int, None, or (nested) container with those types as "
            f"leaves, but got {axes}."
        )


def _normalised(leaf: Any, dim: Any) -> int | None:
    """Return the mapped axis of a leaf as 0 <= dim < ndim, or raise in JAX's words."""
    if dim is None:
        return None
    if not is_value(leaf):
        raise TypeError(f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type")
    dim, aval = int(dim), typeof(leaf)
    if not -aval.ndim <= dim < aval.ndim:
        wanted = dim + 1 if dim >= 0 else -dim
        raise ValueError(
            f"vmap was requested to map its argument along axis {dim}, which implies that its rank "
            f"should be at least {wanted}, but is only {aval.ndim} (its shape is {aval.shape})"
        )
    return dim % aval.ndim


def axis_size_of(
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    given: int | None,
    names: Callable[[], Sequence[str]],
    arguments: tuple,
) -> int:
    """Return the size of the mapped axis, on which all mapped leaves must agree."""
    sizes = [None if d is None else typeof(x).shape[d] for x, d in zip(leaves, dims, strict=True)]
    known = {size for size in sizes if size is not None}
    if given is not None:
        known.add(given if known else _checked_size(given))
    if len(known) == 1:
        return int(known.pop())
    if not known:
        if not leaves:
            args, kwargs = arguments
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}"
            )
        raise ValueError(
            "vmap must have at least one non-None value in in_axes or axis_size must be specified"
        )
    raise ValueError(_inconsistent(leaves, dims, sizes, given, names()))


def _checked_size(size: Any) -> int:
    """Return the size of an axis that no argument has."""
    if not hasattr(size, "__index__") or operator.index(size) < 0:
        raise TypeError(f"vmap axis_size must be an integer of at least 0, but got {size!r}.")
    return operator.index(size)


def _descriptions(fun: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[str, ...]:
    """Return what to call each leaf of (args, kwargs) in an error."""
    positional = [f"argument {name}" for name in argument_names(fun, args, {})]
    return (*positional, *leaf_names("kwargs", kwargs))


def _inconsistent(
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    sizes: list,
    given: int | None,
    names: Sequence[str],
) -> str:
    """Return JAX's message for mapped axes of unequal sizes."""
    lines = [] if given is None else [f"  * the `axis_size` argument was {given}"]
    for size, count in Counter(s for s in sizes if s is not None).most_common():
        position = sizes.index(size)
        aval = typeof(leaves[position])
        where = f"axis {dims[position]} of {names[position]} of type {aval.str_short(False)}"
        if count == 1:
            lines.append(f"  * one axis had size {size}: {where}")
        else:
            most = "most" if len(lines) == (given is not None) else "some"
            lines.append(f"  * {most} axes ({count} of them) had size {size}, e.g. {where}")
    return "vmap got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(
        few(lines, mark="  * ")
    )


def _check_shared(
    dims: Sequence[int | None], places: Sequence[int | None], tree: PyTreeDef
) -> None:
    """Refuse a result that is to have no mapped axis and has one."""
    for number, (dim, place) in enumerate(zip(dims, places, strict=True)):
        if place is None and dim is not None:
            name = leaf_names("out_axes", tree_unflatten(tree, range(len(places))))[number]
            raise ValueError(
                f"at vmap {name}, got axis spec None but output was batched on axis {dim}"
            )


def _placed(out: Value, dim: int | None, place: int | None, size: int) -> Value:
    """Move the mapped axis of a result to where `out_axes` wants it; a Zero has none, as in JAX.

    None as the place sums over the axis, as `jax.numpy.sum` does.
    """
    if type(out) is Zero or place is dim is None:
        return out
    if place is None:
        return array_methods["sum"](out, dim)
    ndim = typeof(out).ndim + (dim is None)
    if not -ndim <= place < ndim:
        raise ValueError(f"axis {place} is out of bounds for array of dimension {ndim}")
    return batch_dim_to(out, dim, place % ndim, size)
