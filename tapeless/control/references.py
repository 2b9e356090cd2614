"""Operations on references: make one, read, write, add to, and take the array out.

Where a reference is read or written is said by a program, not by an index: `read` maps the array
to the part that is read, `write` maps the array and the new part to the array afterwards.  So
every index of the array library works here, and the rules are those of programs: the tangent of a
part is the same part of the tangent, and the rows of a batch are read by the batched program.
`index` is the index in words, for printing: a string, or the number of an operand, per axis.

A reference belongs to the transformations around the place where it was made (`joins_every_trace`):
its tangent and its batch axis are there from the start, whatever is written later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tapeless.control.custom_rules import call_program
from tapeless.control.jit import jit_p
from tapeless.core.aval import AbstractRef, ShapedArray, typeof
from tapeless.core.effects import STATE, Effects
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.ref import Ref
from tapeless.core.trace import Axis, Context, Value, context, under
from tapeless.prims.common import batch_dim_to, instantiate
from tapeless.prims.convert import convert_element_type
from tapeless.transforms.batch import batch_flat
from tapeless.transforms.references import RULES, WHOLE, Cell, inner_type
from tapeless.transforms.stage import stage_flat
from tapeless.util.cache import weak_identity_cache

__all__ = ["addupdate_p", "freeze_p", "get_p", "new_ref_p", "swap_p"]

Index = tuple[str | int, ...]


class StatePrimitive(Primitive):
    """The base: what all operations on references share."""

    evaluated_in_python = True
    takes_references = True
    hidden = {"read": ..., "write": ...}

    def effects(
        self,
        **params: Any,
    ) -> Effects:
        """Return the effect that keeps such operations in their order."""
        return frozenset((STATE,))


class NewRef(StatePrimitive):
    """Make a reference to an array that starts as the operand."""

    name = "new_ref"
    joins_every_trace = True

    def abstract(
        self,
        *avals: ShapedArray,
        **params: Any,
    ) -> tuple:
        """Return the type of references to arrays like the operand."""
        return (AbstractRef(avals[0].strong()),)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        **params: Any,
    ) -> tuple:
        """Make two: the tangent's starts at zero where the operand has none."""
        (out,) = self.bind(*primals, **params)
        (tangent,) = tangents
        if type(tangent) is not Zero:
            return (out,), self.bind(tangent, **params)
        if not typeof(out).is_inexact:
            return (out,), (Zero(typeof(out).tangent()),)
        side = context.trace.linear_side()
        return (out,), under(side, lambda: self.bind(instantiate(tangent), **params))

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        **params: Any,
    ) -> tuple:
        """Make one to the whole batch."""
        rows = batch_dim_to(args[0], dims[0], 0, axis.size)
        return self.bind(rows, **params), (0,)

    def evaluate(
        self,
        *args: Value,
        **params: Any,
    ) -> tuple:
        """Return the object."""
        return (Ref(context.trace.constant(_strong(args[0]))),)


class Get(StatePrimitive):
    """Read the part `read` of the array behind the first operand; the others are indices."""

    name = "get"
    has_phrase = True

    def abstract(
        self,
        *avals: ShapedArray,
        read: Jaxpr,
        **params: Any,
    ) -> tuple:
        """Return the type of the part."""
        return read.out_avals

    def programs(
        self,
        avals: Sequence,
        outs: Sequence,
        **params: Any,
    ) -> Sequence[tuple]:
        """Return what reads the part."""
        return [(params["read"], (avals[0].inner_aval, *avals[1:]), outs)]

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        **params: Any,
    ) -> tuple:
        """Read the same part of the tangent."""
        outs = self.bind(*primals, **params)
        if type(tangents[0]) is Zero:
            return outs, (Zero(typeof(outs[0]).tangent()),)
        return outs, self.bind(tangents[0], *primals[1:], **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        **params: Any,
    ) -> tuple:
        """Read the part of every row."""
        read, out_dims = _rows(params["read"], axis, tuple(dims), None)
        outs = self.bind(*args, read=read, index=_row_index(params["index"], dims[0], dims[1:]))
        return outs, out_dims

    def evaluate(
        self,
        *args: Value,
        read: Jaxpr,
        **params: Any,
    ) -> tuple:
        """Read the array of the moment."""
        ref, *places = args
        return (_run(read, ref.value, *places),)

    def phrase(
        self,
        results: Any,
        operands: Sequence,
        params: Mapping[str, Any],
    ) -> Sequence:
        """Return `b <- a[0]`."""
        left = ["_"] if results is None else [results]
        return [*left, " <- ", operands[0], *_brackets(params["index"], operands[1:])]


