"""Loops as users write them: `scan`, `while_loop`, `fori_loop`, `map`.

The user functions flatten trees, trace the body once (twice if a weakly typed carry is promoted),
check it, and bind one equation.  What the body only passes on does not go through the loop: a carry
that comes back unchanged is a const, and a slice that is returned as it came is the input itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import config
from tapeless.control.bodies import (
    Body,
    carry_name,
    check_carry,
    flatten_values,
    promote_weak,
    trace_body,
)
from tapeless.control.scan import scan_p
from tapeless.control.while_loop import while_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import Var
from tapeless.core.source import VMAP, name_scope
from tapeless.core.trace import Axis, Tracer, Value
from tapeless.errors import ConcretizationTypeError
from tapeless.prims import slice as slices
from tapeless.prims.binary import add
from tapeless.prims.common import as_value, batch_dim_to, scalar_like
from tapeless.prims.compare import lt
from tapeless.prims.join import concatenate
from tapeless.prims.structural import reshape
from tapeless.transforms.batch import batch_flat
from tapeless.transforms.dce import forwarded_inputs
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.frames import api_boundary
from tapeless.util.seqs import merge, select

__all__ = ["fori_loop", "map", "scan", "while_loop"]


@api_boundary
def scan(
    f: Callable,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Run `f(carry, x) -> (carry, y)` over the leading axis of `xs`; return the carry and stacked
    ys.

    xs: a tree of arrays (length, ...), or None with `length` given.  reverse: from the last slice
    to the first; ys stay in place.  unroll: a hint for the compiler; True unrolls all.

    >>> import numpy as np
    >>> scan(lambda c, x: (c + x, c * x), 0.0, np.array([1.0, 2.0, 3.0], "float32"))
    (Array(6., dtype=float32), Array([0., 2., 9.], dtype=float32))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    xs_leaves, xs_tree = flatten_values(xs)
    n_steps = _scan_length(xs_leaves, length)
    init_leaves, init_tree = flatten_values(init)
    if config.current.jax_disable_jit:
        return _scan_in_python(f, init, xs_leaves, xs_tree, n_steps, reverse)
    slices = [typeof(x).update(shape=typeof(x).shape[1:]) for x in xs_leaves]
    init_leaves, body = _scan_body(f, init_leaves, init_tree, slices, xs_tree)
    carry, ys = _bind_scan(body, init_leaves, xs_leaves, n_steps, reverse, unroll)
    return tree_unflatten(body.out_tree, [*carry, *ys])


def _scan_length(leaves: Sequence[Value], length: int | None) -> int:
    """Return the number of steps, on which all inputs must agree."""
    for leaf in leaves:
        if not typeof(leaf).shape:
            raise ValueError(f"scan got value with no leading axis to scan over: {leaf}.")
    sizes = [typeof(leaf).shape[0] for leaf in leaves]
    if length is not None:
        length = _static_int(length, "`length` argument to `scan`", int)
        if length < 0:
            raise ValueError(f"`length` argument to `scan` must not be negative, got {length}")
        if any(size != length for size in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis "
                f"sizes {sizes}."
            )
        return length
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    if len(set(sizes)) > 1:
        shown = ", ".join(str(size) for size in sizes)
        raise ValueError(f"scan got values with different leading axis sizes: {shown}.")
    return sizes[0]


def _static_int(value: Any, what: str, convert: Callable[[Any], int] = operator.index) -> int:
    """Return a Python int."""
    known = value.concrete() if isinstance(value, Tracer) else value
    if known is None:
        raise ConcretizationTypeError(
            "Abstract tracer value encountered where concrete value is expected: traced array with "
            f"shape {value.aval.str_short(False)}\nThe {what} expects a concrete `int` value. For "
            "scan-like iteration with a dynamic length, use `while_loop` or `fori_loop`.\n"
            f"{value.origin()}\n"
        )
    try:
        return convert(known)
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"{what} must be an integer, got {known!r}") from None


def _scan_body(
    f: Callable,
    init: list[Value],
    init_tree: PyTreeDef,
    slices: list[ShapedArray],
    xs_tree: PyTreeDef,
) -> tuple[list[Value], Body]:
    """Return the promoted carry and the traced body."""
    in_tree = tree_flatten((tree_unflatten(init_tree, init), tree_unflatten(xs_tree, slices)))[1]

    def trace(values: Sequence[Value]) -> tuple[Body, PyTreeDef]:
        """Trace the body; return it and the tree of the next carry."""
        body = trace_body(f, in_tree, [*[typeof(v) for v in values], *slices], "scan")
        children = body.out_tree.children()
        node = body.out_tree.node_data()
        if node is None or node[0] not in (tuple, list) or len(children) != 2:
            result = tree_unflatten(body.out_tree, body.out_avals)
            raise TypeError(
                f"scan body output must be a pair, got {result}. Return the next carry and what "
                "shall be stacked, which may be None."
            )
        return body, children[0]

    body, carry_tree = trace(init)
    n_carry = carry_tree.num_leaves
    if carry_tree == init_tree:
        avals = [typeof(v) for v in init]
        init, changed = promote_weak(init, avals, body.out_avals[:n_carry])
        if changed:
            body, carry_tree = trace(init)
    avals = [typeof(v) for v in init]
    check_carry("scan", carry_name(f), init_tree, avals, carry_tree, body.out_avals[:n_carry])
    return init, body


def _bind_scan(
    body: Body, init: list[Value], xs: list[Value], length: int, reverse: bool, unroll: int | bool
) -> tuple[list[Value], list[Value]]:
    """Bind the loop without what it would only pass on; return carry and ys."""
    jaxpr, n_consts, n_carry = body.jaxpr, len(body.consts), len(init)
    source = forwarded_inputs(jaxpr)
    carried = [source[i] != n_consts + i for i in range(n_carry)]
    copied = [s is not None and s >= n_consts + n_carry for s in source[n_carry:]]
    carry_vars = jaxpr.invars[n_consts : n_consts + n_carry]
    fixed = [not flag for flag in carried]
    inner = jaxpr.replace(
        invars=(
            *jaxpr.invars[:n_consts],
            *select(carry_vars, fixed),
            *select(carry_vars, carried),
            *jaxpr.invars[n_consts + n_carry :],
        ),
        outvars=(
            *select(jaxpr.outvars[:n_carry], carried),
            *select(jaxpr.outvars[n_carry:], [not flag for flag in copied]),
        ),
    )
    outs = scan_p.bind(
        *body.consts,
        *select(init, fixed),
        *select(init, carried),
        *xs,
        jaxpr=inner,
        length=length,
        reverse=bool(reverse),
        unroll=_unroll(unroll, length),
        num_consts=n_consts + sum(fixed),
        num_carry=sum(carried),
    )
    n_out = sum(carried)
    carry = merge(carried, select(init, fixed), outs[:n_out])
    first = n_consts + n_carry
    same = [as_value(xs[s - first]) for s in select(source[n_carry:], copied) if s is not None]
    return carry, merge(copied, outs[n_out:], same)


def _unroll(unroll: int | bool, length: int) -> int:
    """Return how many steps to write out."""
    if unroll is True:
        return max(length, 1)
    n_steps = _static_int(unroll, "`unroll` argument to `scan`")
    if n_steps < 0:
        raise ValueError(
            f"`unroll` must be a `bool` or a non-negative `int`. It is {n_steps}; give 1 to write "
            "out one step."
        )
    return max(n_steps, 1)


def _scan_in_python(
    f: Callable, init: Any, xs: list[Value], tree: PyTreeDef, length: int, reverse: bool
) -> tuple[Any, Any]:
    """Run the loop in Python, for `disable_jit`."""
    if length == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type "
            "is unknown."
        )
    carry, ys = init, [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        carry, ys[i] = f(carry, tree_unflatten(tree, [x[i] for x in xs]))
    stacked = tree_map(lambda *rows: concatenate([_as_row(row) for row in rows], 0), *ys)
    return carry, stacked


def _as_row(x: Value) -> Value:
    """Return (1, *shape)."""
    return reshape(x, (1, *typeof(x).shape))


@api_boundary
def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """Run `body_fun` on the value while `cond_fun` of it is true; return the last value.

    cond_fun: a -> (), body_fun: a -> a, init_val: a -> a, where a is any tree of types.

    >>> while_loop(lambda x: x < 10, lambda x: x * 2, 1)
    Array(16, dtype=int32, weak_type=True)
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    init, tree = flatten_values(init_val)
    if config.current.jax_disable_jit:
        try:
            arrays = tree_unflatten(tree, [as_value(x) for x in init])
            return _while_in_python(cond_fun, body_fun, arrays)
        except ConcretizationTypeError:
            pass  # the condition is mapped or traced: only the operation can have it
    in_tree = tree_flatten((init_val,))[1]
    avals = [typeof(v) for v in init]
    condition = trace_body(cond_fun, in_tree, avals, "while_cond")
    body = trace_body(body_fun, in_tree, avals, "while_body")
    _check_condition(condition)
    if body.out_tree == tree:
        init, changed = promote_weak(init, avals, body.out_avals)
        if changed:
            avals = [typeof(v) for v in init]
            condition = trace_body(cond_fun, in_tree, avals, "while_cond")
            body = trace_body(body_fun, in_tree, avals, "while_body")
            _check_condition(condition)
    name = carry_name(body_fun)
    check_carry("while_loop", name, tree, avals, body.out_tree, body.out_avals)
    return tree_unflatten(tree, _bind_while(condition, body, init))


