"""Staging: from a Python function to a jaxpr.

The problem: a function should be looked at once, compiled, and differentiated as a program.  The
idea: call it with tracers that stand for typed variables, under a trace that writes down every
operation instead of doing it.  Because every operation goes to the current trace, also those whose
operands are all constants are written down: nothing is done while staging.

A value from outside becomes a constant of the program: a Python or NumPy scalar is a literal, an
array a constant variable.  What a function makes of such values (`constant`) is traced as well.  A
tracer of an enclosing transformation is a constant, too; the caller passes it as an argument
(`Jaxpr.lift_consts`).  A tracer of a transformation that has ended is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import NoReturn

import numpy as np

from tapeless.core import leaks
from tapeless.core.aval import AbstractRef, ShapedArray, typeof
from tapeless.core.check import after_pass
from tapeless.core.effects import NO_EFFECTS
from tapeless.core.interpret import operand
from tapeless.core.jaxpr import NO_DEBUG_INFO, Atom, Builder, DebugInfo, Eqn, Jaxpr, Literal, Var
from tapeless.core.primitive import Primitive
from tapeless.core.ref import is_ref
from tapeless.core.source import UNKNOWN_SOURCE, Source, Sources, new_stack
from tapeless.core.trace import Tag, Trace, Tracer, Value, context, leaked, under
from tapeless.util.chains import HAPPENED, transformations
from tapeless.util.depth import nested

__all__ = [
    "RewriteTrace",
    "StageTrace",
    "StageTracer",
    "refuse_returned_references",
    "stage_flat",
    "stage_jaxpr",
]


class StageTracer(Tracer):
    """A variable of the program that is being staged."""

    __slots__ = ("atom", "aval", "builder", "source")

    def __init__(self, trace: StageTrace, aval: ShapedArray, atom: Atom, source: Source) -> None:
        """atom: the variable; source: the operation that made it."""
        self.builder = trace.builder
        self.tag = trace.tag
        self.aval = aval
        self.atom = atom
        self.source = source

    def __repr__(self) -> str:
        """Return JAX's form, `JitTracer(float32[3])`."""
        return f"JitTracer({self.aval})"

    def origin(self) -> str:
        """Say which arguments of the function the value depends on, or else where it was made."""
        purpose, _, function = self.tag.what.partition(" of ")
        purpose = "jit" if purpose == "make_jaxpr" else purpose
        text = f"The error occurred while tracing the function {function} for {purpose}."
        around = transformations(sys._getframe(), (purpose, function))
        text += around and f" {HAPPENED}{around}."
        names = self._argument_names()
        made = f" The value was made on line {self.place()}." if self.place() else ""
        if not names:
            return f"{text}{made}"
        words = "value of the argument" if len(names) == 1 else "values of the arguments"
        return (
            f"{text} This concrete value was not available in Python because it depends on the "
            f"{words} {_listed(names)}.{made}"
        )

    def place(self) -> str:
        """Return the line of the operation that made it."""
        return "" if self.source is UNKNOWN_SOURCE else self.source.summary()

    def _argument_names(self) -> list[str]:
        """Return the names of the arguments that the value depends on."""
        builder = self.builder
        needed = {self.atom}
        for eqn in reversed(builder.eqns):
            if needed.intersection(eqn.outvars):
                needed.update(eqn.invars)
        places = [number for number, var in enumerate(builder.invars) if var in needed]
        names = builder.debug.arguments
        return [names[number] if names else f"number {number}" for number in places]