class Swap(StatePrimitive):
    """Write the second operand into a part of the array; return what was there."""

    name = "swap"
    has_phrase = True

    def abstract(
        self,
        *avals: ShapedArray,
        read: Jaxpr,
        **params: Any,
    ) -> tuple:
        """Return the type of the part."""
        return read.out_avals

    def programs(
        self,
        avals: Sequence,
        outs: Sequence,
        **params: Any,
    ) -> Sequence[tuple]:
        """Return what reads and what writes the part."""
        inner, (new, *places) = avals[0].inner_aval, avals[1:]
        return [
            (params["read"], (inner, *places), outs),
            (params["write"], (inner, new, *places), (inner,)),
        ]

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        **params: Any,
    ) -> tuple:
        """Write the same part of the tangent."""
        has_tangent = _has_tangent("a set/swap", primals[0], tangents)
        outs = self.bind(*primals, **params)
        if not has_tangent:
            return outs, (Zero(typeof(outs[0]).tangent()),)
        new = instantiate(tangents[1])
        return outs, self.bind(tangents[0], new, *primals[2:], **params)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        **params: Any,
    ) -> tuple:
        """Write the part of every row."""
        _check_batched("a set/swap", args[0], dims)
        read, out_dims = _rows(params["read"], axis, (dims[0], *dims[2:]), None)
        write, _ = _rows(params["write"], axis, tuple(dims), dims[0])
        if out_dims[0] is not None:
            args = (args[0], batch_dim_to(args[1], dims[1], 0, axis.size), *args[2:])
            write, _ = _rows(params["write"], axis, (dims[0], 0, *dims[2:]), dims[0])
        index = _row_index(params["index"], dims[0], dims[2:])
        return self.bind(*args, read=read, write=write, index=index), out_dims

    def evaluate(
        self,
        *args: Value,
        read: Jaxpr,
        write: Jaxpr,
        **params: Any,
    ) -> tuple:
        """Exchange the array of the moment."""
        ref, new, *places = args
        old = _run(read, ref.value, *places)
        ref.value = context.trace.constant(_run(write, ref.value, new, *places))
        return (old,)

    def phrase(
        self,
        results: Any,
        operands: Sequence,
        params: Mapping[str, Any],
    ) -> Sequence:
        """Return `a[0] <- b`, or `c, a[0] <- a[0], b` if the old value is used."""
        ref, new, *places = operands
        place = [ref, *_brackets(params["index"], places)]
        if results is None:
            return [*place, " <- ", new]
        return [results, ", ", *place, " <- ", *place, ", ", new]


class AddUpdate(StatePrimitive):
    """Add the second operand to a part of the array."""

    name = "addupdate"
    has_phrase = True

    def abstract(
        self,
        *avals: ShapedArray,
        **params: Any,
    ) -> tuple:
        """Return no type: there is no result."""
        return ()

    def programs(
        self,
        avals: Sequence,
        outs: Sequence,
        **params: Any,
    ) -> Sequence[tuple]:
        """Return what writes the part."""
        inner = avals[0].inner_aval
        return [(params["write"], (inner, *avals[1:]), (inner,))]

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        **params: Any,
    ) -> tuple:
        """Add to the tangent."""
        has_tangent = _has_tangent("an addupdate", primals[0], tangents)
        self.bind(*primals, **params)
        if has_tangent and type(tangents[1]) is not Zero:
            self.bind(tangents[0], tangents[1], *primals[2:], **params)
        return (), ()

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        **params: Any,
    ) -> tuple:
        """Add to the part of every row."""
        _check_batched("an addupdate", args[0], dims)
        write, _ = _rows(params["write"], axis, tuple(dims), dims[0])
        self.bind(*args, write=write, index=_row_index(params["index"], dims[0], dims[2:]))
        return (), ()

    def evaluate(
        self,
        *args: Value,
        write: Jaxpr,
        **params: Any,
    ) -> tuple:
        """Exchange the array of the moment."""
        ref, new, *places = args
        ref.value = context.trace.constant(_run(write, ref.value, new, *places))
        return ()

    def phrase(
        self,
        results: Any,
        operands: Sequence,
        params: Mapping[str, Any],
    ) -> Sequence:
        """Return `a[0] += b`."""
        ref, new, *places = operands
        return [ref, *_brackets(params["index"], places), " += ", new]


class Freeze(StatePrimitive):
    """Take the array out; the reference is not to be used any more."""

    name = "freeze"

    def abstract(
        self,
        *avals: ShapedArray,
        **params: Any,
    ) -> tuple:
        """Return the type of the array."""
        return (inner_type(avals[0]),)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        **params: Any,
    ) -> tuple:
        """Take the tangent out as well."""
        outs = self.bind(*primals)
        if type(tangents[0]) is Zero:
            return outs, (Zero(typeof(outs[0]).tangent()),)
        return outs, self.bind(*tangents)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        **params: Any,
    ) -> tuple:
        """Take the whole batch out."""
        return self.bind(*args), dims

    def evaluate(
        self,
        *args: Value,
        **params: Any,
    ) -> tuple:
        """Return the array."""
        return (args[0].value,)


