"""Programs inside operations lose their references: loops carry the arrays, branches return them.

A rule receives the operands, cells where they are references, binds the operation with programs
that take and return arrays, and writes what comes back into the cells.  What a program only reads
it is given, and does not return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.control.cond import cond_p
from tapeless.control.custom_jvp import custom_jvp_call_p
from tapeless.control.custom_vjp import custom_vjp_call_p
from tapeless.control.custom_vmap import custom_vmap_call_p
from tapeless.control.jit import jit_p
from tapeless.control.remat import remat_p
from tapeless.control.scan import scan_p
from tapeless.control.while_loop import while_p
from tapeless.core.effects import STATE
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Primitive
from tapeless.core.trace import Value
from tapeless.transforms.references import (
    RULES,
    Cell,
    evaluate,
    takes_references,
    without_references,
    written,
)
from tapeless.util.seqs import invert, select, split_at

__all__ = ["program_to_run"]


def program_to_run(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program that is to be compiled by itself, without the references that it makes."""
    if STATE not in jaxpr.effects:
        return jaxpr
    if takes_references(jaxpr):
        raise NotImplementedError(
            "a program that takes mutable array references cannot be compiled ahead of time: call "
            "the function that jax.jit returns, or pass arrays"
        )
    return without_references(jaxpr)


def _arrays(operands: Sequence[Any]) -> list[Value]:
    """Return the operands with arrays for cells."""
    return [x.value if type(x) is Cell else x for x in operands]


def _cells(operands: Sequence[Any]) -> list[Cell]:
    """Return the cells, of which none may come twice."""
    cells = [x for x in operands if type(x) is Cell]
    if len(set(map(id, cells))) < len(cells):
        raise ValueError(
            "only one reference to a mutable array may be passed as an argument to a function, "
            "but the same one was passed twice"
        )
    return cells


def _kept(cells: Sequence[Cell], outs: Sequence[Value], mask: Sequence[bool]) -> list[Value]:
    """Write the last results into the cells that `mask` marks; return the others."""
    n = sum(mask)
    results, arrays = split_at(outs, len(outs) - n)
    for cell, array in zip(select(cells, mask), arrays, strict=True):
        cell.value = array
    return results


def _returning(jaxpr: Jaxpr, mask: Sequence[bool]) -> Jaxpr:
    """Return the program without references that returns of the arrays those of `mask`."""
    pure = without_references(jaxpr)
    if all(mask):
        return pure
    outs, arrays = split_at(pure.outvars, len(jaxpr.outvars))
    return pure.replace(outvars=(*outs, *select(arrays, mask)))


def _call(prim: Primitive, operands: tuple, params: dict[str, Any]) -> list[Value]:
    """Call the program of an operation that is a call."""
    cells, mask = _cells(operands), written(params["jaxpr"])
    params.pop("donated_invars", None)
    params["jaxpr"] = _returning(params["jaxpr"], mask)
    return _kept(cells, prim.bind(*_arrays(operands), **params), mask)


@RULES.rule(jit_p)
def _jit(operands: tuple, **params: Any) -> list[Value]:
    """Call the program."""
    return _call(jit_p, operands, params)


@RULES.rule(remat_p)
def _remat(operands: tuple, **params: Any) -> list[Value]:
    """Call the program."""
    return _call(remat_p, operands, params)


@RULES.rule(cond_p)
def _cond(operands: tuple, **params: Any) -> list[Value]:
    """Return from every branch the arrays that any of them writes."""
    cells = _cells(operands)
    masks = [written(branch) for branch in params["branches"]]
    mask = tuple(map(any, zip(*masks, strict=True)))
    params["branches"] = tuple(_returning(branch, mask) for branch in params["branches"])
    return _kept(cells, cond_p.bind(*_arrays(operands), **params), mask)