def _listed(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, or `a, b, and c`."""
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


_known_types: dict[tuple, Sequence[ShapedArray]] = {}
_MOST_KNOWN = 4096


def refuse_references(prim: Primitive, avals: Sequence) -> NoReturn:
    """Raise TypeError: an operation on arrays got a reference to one."""
    place = list(map(type, avals)).index(AbstractRef)
    raise TypeError(
        f"{prim} got a Ref of type {avals[place]} at position {place}, but a Ref can't be passed "
        f"where an array is expected. Did you forget to read its value with `ref[...]`?"
    )


def refuse_returned_references(outs: Sequence[Value], function: str, purpose: str) -> None:
    """Raise ValueError if a function that is traced returns a reference.

    function: the name and place of it.
    """
    for out in outs:
        if not is_ref(out):
            continue
        names = out._argument_names() if isinstance(out, StageTracer) else []
        source = f"passed in as the argument {names[0]}" if names else "closed over"
        if isinstance(out, StageTracer) and out.place():
            source = f"created on line {out.place()}"
        raise ValueError(
            f"function {function} traced for {purpose} returned a mutable array reference of type "
            f"{out.aval}, but mutable array references cannot be returned.\n\n"
            f"The returned mutable array was {source}."
        )


def _result_types(
    prim: Primitive, avals: tuple[ShapedArray, ...], params: dict
) -> Sequence[ShapedArray]:
    """Return the result types of an operation: from memory, where they depend on nothing else."""
    key = None
    if not params or prim.types_follow:
        key = (prim, avals, *params.items()) if params else (prim, avals)
        try:
            found = _known_types.get(key)
        except TypeError:  # a user's parameter that has no hash
            key = found = None
        if found is not None:
            return found
    if AbstractRef in map(type, avals) and not prim.takes_references:
        refuse_references(prim, avals)
    found = prim.abstract(*avals, **params)
    if key is not None:
        if len(_known_types) >= _MOST_KNOWN:
            _known_types.clear()
        _known_types[key] = found
    return found


class StageTrace(Trace):
    """Writes operations into `builder`."""

    __slots__ = ("builder", "sources")

    def __init__(
        self,
        parent: Trace | None,
        what: str = "",
        debug: DebugInfo = NO_DEBUG_INFO,
        depth: int = 0,
    ) -> None:
        """what: words for messages.  depth: how many names on the stack are no part of it."""
        super().__init__(parent, Tag(what))
        self.builder = Builder(debug)
        self.sources = Sources(depth)

    def process(self, prim: Primitive, args: Sequence[Value], params: dict) -> tuple[Value, ...]:
        """Let the primitive enter itself: by one equation, unless it says otherwise."""
        return prim.stage(self, args, params) if prim.has_stage else self.emit(prim, args, params)

    def new_input(self, aval: ShapedArray) -> StageTracer:
        """Add an input to the program."""
        return StageTracer(self, aval, self.builder.new_input(aval), UNKNOWN_SOURCE)

    def constant(self, x: Value) -> StageTracer:
        """Return a tracer for a concrete value that the function makes; a scalar is a literal."""
        aval = typeof(x)
        if aval.shape == () and isinstance(aval.dtype, np.dtype):
            scalar = np.asarray(x)[()]
            atom = Literal(scalar.item() if aval.weak_type else scalar, aval)
        else:
            atom = self.builder.constant(x)
        return StageTracer(self, aval, atom, self.sources.current())

    def emit(self, prim: Primitive, args: Sequence[Value], params: dict) -> tuple[StageTracer, ...]:
        """Append one equation, which keeps `params`, and return its results."""
        tag = self.tag
        atoms = [
            arg.atom if type(arg) is StageTracer and arg.tag is tag else self.atom(arg)
            for arg in args
        ]
        outs = _result_types(prim, tuple([atom.aval for atom in atoms]), params)
        outvars = tuple([Var(aval) for aval in outs])
        effects = prim.effects(**params) if prim.has_effects else NO_EFFECTS
        source = self.sources.current()
        kept = MappingProxyType(params) if params else params
        self.builder.eqns.append(Eqn(prim, atoms, outvars, kept, effects, source))
        return tuple([StageTracer(self, var.aval, var, source) for var in outvars])

    def atom(self, x: Value) -> Atom:
        """Return the atom that stands for `x` in this program."""
        if isinstance(x, Tracer):
            if x.tag is self.tag:
                return x.atom
            if not x.tag.alive:
                raise leaked(x)
        return self.builder.constant(x)


class RewriteTrace(StageTrace):
    """Writes a program with the inputs and constants of another one, whose variables it keeps.

    values: the constants of the other program.  names: its variables that have another name here.
    """

    __slots__ = ("names", "values")

    def __init__(self, jaxpr: Jaxpr) -> None:
        """Start with the inputs and constants of `jaxpr`, and without equations."""
        debug = DebugInfo(jaxpr.debug.function)
        super().__init__(context.trace, debug.function, debug)
        builder = self.builder
        builder.invars.extend(jaxpr.invars)
        self.values = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
        self.names: dict[Atom, Atom] = {}
        for var, value in self.values.items():
            first = builder.const_vars.setdefault(id(value), var)
            if first is var:
                builder.consts.append(value)
            else:
                self.names[var] = first

    def value(self, atom: Atom) -> Value:
        """Return what stands for an atom of this program as an operand."""
        if type(atom) is Literal:
            return operand(atom)
        if atom in self.values:
            return self.values[atom]
        return StageTracer(self, atom.aval, atom, UNKNOWN_SOURCE)


def stage_flat(
    function: Callable[..., Sequence[Value]],
    avals: Sequence[ShapedArray],
    what: str = "",
    debug: DebugInfo = NO_DEBUG_INFO,
    stage: str = "stage",
) -> Jaxpr:
    """Trace a function of flat arguments that returns a flat sequence of values.

    what: words for messages, such as `jit of f`.  stage: the pass that the tracing is part of.
    """
    trace = StageTrace(context.trace, what or debug.function, debug)
    try:
        with new_stack(), nested():
            atoms = _traced_atoms(trace, function, avals)
    finally:
        trace.tag.alive = False
    leaks.check(trace.tag)
    return after_pass(trace.builder.build(atoms), stage, what or debug.function)


def _traced_atoms(
    trace: StageTrace, function: Callable[..., Sequence[Value]], avals: Sequence[ShapedArray]
) -> list[Atom]:
    """Call a function with new inputs of the program; return the atoms of its results."""
    outs = under(trace, function, *[trace.new_input(aval) for aval in avals])
    return [trace.atom(out) for out in outs]


def stage_jaxpr(
    function: Callable[..., Sequence[Value]],
    like: Jaxpr,
    avals: Sequence[ShapedArray],
    stage: str = "stage",
) -> Jaxpr:
    """Trace what the pass `stage` does with the program `like`, whose constants stay constants."""
    name = like.debug.function
    return stage_flat(function, avals, name, DebugInfo(name), stage)