new_ref_p = NewRef()
get_p = Get()
swap_p = Swap()
addupdate_p = AddUpdate()
freeze_p = Freeze()


# Without references


@RULES.rule(new_ref_p)
def _new_ref(
    operands: tuple,
    **params: Any,
) -> tuple:
    """Make a cell."""
    return (Cell(_strong(operands[0])),)


@RULES.rule(get_p)
def _get(
    operands: tuple,
    *,
    read: Jaxpr,
    **params: Any,
) -> tuple:
    """Read what the cell holds."""
    cell, *places = operands
    return tuple(call_program(read, (cell.value, *places)))


@RULES.rule(swap_p)
def _swap(
    operands: tuple,
    *,
    read: Jaxpr,
    write: Jaxpr,
    **params: Any,
) -> tuple:
    """Read what the cell holds, and change it."""
    cell, new, *places = operands
    old = call_program(read, (cell.value, *places))
    (cell.value,) = call_program(write, (cell.value, new, *places))
    return tuple(old)


@RULES.rule(addupdate_p)
def _addupdate(
    operands: tuple,
    *,
    write: Jaxpr,
    **params: Any,
) -> tuple:
    """Change what the cell holds."""
    cell, new, *places = operands
    (cell.value,) = call_program(write, (cell.value, new, *places))
    return ()


@RULES.rule(freeze_p)
def _freeze(
    operands: tuple,
    **params: Any,
) -> tuple:
    """Return what the cell holds."""
    return (operands[0].value,)


# Rules share


def _strong(
    x: Value,
) -> Value:
    """Return a value whose type is not weak."""
    aval = typeof(x)
    return convert_element_type(x, aval.dtype) if aval.weak_type else x


def _run(
    program: Jaxpr,
    *args: Value,
) -> Value:
    """Return the result of a program, compiled; nothing runs if it is one of the arguments."""
    (out,) = program.outvars
    for var, arg in zip(program.invars, args, strict=True):
        if out is var:
            return arg
    return jit_p.bind(*args, name=program.debug.function, jaxpr=program, inline=False)[0]


@weak_identity_cache
def _rows(
    program: Jaxpr,
    axis: Axis,
    dims: tuple,
    out_dim: int | None,
) -> tuple[Jaxpr, tuple]:
    """Return a program over batches, and the mapped axis of its result.

    out_dim: where that is wanted; None: in front, if the result is batched.
    """
    found: list[int | None] = []

    def run(
        *args: Value,
    ) -> list[Value]:
        """Evaluate under a batch trace."""
        outs, out_dims = batch_flat(lambda *rows: call_program(program, rows), axis, args, dims)
        wanted = out_dim if out_dim is not None else 0
        if out_dim is None and out_dims[0] is None:
            found.append(None)
            return outs
        found.append(wanted)
        return [batch_dim_to(outs[0], out_dims[0], wanted, axis.size)]

    avals = []
    for var, dim in zip(program.invars, dims, strict=True):
        shape = list(var.aval.shape)
        if dim is not None:
            shape.insert(dim, axis.size)
        avals.append(var.aval.update(shape=tuple(shape)))
    mapped = under(Context.base, stage_flat, run, avals, program.debug.function)
    return mapped, tuple(found)


def _row_index(
    index: Index,
    dim: int | None,
    places: Sequence,
) -> Index:
    """Return the words for the index of a batch."""
    if index == WHOLE or dim is None:
        return index
    return (*index[:dim], ":", *index[dim:])


def _brackets(
    index: Index,
    places: Sequence,
) -> list:
    """Return the parts of `[0,:,b]`."""
    parts: list[Any] = []
    for part in index:
        parts += [",", part if isinstance(part, str) else places[part]]
    return ["[", *parts[1:], "]"]


def _has_tangent(
    what: str,
    ref: Value,
    tangents: Sequence,
) -> bool:
    """Tell whether the reference has a tangent; without one, what is written must have none."""
    if type(tangents[0]) is not Zero:
        return True
    if type(tangents[1]) is not Zero:
        raise Exception(  # noqa: TRY002 - JAX's class
            f"performing {what} operation with a differentiated value on a non-differentiated "
            f"array reference of type {typeof(ref)}. Move the array reference to be an argument of "
            f"the differentiated function?"
        )
    return False


def _check_batched(
    what: str,
    ref: Value,
    dims: Sequence,
) -> None:
    """Refuse to write rows where there is one array for all."""
    if dims[0] is None:
        raise Exception(  # noqa: TRY002 - JAX's class
            f"performing {what} operation with vmapped value on an unbatched array reference of "
            f"type {typeof(ref)}. Move the array reference to be an argument to the vmapped "
            f"function?"
        )
