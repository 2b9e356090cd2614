"""References go: a program that changes arrays becomes one that returns the changed ones.

    program     [ x | reference ] -> [ y ]
    discharged  [ x | array ]     -> [ y | array after it ]

Transformations and the compiler know of no references.  Before one of them looks into a program,
its equations are evaluated with a `Cell` in the place of each reference, which holds the array of
the moment.  `RULES` has a rule per operation that takes or makes references: it receives operands
(cells where they are references) and parameters, writes into the cells and returns the results.
A reference that a program captured is none of its cells: what reads or writes it stays as it is.

`bind_without` is how an operation whose programs have references meets a transformation, or is
evaluated: the arrays are read, the operation runs without references, and the arrays are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import AbstractRef, ShapedArray, typeof
from tapeless.core.effects import STATE
from tapeless.core.interpret import eval_jaxpr, operand
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, subjaxprs
from tapeless.core.primitive import Primitive, RuleTable, registry
from tapeless.core.ref import is_ref
from tapeless.core.source import override_source
from tapeless.core.trace import Context, Value, context, under
from tapeless.transforms.stage import stage_flat, stage_jaxpr
from tapeless.util.cache import bounded_cache, weak_identity_cache

__all__ = [
    "RULES",
    "WHOLE",
    "Cell",
    "bind_without",
    "evaluate",
    "inner_type",
    "takes_references",
    "without_references",
    "written",
]

RULES = RuleTable("mutable array reference")
WHOLE = ("...",)  # the index of a whole array


class Cell:
    """The array that a reference holds at the moment."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        """value: the array that it starts with."""
        self.value = value


def evaluate(jaxpr: Jaxpr, inputs: Sequence[Value | Cell]) -> list[Value]:
    """Return the results of a program; inputs: cells in the places of references."""
    env: dict[Atom, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Atom) -> Any:
        """Return what stands for an atom."""
        return operand(atom) if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        operands = tuple(map(read, eqn.invars))
        with override_source(eqn.source):
            if STATE in eqn.effects and eqn.primitive in RULES and _concerned(eqn, operands):
                outs = RULES[eqn.primitive](operands, **eqn.params)
            else:
                outs = context.trace.process(eqn.primitive, operands, dict(eqn.params))
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _concerned(eqn: Eqn, operands: Sequence[Any]) -> bool:
    """Tell whether an equation has no reference but cells."""
    pairs = zip(eqn.invars, operands, strict=True)
    return all(type(x) is Cell for atom, x in pairs if type(atom.aval) is AbstractRef)


def takes_references(jaxpr: Jaxpr) -> bool:
    """Tell whether some inputs of a program are references."""
    return AbstractRef in [type(var.aval) for var in jaxpr.invars]


@weak_identity_cache
def without_references(jaxpr: Jaxpr) -> Jaxpr:
    """Return the program that takes arrays for references, and returns them at the end."""
    places = [n for n, var in enumerate(jaxpr.invars) if type(var.aval) is AbstractRef]
    avals: list[Any] = list(jaxpr.in_avals)
    for n in places:
        avals[n] = avals[n].inner_aval

    def run(*args: Value) -> list[Value]:
        """Evaluate the equations with cells."""
        inputs: list[Value | Cell] = list(args)
        cells = [Cell(args[n]) for n in places]
        for n, cell in zip(places, cells, strict=True):
            inputs[n] = cell
        return [*evaluate(jaxpr, inputs), *[cell.value for cell in cells]]

    return stage_jaxpr(run, jaxpr, avals, "references")


@weak_identity_cache
def written(jaxpr: Jaxpr) -> tuple[bool, ...]:
    """Return, per reference among the inputs of a program, whether the program writes it."""
    pure = without_references(jaxpr)
    references = [
        var
        for var, old in zip(pure.invars, jaxpr.invars, strict=True)
        if type(old.aval) is AbstractRef
    ]
    after = pure.outvars[len(jaxpr.outvars) :]
    return tuple(var is not atom for var, atom in zip(references, after, strict=True))


# Operations outside of programs


def bind_without(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> tuple:
    """Apply an operation whose programs have references, without them."""
    if context.trace is not context.base and any(map(_plumbs, subjaxprs(params))):
        return _by_equations(prim, args, params)
    cells = {id(arg): Cell(_read(arg)) for arg in args if is_ref(arg)}
    before = {key: cell.value for key, cell in cells.items()}
    outs = RULES[prim](tuple(cells.get(id(arg), arg) for arg in args), **params)
    for arg in args:
        cell = cells.pop(id(arg), None)
        if cell is not None and cell.value is not before[id(arg)]:
            _write(arg, cell.value)
    return tuple(outs)


def _plumbs(jaxpr: Jaxpr) -> bool:
    """Tell whether a function with a derivative rule of the user's takes references inside."""
    for eqn in jaxpr.eqns:
        if STATE not in eqn.effects and not any(type(x.aval) is AbstractRef for x in eqn.invars):
            continue
        if isinstance(eqn.params.get("call_jaxpr"), Jaxpr) and takes_references(
            eqn.params["call_jaxpr"]
        ):
            return True
        if any(map(_plumbs, subjaxprs(eqn.params))):
            return True
    return False


def _by_equations(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> tuple:
    """Evaluate a call equation by equation, so that rules of the user's see the references."""
    if "jaxpr" not in params or "num_carry" in params:
        raise NotImplementedError(
            f"{prim} cannot be transformed when a custom_jvp or custom_vjp function inside it "
            f"takes a mutable array reference; call that function outside of the {prim}"
        )
    jaxpr = params["jaxpr"]
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def inner_type(aval: Any) -> ShapedArray:
    """Return the type of the array behind a reference."""
    if type(aval) is not AbstractRef:
        raise TypeError(f"expected a Ref, which jax.new_ref makes, but got a value of type {aval}")
    return aval.inner_aval


@bounded_cache(1024)
def _whole_programs(aval: ShapedArray) -> tuple[Jaxpr, Jaxpr]:
    """Return the programs that read and write a whole array."""
    read = under(Context.base, stage_flat, lambda x: [x], [aval], "get")
    return read, under(Context.base, stage_flat, lambda _, new: [new], [aval, aval], "swap")


def _read(ref: Value) -> Value:
    """Return the array behind a reference."""
    read, _ = _whole_programs(inner_type(typeof(ref)))
    return registry["get"].bind(ref, read=read, index=WHOLE)[0]


def _write(ref: Value, new: Value) -> None:
    """Put another array behind a reference."""
    read, write = _whole_programs(inner_type(typeof(ref)))
    registry["swap"].bind(ref, new, read=read, write=write, index=WHOLE)