def _while_in_python(cond_fun: Callable, body_fun: Callable, value: Any) -> Any:
    """Run the loop in Python, for `disable_jit`."""
    while cond_fun(value):
        value = body_fun(value)
    return value


def _check_condition(condition: Body) -> None:
    """Raise JAX's TypeError unless the condition is one bool."""
    if condition.out_tree.num_nodes != 1 or condition.out_tree.num_leaves != 1:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got pytree {condition.out_tree}."
        )
    (aval,) = condition.out_avals
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(f"cond_fun must return a boolean scalar, but got output type(s) {[aval]}.")


def _bind_while(condition: Body, body: Body, init: list[Value]) -> list[Value]:
    """Bind the loop; carries that neither change nor matter to the condition are body consts."""
    n_body, n_cond = len(body.consts), len(condition.consts)
    source = forwarded_inputs(body.jaxpr)
    watched = _used_inputs(condition.jaxpr)[n_cond:]
    moved = [s == n_body + i and not watched[i] for i, s in enumerate(source)]
    kept = [not flag for flag in moved]
    body_vars, cond_vars = body.jaxpr.invars[n_body:], condition.jaxpr.invars[n_cond:]
    outs = while_p.bind(
        *condition.consts,
        *body.consts,
        *select(init, moved),
        *select(init, kept),
        cond_jaxpr=condition.jaxpr.replace(
            invars=(*condition.jaxpr.invars[:n_cond], *select(cond_vars, kept))
        ),
        body_jaxpr=body.jaxpr.replace(
            invars=(
                *body.jaxpr.invars[:n_body],
                *select(body_vars, moved),
                *select(body_vars, kept),
            ),
            outvars=select(body.jaxpr.outvars, kept),
        ),
        cond_nconsts=n_cond,
        body_nconsts=n_body + sum(moved),
    )
    return merge(kept, select(init, moved), outs)