@RULES.rule(scan_p)
def _scan(operands: tuple, **params: Any) -> list[Value]:
    """Carry the arrays that are written, and stack the slices that are."""
    jaxpr, (n_consts, n_carry) = params["jaxpr"], (params["num_consts"], params["num_carry"])
    consts, carry, xs = split_at(operands, n_consts, n_carry)
    cells, mask = _cells(operands), written(jaxpr)
    n_shared = sum(type(x) is Cell for x in consts)
    pure = _returning(jaxpr, mask)
    flags = iter(mask)
    moved = [type(x) is Cell and next(flags) for x in consts]
    in_consts, in_carry, in_xs = split_at(pure.invars, n_consts, n_carry)
    outs, arrays = split_at(pure.outvars, len(jaxpr.outvars))
    n = sum(mask[:n_shared])
    params["jaxpr"] = pure.replace(
        invars=(*select(in_consts, invert(moved)), *select(in_consts, moved), *in_carry, *in_xs),
        outvars=(*arrays[:n], *outs, *arrays[n:]),
    )
    params.update(num_consts=n_consts - n, num_carry=n_carry + n)
    given = [*select(consts, invert(moved)), *select(consts, moved), *carry, *xs]
    first, rest = split_at(scan_p.bind(*_arrays(given), **params), n)
    own, slices = split_at(rest, len(jaxpr.outvars))
    return _kept(cells, [*own, *first, *slices], mask)


@RULES.rule(while_p)
def _while(operands: tuple, **params: Any) -> list[Value]:
    """Carry the arrays that the body writes; the condition reads."""
    sizes = (params["cond_nconsts"], params["body_nconsts"])
    asks, does, init = split_at(operands, *sizes)
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    _cells(asks)
    cells, mask = _cells(does), written(body)
    if any(written(cond)):
        raise NotImplementedError(
            "the condition of a while_loop writes a mutable array reference; write it in the body"
        )
    flags = iter(mask)
    moved = [type(x) is Cell and next(flags) for x in does]
    if set(map(id, select(does, moved))) & set(map(id, asks)):
        raise ValueError(
            "only one reference to a mutable array may be passed as an argument to a function, but "
            "the condition of a while_loop reads one that the body writes; carry its value instead"
        )
    n = sum(mask)
    pure = _returning(body, mask)
    in_does, in_carry = split_at(pure.invars, sizes[1])
    outs, arrays = split_at(pure.outvars, len(body.outvars))
    body = pure.replace(
        invars=(*select(in_does, invert(moved)), *select(in_does, moved), *in_carry),
        outvars=(*arrays, *outs),
    )
    asked = _returning(cond, (False,) * len(written(cond)))
    in_asks, in_state = split_at(asked.invars, sizes[0])
    unused = [type(var)(var.aval) for var in select(in_does, moved)]
    params.update(
        cond_jaxpr=asked.replace(invars=(*in_asks, *unused, *in_state)),
        body_jaxpr=body,
        body_nconsts=sizes[1] - n,
    )
    given = [*asks, *select(does, invert(moved)), *select(does, moved), *init]
    arrays, results = split_at(while_p.bind(*_arrays(given), **params), n)
    return _kept(cells, [*results, *arrays], mask)


def _custom(prim: Primitive, operands: tuple, params: dict[str, Any]) -> list[Value]:
    """Keep the rules of the user, who sees to references that are arguments."""
    program = params["call_jaxpr"]
    if takes_references(program):
        return evaluate(program, operands)
    params["call_jaxpr"] = without_references(program)
    return list(prim.bind(*operands, **params))


@RULES.rule(custom_jvp_call_p)
def _custom_jvp(operands: tuple, **params: Any) -> list[Value]:
    """Keep the rule."""
    return _custom(custom_jvp_call_p, operands, params)


@RULES.rule(custom_vjp_call_p)
def _custom_vjp(operands: tuple, **params: Any) -> list[Value]:
    """Keep the rules."""
    return _custom(custom_vjp_call_p, operands, params)


@RULES.rule(custom_vmap_call_p)
def _custom_vmap(operands: tuple, *, call: Jaxpr, **params: Any) -> list[Value]:
    """Evaluate the function; its rule for batches is not used any more."""
    return evaluate(call, operands)
