"""Staging: from a Python function to a jaxpr.

The problem: a function should be looked at once, compiled, and differentiated as a program.  The
idea: call it with tracers that stand for typed variables, under a trace that writes down every
operation instead of doing it.  Because every operation goes to the current trace, also those whose
operands are all constants are written down: nothing is done while staging.

A value from outside becomes a constant of the program: a scalar is a literal, an array a constant
variable.  A tracer of an enclosing transformation is a constant, too; the caller passes it as an
argument (`Jaxpr.lift_consts`).  A tracer of a transformation that has ended is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.core.aval import ShapedArray
from tapeless.core.check import after_pass
from tapeless.core.jaxpr import NO_DEBUG_INFO, Atom, Builder, DebugInfo, Eqn, Jaxpr, Var
from tapeless.core.primitive import Primitive
from tapeless.core.source import UNKNOWN_SOURCE, Source, current_source
from tapeless.core.trace import Tag, Trace, Tracer, Value, context, leaked, under

__all__ = ["StageTrace", "StageTracer", "stage_flat", "stage_jaxpr"]


class StageTracer(Tracer):
    """A variable of the program that is being staged."""

    __slots__ = ("atom", "aval", "source", "trace")

    def __init__(self, trace: StageTrace, aval: ShapedArray, atom: Atom, source: Source) -> None:
        """atom: the variable; source: the operation that made it."""
        self.trace = trace
        self.tag = trace.tag
        self.aval = aval
        self.atom = atom
        self.source = source

    def origin(self) -> str:
        """Say which argument or which line of the function the value comes from."""
        invars = self.trace.builder.invars
        if self.atom in invars:
            names = self.trace.builder.debug.arguments
            position = invars.index(self.atom)
            name = names[position] if names else f"number {position}"
            return (
                f"This value is the argument {name} of the function being traced ({self.tag.what})."
            )
        return f"This value was made on line {self.source.summary()}, in {self.tag.what}."


class StageTrace(Trace):
    """Writes operations into `builder`."""

    __slots__ = ("builder",)

    def __init__(
        self, parent: Trace | None, what: str = "", debug: DebugInfo = NO_DEBUG_INFO
    ) -> None:
        """what: words for messages."""
        super().__init__(parent, Tag(what))
        self.builder = Builder(debug)

    def process(self, prim: Primitive, args: Sequence[Value], params: dict) -> tuple[Value, ...]:
        """Let the primitive enter itself: by one equation, unless it says otherwise."""
        return prim.stage(self, args, params)

    def new_input(self, aval: ShapedArray) -> StageTracer:
        """Add an input to the program."""
        return StageTracer(self, aval, self.builder.new_input(aval), UNKNOWN_SOURCE)

    def emit(self, prim: Primitive, args: Sequence[Value], params: dict) -> tuple[StageTracer, ...]:
        """Append one equation and return its results."""
        atoms = [self.atom(arg) for arg in args]
        outs = prim.abstract(*[atom.aval for atom in atoms], **params)
        return self.emit_typed(prim, atoms, outs, params)

    def emit_typed(
        self, prim: Primitive, atoms: Sequence[Atom], outs: Sequence[ShapedArray], params: dict
    ) -> tuple[StageTracer, ...]:
        """Append one equation whose result types are known."""
        source = current_source()
        outvars = [Var(aval) for aval in outs]
        self.builder.emit(Eqn(prim, atoms, outvars, params, prim.effects(**params), source))
        return tuple(StageTracer(self, var.aval, var, source) for var in outvars)

    def atom(self, x: Value) -> Atom:
        """Return the atom that stands for `x` in this program."""
        if isinstance(x, Tracer):
            if x.tag is self.tag:
                return x.atom
            if not x.tag.alive:
                raise leaked(x)
        return self.builder.constant(x)


def stage_flat(
    function: Callable[..., Sequence[Value]],
    avals: Sequence[ShapedArray],
    what: str = "",
    debug: DebugInfo = NO_DEBUG_INFO,
) -> Jaxpr:
    """Trace a function of flat arguments that returns a flat sequence of values.

    what: words for messages, such as `jit of f`.
    """
    trace = StageTrace(context.trace, what or debug.function, debug)
    tracers = [trace.new_input(aval) for aval in avals]
    try:
        outs = under(trace, function, *tracers)
        atoms = [trace.atom(out) for out in outs]
    finally:
        trace.tag.alive = False
    return after_pass(trace.builder.build(atoms))


def stage_jaxpr(
    function: Callable[..., Sequence[Value]], like: Jaxpr, avals: Sequence[ShapedArray]
) -> Jaxpr:
    """Trace what a pass does with the program `like`, whose constants stay constants."""
    return stage_flat(function, avals, like.debug.function, DebugInfo(like.debug.function))