def _used_inputs(jaxpr: Any) -> list[bool]:
    """Return which inputs a program looks at."""
    used = {atom for eqn in jaxpr.eqns for atom in eqn.invars if type(atom) is Var}
    used.update(atom for atom in jaxpr.outvars if type(atom) is Var)
    return [var in used for var in jaxpr.invars]


@api_boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable, init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Run `body_fun(i, value)` for i = lower .. upper - 1; return the last value.

    body_fun: (), a -> a, init_val: a -> a, where a is any tree of types.
    Bounds that are Python ints give a `scan`, which can be differentiated in reverse; others a
    `while`.

    >>> fori_loop(0, 5, lambda i, x: x + i, 10)
    Array(20, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    avals = [typeof(bound) for bound in (lower, upper)]
    dtypes_ = [aval.dtype for aval in avals]
    bounds = [_bound(b) for b in (lower, upper)]
    static = all(isinstance(b, int) for b in bounds)
    same = dtypes_[0].kind == dtypes_[1].kind and any(aval.weak_type for aval in avals)
    if any(dtype.kind == "c" for dtype in dtypes_):
        raise TypeError(f"fori_loop counts in real numbers, its bounds are of dtype {dtypes_[0]}")
    if dtypes_[0] != dtypes_[1] and not same:
        raise TypeError(
            f"lower and upper arguments to fori_loop must have equal types, got {dtypes_[0]} "
            f"and {dtypes_[1]}"
        )
    if static:
        return _fori_scan(int(bounds[0]), int(bounds[1]), body_fun, init_val, unroll)
    if unroll not in (None, False, 1):
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known."
        )
    low, high = _common_bounds(bounds)

    def loop_body(loop_carry: tuple) -> tuple:
        """Run one step."""
        i, stop, value = loop_carry
        return add(i, _one(i)), stop, body_fun(i, value)

    return while_loop(lambda carry: lt(carry[0], carry[1]), loop_body, (low, high, init_val))[2]


def _bound(value: Any) -> Any:
    """Return a bound as it is, or as an int if its value is known; fractions are cut off."""
    if isinstance(value, Tracer):
        return value
    aval = typeof(value)
    if aval.ndim or aval.dtype.kind not in "biuf":
        return value
    number = int(value)
    info = np.iinfo(aval.dtype) if aval.dtype.kind in "iu" else None
    if info is not None and not info.min <= number <= info.max:
        raise OverflowError(
            f"a bound of fori_loop must be an integer of dtype {aval.dtype}, got {number}"
        )
    return number


def _common_bounds(bounds: Sequence[Value]) -> tuple[Value, Value]:
    """Return both bounds in one dtype; a Python int takes the other's, and stays weakly typed."""
    avals = [typeof(b) for b in bounds]
    strong = [a for a in avals if not a.weak_type] or avals
    dtype = strong[0].dtype
    return tuple(
        dtype.type(b) if isinstance(b, int) and aval.dtype != dtype else b
        for b, aval in zip(bounds, avals, strict=True)
    )


def _one(i: Value) -> Any:
    """Return 1 in the type of the counter."""
    return scalar_like(typeof(i), 1)


def _fori_scan(lower: int, upper: int, body_fun: Callable, init_val: Any, unroll: Any) -> Any:
    """Run a loop with known bounds as a scan over a counter."""
    length = max(upper - lower, 0)
    if config.current.jax_disable_jit and length == 0:
        return init_val

    def loop_body(loop_carry: tuple, _: None) -> tuple:
        """Run one step."""
        i, value = loop_carry
        return (add(i, 1), body_fun(i, value)), None

    (_, result), _ = scan(
        loop_body, (lower, init_val), None, length=length, unroll=1 if unroll is None else unroll
    )
    return result


@api_boundary
def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply `f` to every row of `xs`, one after the other; the rows of results are stacked.

    f: (n,) -> (m,), xs: (k, n) -> (k, m)
    batch_size: apply it to blocks of so many rows at once (`vmap`); a remainder is a smaller block.

    >>> import numpy as np
    >>> map(lambda x: x * 2, np.arange(3.0, dtype="float32"))
    Array([0., 2., 4.], dtype=float32)
    """
    if batch_size is not None and not hasattr(batch_size, "__index__"):
        raise TypeError(f"lax.map: batch_size must be a positive integer or None, got {batch_size}")
    if not batch_size:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, tree = flatten_values(xs)
    n_rows = _scan_length(leaves, None)
    if n_rows and batch_size < 0:
        raise TypeError(f"lax.map: batch_size must be a positive integer or None, got {batch_size}")
    mapped = _over_rows(f)
    n_blocks, rest = divmod(n_rows, batch_size)
    n_whole = n_blocks * batch_size
    if n_blocks == 0:
        return mapped(xs)
    head = [_rows_of(x, 0, n_whole) if rest else x for x in leaves]
    blocks = [reshape(x, (n_blocks, batch_size, *typeof(x).shape[1:])) for x in head]
    tail = tree_unflatten(tree, [_rows_of(x, n_whole, n_rows) for x in leaves]) if rest else None
    _, ys = scan(lambda _, block: ((), mapped(block)), (), tree_unflatten(tree, blocks))
    remainder = mapped(tail) if rest else None
    flat = tree_map(lambda y: reshape(y, (n_whole, *typeof(y).shape[2:])), ys)
    if not rest:
        return flat
    return tree_map(lambda a, b: concatenate([a, b], 0), flat, remainder)


def _rows_of(x: Value, start: int, stop: int) -> Value:
    """Return some rows of an array."""
    shape = typeof(x).shape
    rest = shape[1:]
    return slices.slice(x, (start, *(0,) * len(rest)), (stop, *rest))


def _over_rows(f: Callable) -> Callable:
    """Return `f` mapped over the leading axis of every leaf of its argument."""

    def mapped(rows: Any) -> Any:
        """Apply `f` to a block."""
        leaves, tree = tree_flatten(rows)
        out_trees: list[PyTreeDef] = []

        def flat(*one: Value) -> list[Value]:
            """Apply `f` to one row."""
            outs, out_tree = tree_flatten(f(tree_unflatten(tree, one)))
            out_trees.append(out_tree)
            return outs

        size = typeof(leaves[0]).shape[0]
        with name_scope(VMAP):
            outs, dims = batch_flat(flat, Axis(size), leaves, [0] * len(leaves))
        results = [batch_dim_to(x, d, 0, size) for x, d in zip(outs, dims, strict=True)]
        return tree_unflatten(out_trees[0], results)

    return mapped
